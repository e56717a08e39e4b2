/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format is what the readers take: words of 64 bits, little-endian, in the CPU profile; in both
 * the addresses of callers are those that they return to, one behind what a visit tells. A stack
 * needs an address, and one that begins with 0 would end the file: so no stack is empty and no
 * address is 0.
 */
#include "core/encode/gperftools.h"

#include <string.h>

#include "core/encode/gperftools_maps.h"
#include "core/encode/store.h"

#define DEPTH_MAX 65535U /* frames of a stack; readers refuse more than 65536 */
#define PERIOD_MAX ((uint64_t)UINT32_MAX)
#define NS_PER_US ((uint64_t)1000)
#define HEADER_WORDS 3U

struct otp_gperftools_builder {
    struct otp_heap *heap;
    struct otp_store store;
    enum otp_gperftools_kind kind;
    uint32_t main_file; /* string */
    bool once;
};

/* A file in the making. */
struct writer {
    struct otp_gperftools_builder *b;
    struct otp_buf *out;
    struct otp_gperftools_maps maps;
    struct otp_buf values; /* int64_t[OTP_GPERFTOOLS_ROLES] for each stack */
    bool has_role[OTP_GPERFTOOLS_ROLES];
    uint64_t period_ns; /* 0: not known */
    struct otp_gperftools_losses losses;
};

static bool is_text(struct otp_text t, const char *s)
{
    return t.len == strlen(s) && memcmp(t.data, s, t.len) == 0;
}

/* Nanoseconds in a unit of time, 0: it is none. */
static uint64_t ns_of_unit(struct otp_text unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"nanoseconds", 1},      {"ns", 1},
                 {"microseconds", 1000},  {"us", 1000},
                 {"ms", 1000000},         {"milliseconds", 1000000},
                 {"seconds", 1000000000}, {"s", 1000000000}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (is_text(unit, units[i].name)) {
            return units[i].ns;
        }
    }
    return 0;
}

enum otp_gperftools_role otp_gperftools_role_of(enum otp_gperftools_kind kind,
                                                const struct otp_value_type *type, uint64_t *out_ns)
{
    static const struct {
        const char *name;
        enum otp_gperftools_role role;
    } heap[] = {{"inuse_objects", OTP_GPERFTOOLS_IN_USE_OBJECTS},
                {"inuse_space", OTP_GPERFTOOLS_IN_USE_BYTES},
                {"objects", OTP_GPERFTOOLS_IN_USE_OBJECTS},
                {"space", OTP_GPERFTOOLS_IN_USE_BYTES},
                {"alloc_objects", OTP_GPERFTOOLS_OBJECTS},
                {"alloc_space", OTP_GPERFTOOLS_BYTES}};
    if (kind == OTP_GPERFTOOLS_CPU) {
        uint64_t ns = is_text(type->type, "cpu") ? ns_of_unit(type->unit) : 0;
        if (out_ns != NULL) {
            *out_ns = ns;
        }
        return ns > 0 ? OTP_GPERFTOOLS_TIME
               : is_text(type->type, "samples") && is_text(type->unit, "count")
                   ? OTP_GPERFTOOLS_COUNT
                   : OTP_GPERFTOOLS_NONE;
    }
    for (size_t i = 0; i < sizeof(heap) / sizeof(heap[0]); i++) {
        if (is_text(type->type, heap[i].name)) {
            return heap[i].role;
        }
    }
    return OTP_GPERFTOOLS_NONE;
}

enum otp_status otp_gperftools_builder_create(struct otp_heap *heap,
                                              const struct otp_gperftools_options *options,
                                              struct otp_gperftools_builder **out_builder)
{
    *out_builder = NULL;
    struct otp_gperftools_builder *b = otp_heap_calloc(heap, 1, sizeof(*b));
    if (b == NULL) {
        return OTP_NO_MEMORY;
    }
    const struct otp_store_options store_options = {.max_string_bytes = options->max_string_bytes};
    b->heap = heap;
    b->kind = options->kind;
    b->once = options->once;
    enum otp_status status = otp_store_init(&b->store, heap, &store_options);
    if (status == OTP_OK) {
        status = otp_dict_string(&b->store.dict, options->main_file, &b->main_file);
    }
    if (status != OTP_OK) {
        otp_gperftools_builder_destroy(b);
        return status;
    }
    *out_builder = b;
    return OTP_OK;
}

void otp_gperftools_builder_destroy(struct otp_gperftools_builder *b)
{
    if (b == NULL) {
        return;
    }
    otp_store_fini(&b->store);
    otp_heap_free(b->heap, b);
}

struct otp_visitor *otp_gperftools_builder_visitor(struct otp_gperftools_builder *b)
{
    return &b->store.visitor;
}

/* ---- adding up ---- */

static int64_t *values_of(const struct writer *w, uint32_t stack)
{
    return (int64_t *)(void *)w->values.data + (size_t)stack * OTP_GPERFTOOLS_ROLES;
}

static void add(int64_t *to, int64_t value, uint64_t factor)
{
    int64_t product;
    if (__builtin_mul_overflow(value, (int64_t)factor, &product)) {
        product = value < 0 ? INT64_MIN : INT64_MAX;
    }
    if (__builtin_add_overflow(*to, product, to)) {
        *to = product < 0 ? INT64_MIN : INT64_MAX;
    }
}

static void add_type(struct writer *w, const struct otp_group *g, size_t type,
                     enum otp_gperftools_role role, uint64_t factor)
{
    const uint32_t *slots = otp_group_seen_slots(g);
    const int64_t *seen = otp_group_seen_values(g);
    for (uint32_t i = 0; i < g->slots.count; i++) {
        add(&values_of(w, otp_group_slot(g, i)->stack)[role], otp_group_sum(g, i, type), factor);
    }
    for (size_t i = 0; i < otp_group_seen(g); i++) {
        add(&values_of(w, otp_group_slot(g, slots[i])->stack)[role], seen[i * g->type_count + type],
            factor);
    }
}

static struct otp_value_type type_of(const struct writer *w, const struct otp_group_type *t)
{
    const struct otp_dict *d = &w->b->store.dict;
    const struct otp_value_type type = {.type = otp_dict_text(d, t->type),
                                        .unit = otp_dict_text(d, t->unit)};
    return type;
}

/* The first period that is a time. */
static void keep_period(struct writer *w, const struct otp_group *g)
{
    const struct otp_value_type type = type_of(w, &g->period_type);
    uint64_t ns = ns_of_unit(type.unit);
    uint64_t period;
    if (w->period_ns == 0 && g->period > 0 &&
        !__builtin_mul_overflow((uint64_t)g->period, ns, &period)) {
        w->period_ns = period;
    }
}

static enum otp_status add_groups(struct writer *w)
{
    const struct otp_store *s = &w->b->store;
    size_t bytes = s->dict.stacks.count * OTP_GPERFTOOLS_ROLES * sizeof(int64_t);
    void *values = otp_buf_reserve(&w->values, bytes);
    if (values == NULL) {
        return OTP_NO_MEMORY;
    }
    memset(values, 0, bytes);
    w->values.len = bytes;
    for (const struct otp_group *g = s->groups; g != NULL; g = g->next) {
        for (size_t t = 0; t < g->type_count; t++) {
            const struct otp_value_type type = type_of(w, &g->types[t]);
            uint64_t ns = 0;
            enum otp_gperftools_role role = otp_gperftools_role_of(w->b->kind, &type, &ns);
            if (role != OTP_GPERFTOOLS_NONE) {
                add_type(w, g, t, role, ns == 0 ? 1 : ns);
                w->has_role[role] = true;
                keep_period(w, g);
            }
        }
        if (w->b->once) {
            otp_group_forget_rows(g);
        }
    }
    return OTP_OK;
}

/* ---- stacks ---- */

/* The frames of a stack, as many as are told. */
static uint32_t frames_of(struct writer *w, uint32_t stack, const uint32_t **out_frames)
{
    struct otp_pool_tail tail = otp_pool_tail(&w->b->store.dict.stacks, stack);
    size_t count = tail.len / sizeof(uint32_t);
    *out_frames = tail.data;
    w->losses.cut += count > DEPTH_MAX;
    w->losses.empty += count == 0;
    return count > DEPTH_MAX ? DEPTH_MAX : (uint32_t)count;
}

/* The innermost is where it is, the others return behind their call. */
static uint64_t address_of(const struct writer *w, const uint32_t *frames, uint32_t i)
{
    return otp_gperftools_maps_address(&w->maps, frames[i]) + (i > 0 ? 1 : 0);
}

/* Locations that no address can be told of, of all stacks. */
static void count_made_up(struct writer *w)
{
    for (uint32_t i = 1; i < w->b->store.dict.locations.count; i++) {
        w->losses.made_up += otp_gperftools_maps_address(&w->maps, i) >= OTP_GPERFTOOLS_MADE_UP;
    }
}

/* ---- CPU ---- */

static void put_word(struct writer *w, uint64_t v)
{
    unsigned char bytes[sizeof(v)];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(v >> (8 * i));
    }
    (void)otp_buf_add(w->out, bytes, sizeof(bytes)); /* checked once, at the end */
}

static void put_record(struct writer *w, uint32_t stack, uint64_t count)
{
    const uint32_t *frames;
    uint32_t depth = frames_of(w, stack, &frames);
    put_word(w, count);
    put_word(w, depth == 0 ? 1 : depth);
    if (depth == 0) {
        put_word(w, OTP_GPERFTOOLS_MADE_UP);
    }
    for (uint32_t i = 0; i < depth; i++) {
        put_word(w, address_of(w, frames, i));
    }
}

/* The period of the profile where all values are so many of it; else a microsecond. */
static uint64_t choose_period(const struct writer *w, enum otp_gperftools_role role)
{
    uint64_t us = w->period_ns / NS_PER_US;
    if (us == 0 || us > PERIOD_MAX || w->period_ns % NS_PER_US != 0) {
        return 1;
    }
    for (uint32_t i = 0; i < w->b->store.dict.stacks.count && role == OTP_GPERFTOOLS_TIME; i++) {
        if (values_of(w, i)[role] % (int64_t)w->period_ns != 0) {
            return 1;
        }
    }
    return us;
}

/* Rounds where the sum so far is rounded, so that the whole is right, too. */
static void write_records(struct writer *w, enum otp_gperftools_role role, uint64_t unit)
{
    uint64_t rest = unit / 2;
    for (uint32_t i = 0; i < w->b->store.dict.stacks.count; i++) {
        int64_t value = values_of(w, i)[role];
        if (value < 0) {
            w->losses.negatives++;
            continue;
        }
        uint64_t sum = (uint64_t)value + rest;
        rest = sum % unit;
        if (sum / unit > 0) {
            put_record(w, i, sum / unit);
        }
    }
}

static enum otp_status write_cpu(struct writer *w)
{
    bool has_time = w->has_role[OTP_GPERFTOOLS_TIME];
    enum otp_gperftools_role role = has_time ? OTP_GPERFTOOLS_TIME : OTP_GPERFTOOLS_COUNT;
    if (!w->has_role[role]) {
        return OTP_NOT_FOUND;
    }
    uint64_t period_us = choose_period(w, role);
    w->losses.has_time = has_time;
    put_word(w, 0);
    put_word(w, HEADER_WORDS);
    put_word(w, 0);
    put_word(w, period_us);
    put_word(w, 0);
    write_records(w, role, has_time ? period_us * NS_PER_US : 1);
    put_word(w, 0);
    put_word(w, 1);
    put_word(w, 0);
    return OTP_OK;
}

/* ---- heap ---- */

/* Objects and bytes of one stack, as both readers take them. */
static bool usual_counts(struct writer *w, uint32_t stack, uint64_t *out)
{
    const int64_t *v = values_of(w, stack);
    bool any = false;
    for (size_t i = 0; i < OTP_GPERFTOOLS_ROLES; i++) {
        if (v[i] < 0) {
            w->losses.negatives++;
            return false;
        }
        any = any || v[i] > 0;
        out[i] = (uint64_t)v[i];
    }
    for (size_t i = 0; i < OTP_GPERFTOOLS_ROLES; i += 2) {
        if (out[i] == 0 && out[i + 1] > 0) {
            w->losses.countless++;
            out[i] = 1;
        }
    }
    return any;
}

static void put_counts(struct writer *w, const uint64_t *v)
{
    static const char *const behind[] = {": ", " [", ": ", "] @"};
    for (size_t i = 0; i < OTP_GPERFTOOLS_ROLES; i++) {
        (void)otp_buf_add_u64(w->out, v[i]);
        (void)otp_buf_add_str(w->out, behind[i]);
    }
}

static void put_address(struct writer *w, uint64_t address)
{
    (void)otp_buf_add_str(w->out, " 0x");
    (void)otp_buf_add_hex(w->out, address, 8);
}

static void put_stack(struct writer *w, uint32_t stack)
{
    const uint32_t *frames;
    uint32_t depth = frames_of(w, stack, &frames);
    if (depth == 0) {
        put_address(w, OTP_GPERFTOOLS_MADE_UP);
    }
    for (uint32_t i = 0; i < depth; i++) {
        put_address(w, address_of(w, frames, i));
    }
    (void)otp_buf_add_byte(w->out, '\n');
}

/* The sums stand before the stacks. "heapprofile" says that they are no samples of anything: they
 * are not to be scaled. */
static void write_heap_head(struct writer *w)
{
    uint64_t sum[OTP_GPERFTOOLS_ROLES] = {0};
    uint64_t v[OTP_GPERFTOOLS_ROLES];
    for (uint32_t i = 0; i < w->b->store.dict.stacks.count; i++) {
        if (!usual_counts(w, i, v)) {
            continue;
        }
        for (size_t k = 0; k < OTP_GPERFTOOLS_ROLES; k++) {
            if (__builtin_add_overflow(sum[k], v[k], &sum[k])) {
                sum[k] = UINT64_MAX;
            }
        }
    }
    w->losses.countless = 0; /* they are told, and counted, below */
    w->losses.negatives = 0;
    (void)otp_buf_add_str(w->out, "heap profile: ");
    put_counts(w, sum);
    (void)otp_buf_add_str(w->out, " heapprofile\n");
}

static enum otp_status write_heap(struct writer *w)
{
    bool any = false;
    for (size_t i = 0; i < OTP_GPERFTOOLS_ROLES; i++) {
        any = any || w->has_role[i];
    }
    if (!any) {
        return OTP_NOT_FOUND;
    }
    write_heap_head(w);
    for (uint32_t i = 0; i < w->b->store.dict.stacks.count; i++) {
        uint64_t v[OTP_GPERFTOOLS_ROLES];
        if (usual_counts(w, i, v)) {
            put_counts(w, v);
            put_stack(w, i);
        }
    }
    (void)otp_buf_add_str(w->out, "\nMAPPED_LIBRARIES:\n");
    return OTP_OK;
}

static enum otp_status write_all(struct writer *w)
{
    OTP_TRY(otp_gperftools_maps_init(&w->maps, &w->b->store.dict, w->b->main_file));
    OTP_TRY(add_groups(w));
    OTP_TRY(w->b->kind == OTP_GPERFTOOLS_CPU ? write_cpu(w) : write_heap(w));
    otp_gperftools_maps_write(&w->maps, w->out);
    count_made_up(w);
    return OTP_OK;
}

enum otp_status otp_gperftools_builder_finish(struct otp_gperftools_builder *b, struct otp_buf *out,
                                              struct otp_gperftools_losses *out_losses)
{
    struct otp_finish finish;
    struct writer w = {.b = b, .out = out};
    OTP_TRY(otp_store_begin_finish(&b->store, out, &finish));
    otp_buf_init(&w.values, b->heap, SIZE_MAX / 2);
    enum otp_status status = write_all(&w);
    otp_gperftools_maps_fini(&w.maps);
    otp_buf_fini(&w.values);
    *out_losses = w.losses;
    return otp_store_end_finish(&finish, out, status);
}
