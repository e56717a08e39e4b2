/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/otlp_write.h"

#include <string.h>

#include "proto/otlp_profiles.pb-c.h"

#include "core/base/annot.h"
#include "core/base/map.h"
#include "core/encode/value.h"
#include "core/encode/pack.h"

#define PB(name) Opentelemetry__Proto__Profiles__V1development__##name
#define PB_INIT(NAME) OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__##NAME##__INIT

/* Fields of the messages that are put together here. */
enum {
    DATA_RESOURCE_PROFILES = 1,
    DATA_DICTIONARY = 2,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_PROFILES_SCOPE_PROFILES = 2,
    SCOPE_PROFILES_SCOPE = 1,
    SCOPE_PROFILES_PROFILES = 2,
    SCHEMA_URL = 3, /* of ResourceProfiles and ScopeProfiles */
    ATTR_KEY = 1,   /* of KeyValueAndUnit */
    ATTR_VALUE = 2,
    ATTR_UNIT = 3,
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLES = 2,
    TABLE_MAPPING = 1,
    TABLE_LOCATION = 2,
    TABLE_FUNCTION = 3,
    TABLE_LINK = 4,
    TABLE_STRING = 5,
    TABLE_ATTRIBUTE = 6,
    TABLE_STACK = 7
};

struct writer {
    const struct otp_plan *plan;
    const struct otp_dict *dict;
    const struct otp_otlp_frame *frame;
    struct otp_buf *out;
    struct otp_envelope_writer table;  /* for attributes of the dictionary */
    struct otp_envelope_writer around; /* for those of resources and scopes */
    /* Working space, as large as the longest one of each. */
    int32_t *numbers;
    PB(Line) * lines;
    PB(Line) * *line_ptrs;
    int64_t *values;
    uint64_t *times;
    struct short_list *short_lists; /* those written last, by number */
    uint32_t short_mask;
};

static int32_t number(const struct writer *w, enum otp_plan_table table, uint32_t id)
{
    return (int32_t)otp_plan_number(w->plan, table, id);
}

/* The numbers of the entries in ids, into w->numbers; returns how many. */
static size_t put_numbers(const struct writer *w, enum otp_plan_table table,
                          struct otp_pool_tail ids)
{
    const uint32_t *id = ids.data;
    size_t count = ids.len / sizeof(id[0]);
    for (size_t i = 0; i < count; i++) {
        w->numbers[i] = number(w, table, id[i]);
    }
    return count;
}

static size_t put_list(const struct writer *w, uint32_t list)
{
    return put_numbers(w, OTP_PLAN_ATTRS, otp_pool_tail(&w->dict->lists, list));
}

/* ---- attributes ---- */

/* ---- dictionary ---- */

static void write_mapping(const struct writer *w, uint32_t id)
{
    const struct otp_dict_mapping *head = otp_pool_head(&w->dict->mappings, id);
    PB(Mapping) m = PB_INIT(MAPPING);
    m.memory_start = head->start;
    m.memory_limit = head->limit;
    m.file_offset = head->file_offset;
    m.filename_strindex = number(w, OTP_PLAN_STRINGS, head->filename);
    m.n_attribute_indices = put_list(w, head->attrs);
    m.attribute_indices = w->numbers;
    otp_pack_message(w->out, TABLE_MAPPING, &m.base);
}

static void write_location(const struct writer *w, uint32_t id)
{
    static const PB(Line) empty_line = PB_INIT(LINE);
    const struct otp_dict_location *head = otp_pool_head(&w->dict->locations, id);
    struct otp_pool_tail tail = otp_pool_tail(&w->dict->locations, id);
    const struct otp_dict_line *lines = tail.data;
    PB(Location) l = PB_INIT(LOCATION);
    l.mapping_index = number(w, OTP_PLAN_MAPPINGS, head->mapping);
    l.address = head->address;
    l.n_lines = tail.len / sizeof(lines[0]);
    l.lines = w->line_ptrs;
    for (size_t i = 0; i < l.n_lines; i++) {
        w->lines[i] = empty_line;
        w->lines[i].function_index = number(w, OTP_PLAN_FUNCTIONS, lines[i].function);
        w->lines[i].line = lines[i].line;
        w->lines[i].column = lines[i].column;
    }
    l.n_attribute_indices = put_list(w, head->attrs);
    l.attribute_indices = w->numbers;
    otp_pack_message(w->out, TABLE_LOCATION, &l.base);
}

static void write_function(const struct writer *w, uint32_t id)
{
    const struct otp_dict_function *head = otp_pool_head(&w->dict->functions, id);
    PB(Function) f = PB_INIT(FUNCTION);
    f.name_strindex = number(w, OTP_PLAN_STRINGS, head->name);
    f.system_name_strindex = number(w, OTP_PLAN_STRINGS, head->system_name);
    f.filename_strindex = number(w, OTP_PLAN_STRINGS, head->filename);
    f.start_line = head->start_line;
    otp_pack_message(w->out, TABLE_FUNCTION, &f.base);
}

static void write_link(const struct writer *w, uint32_t id)
{
    struct otp_dict_link head;
    PB(Link) l = PB_INIT(LINK);
    memcpy(&head, otp_pool_head(&w->dict->links, id), sizeof(head));
    if (id != 0 || w->frame->zero_link) {
        l.trace_id.data = head.trace_id;
        l.trace_id.len = sizeof(head.trace_id);
        l.span_id.data = head.span_id;
        l.span_id.len = sizeof(head.span_id);
    }
    otp_pack_message(w->out, TABLE_LINK, &l.base);
}

static void write_attribute(const struct writer *w, uint32_t id)
{
    size_t mark = otp_pack_open(w->out, TABLE_ATTRIBUTE);
    if (id != 0) {
        const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, id);
        otp_pack_uint(w->out, ATTR_KEY, otp_plan_number(w->plan, OTP_PLAN_STRINGS, head->key));
        otp_envelope_write_value(&w->table, ATTR_VALUE, id);
        if (head->unit != 0) {
            otp_pack_uint(w->out, ATTR_UNIT,
                          otp_plan_number(w->plan, OTP_PLAN_STRINGS, head->unit));
        }
    }
    otp_pack_close(w->out, mark);
}

static void write_stack(const struct writer *w, uint32_t id)
{
    PB(Stack) s = PB_INIT(STACK);
    s.n_location_indices = put_numbers(w, OTP_PLAN_LOCATIONS, otp_pool_tail(&w->dict->stacks, id));
    s.location_indices = w->numbers;
    otp_pack_message(w->out, TABLE_STACK, &s.base);
}

/* Entry 0 and all entries that have a number, in its order. */
static void write_table(const struct writer *w, enum otp_plan_table table, uint32_t pool_count,
                        void (*write_entry)(const struct writer *w, uint32_t id))
{
    const uint32_t *sequence = w->plan->sequence[table];
    write_entry(w, 0);
    if (sequence != NULL) {
        for (uint32_t i = 1; i < w->plan->count[table]; i++) {
            write_entry(w, sequence[i]);
        }
        return;
    }
    for (uint32_t id = 1; id < pool_count; id++) {
        if (otp_plan_number(w->plan, table, id) != 0) {
            write_entry(w, id);
        }
    }
}

static void write_dictionary(const struct writer *w)
{
    const struct otp_dict *d = w->dict;
    size_t mark = otp_pack_open(w->out, DATA_DICTIONARY);
    write_table(w, OTP_PLAN_MAPPINGS, d->mappings.count, write_mapping);
    write_table(w, OTP_PLAN_LOCATIONS, d->locations.count, write_location);
    write_table(w, OTP_PLAN_FUNCTIONS, d->functions.count, write_function);
    write_table(w, OTP_PLAN_LINKS, d->links.count, write_link);
    for (uint32_t i = 0; i < w->plan->count[OTP_PLAN_STRINGS]; i++) {
        struct otp_text t = otp_dict_text(d, w->plan->strings[i]);
        otp_pack_bytes(w->out, TABLE_STRING, t.data, t.len);
    }
    write_table(w, OTP_PLAN_ATTRS, d->attrs.count, write_attribute);
    write_table(w, OTP_PLAN_STACKS, d->stacks.count, write_stack);
    otp_pack_close(w->out, mark);
}

/* ---- profiles ---- */

/* Values and times of one sample, into the working space of w; returns how many. */
static size_t put_observations(const struct writer *w, const struct otp_plan_profile *p,
                               uint32_t slot)
{
    const struct otp_group *g = p->group;
    const int64_t *values = otp_group_seen_values(g);
    const uint64_t *times = otp_group_seen_times(g);
    size_t count = 0;
    for (uint32_t i = p->start[slot]; i < p->start[slot + 1]; i++) {
        size_t idx = p->order[i];
        if (otp_plan_keeps(p, idx)) {
            w->values[count] = values[idx * g->type_count + p->type];
            w->times[count++] = times[idx];
        }
    }
    return count;
}

/* Fields of Sample. */
enum { SAMPLE_STACK = 1, SAMPLE_ATTRS = 2, SAMPLE_LINK = 3, SAMPLE_VALUES = 4 };

/* A sample of that many attributes is shorter than 128 bytes, whatever the numbers. */
#define SHORT_ATTRS 18U
#define SHORT_BYTES 128U

/* The attributes of a list as they stand in a short sample, kept for the samples after it. */
struct short_list {
    uint32_t list;
    uint32_t len;
    unsigned char bytes[SHORT_BYTES];
};

static void put_short_list(const struct writer *w, uint32_t list, struct short_list *out)
{
    struct otp_pool_tail tail = otp_pool_tail(&w->dict->lists, list);
    const uint32_t *attrs = tail.data;
    size_t count = tail.len / sizeof(attrs[0]);
    unsigned char *to = out->bytes + 2;
    for (size_t i = 0; i < count; i++) {
        to = otp_pack_put(to, otp_plan_number(w->plan, OTP_PLAN_ATTRS, attrs[i]));
    }
    out->bytes[0] = SAMPLE_ATTRS << 3 | 2;
    out->bytes[1] = (unsigned char)(to - out->bytes - 2);
    out->list = list;
    out->len = count == 0 ? 0 : (uint32_t)(to - out->bytes);
}

OTP_INLINE unsigned char *put_number(unsigned char *to, uint32_t field, uint64_t v)
{
    if (v != 0) {
        *to++ = (unsigned char)(field << 3);
        to = otp_pack_put(to, v);
    }
    return to;
}

/* A sum with few attributes, which nearly all samples are, without the general packer; to has room
 * for SHORT_BYTES. Returns the place behind it. */
OTP_INLINE unsigned char *put_short_sample(const struct writer *w,
                                           const struct otp_group_sample *who, int64_t sum,
                                           const struct short_list *list, unsigned char *begin)
{
    unsigned char *to =
        put_number(begin + 2, SAMPLE_STACK, otp_plan_number(w->plan, OTP_PLAN_STACKS, who->stack));
    memcpy(to, list->bytes, 8); /* most are not longer */
    if (OTP_UNLIKELY(list->len > 8)) {
        memcpy(to, list->bytes, list->len);
    }
    to += list->len;
    to = put_number(to, SAMPLE_LINK, otp_plan_number(w->plan, OTP_PLAN_LINKS, who->link));
    to[0] = SAMPLE_VALUES << 3 | 2;
    unsigned char *end = otp_pack_put(to + 2, (uint64_t)sum);
    to[1] = (unsigned char)(end - to - 2);
    begin[0] = PROFILE_SAMPLES << 3 | 2;
    begin[1] = (unsigned char)(end - begin - 2);
    return end;
}

OTP_INLINE uint32_t slot_at(const struct otp_plan_profile *p, uint32_t at)
{
    return p->slots == NULL ? at : p->slots[at];
}

/* Writes the sums of slots from place `at` on while they are short and as long as the buffer has
 * room without growing; one at least. The place behind, `at` when there is not a short one. */
static uint32_t write_short_samples(const struct writer *w, const struct otp_plan_profile *p,
                                    uint32_t at)
{
    const struct otp_group *g = p->group;
    unsigned char *to = otp_buf_reserve(w->out, SHORT_BYTES);
    if (to == NULL) {
        return g->slots.count;
    }
    size_t room = (w->out->capacity - w->out->len) / SHORT_BYTES;
    uint32_t end = g->slots.count - at > room ? at + (uint32_t)room : g->slots.count;
    for (; at < end; at++) {
        uint32_t slot = slot_at(p, at);
        const struct otp_group_sample *who = otp_group_slot(g, slot);
        struct short_list *list = &w->short_lists[who->list & w->short_mask];
        if (OTP_UNLIKELY(who->list != list->list)) {
            if (otp_pool_tail(&w->dict->lists, who->list).len > SHORT_ATTRS * sizeof(uint32_t)) {
                break;
            }
            put_short_list(w, who->list, list);
        }
        int64_t sum = otp_group_sum(g, slot, p->type);
        if (sum != 0) {
            to = put_short_sample(w, who, sum, list, to);
        }
    }
    w->out->len = (size_t)(to - w->out->data);
    return at;
}

static void write_sample(const struct writer *w, const struct otp_plan_profile *p, uint32_t slot)
{
    const struct otp_group_sample *who = otp_group_slot(p->group, slot);
    PB(Sample) s = PB_INIT(SAMPLE);
    int64_t sum = 0;
    if (p->timed) {
        size_t count = put_observations(w, p, slot);
        s.n_values = p->ones && !w->frame->keep_ones ? 0 : count;
        s.values = w->values;
        s.n_timestamps_unix_nano = count;
        s.timestamps_unix_nano = w->times;
    } else {
        sum = otp_group_sum(p->group, slot, p->type);
        s.n_values = sum != 0;
        s.values = &sum;
    }
    if (s.n_values == 0 && s.n_timestamps_unix_nano == 0) {
        return;
    }
    s.stack_index = number(w, OTP_PLAN_STACKS, who->stack);
    s.n_attribute_indices = put_list(w, who->list);
    s.attribute_indices = w->numbers;
    s.link_index = number(w, OTP_PLAN_LINKS, who->link);
    otp_pack_message(w->out, PROFILE_SAMPLES, &s.base);
}

static void write_samples(const struct writer *w, const struct otp_plan_profile *p)
{
    for (uint32_t at = 0; at < p->group->slots.count;) {
        uint32_t next = p->timed ? at : write_short_samples(w, p, at);
        if (next == at) {
            uint32_t slot = slot_at(p, at);
            if (otp_group_is_timed(p->group, slot) == p->timed) {
                write_sample(w, p, slot);
            }
            next++;
        }
        at = next;
    }
}

static void fill_type(const struct writer *w, const struct otp_group_type *t, PB(ValueType) * out)
{
    out->type_strindex = number(w, OTP_PLAN_STRINGS, t->type);
    out->unit_strindex = number(w, OTP_PLAN_STRINGS, t->unit);
}

static bool is_zero_id(const uint8_t id[16])
{
    static const uint8_t zero[16];
    return memcmp(id, zero, sizeof(zero)) == 0;
}

/* What was one profile and becomes two has one id for both: then the second one's is made of it. */
static void id_of(const struct otp_plan_profile *p, uint8_t out_id[16])
{
    const struct otp_group_type *t = &p->group->types[p->type];
    memcpy(out_id, t->id[p->timed], 16);
    if (p->is_second && !is_zero_id(out_id) && memcmp(t->id[0], t->id[1], 16) == 0) {
        uint64_t made[2] = {otp_hash_bytes(out_id, 16, 1), otp_hash_bytes(out_id, 16, 2)};
        memcpy(out_id, made, 16);
    }
}

/* All fields of the profile behind its samples. */
static void write_profile_rest(const struct writer *w, const struct otp_plan_profile *p,
                               const struct otp_plan_range *range)
{
    const struct otp_group *g = p->group;
    PB(Profile) rest;
    PB(ValueType) period_type = PB_INIT(VALUE_TYPE);
    uint8_t id[16];
    opentelemetry__proto__profiles__v1development__profile__init(&rest);
    id_of(p, id);
    fill_type(w, &g->period_type, &period_type);
    rest.time_unix_nano = range->time_ns;
    rest.duration_nano = range->duration_ns;
    rest.period_type = &period_type;
    rest.period = g->period;
    rest.profile_id.data = id;
    rest.profile_id.len = is_zero_id(id) ? 0 : sizeof(id);
    rest.dropped_attributes_count = g->dropped_attributes;
    if (g->payload != NULL) {
        rest.original_payload_format = g->payload_format;
        rest.original_payload.data = g->payload;
        rest.original_payload.len = g->payload_len;
    }
    rest.n_attribute_indices = put_list(w, g->attrs);
    rest.attribute_indices = w->numbers;
    otp_pack_fields(w->out, &rest.base);
}

static void write_profile(const struct writer *w, const struct otp_plan_profile *p,
                          const struct otp_plan_range *range)
{
    PB(ValueType) sample_type = PB_INIT(VALUE_TYPE);
    size_t mark = otp_pack_open(w->out, SCOPE_PROFILES_PROFILES);
    fill_type(w, &p->group->types[p->type], &sample_type);
    otp_pack_message(w->out, PROFILE_SAMPLE_TYPE, &sample_type.base);
    write_samples(w, p);
    write_profile_rest(w, p, range);
    otp_pack_close(w->out, mark);
}

/* The profiles from `first` that are of one envelope; returns where the next ones begin. */
static size_t write_scope_profiles(const struct writer *w, size_t first)
{
    const struct otp_plan *plan = w->plan;
    size_t envelope = plan->profiles[first].group->envelope;
    const struct otp_envelope *e = &plan->store->envelopes[envelope];
    struct otp_plan_range range = otp_plan_range_of(plan->store, envelope);
    size_t mark = otp_pack_open(w->out, RESOURCE_PROFILES_SCOPE_PROFILES);
    size_t scope = otp_pack_open(w->out, SCOPE_PROFILES_SCOPE);
    size_t i = first;
    otp_envelope_write_scope(&w->around, e);
    otp_pack_close(w->out, scope);
    for (; i < plan->profile_count && plan->profiles[i].group->envelope == envelope; i++) {
        write_profile(w, &plan->profiles[i], &range);
    }
    otp_envelope_write_text(&w->around, SCHEMA_URL, e->scope_schema_url);
    otp_pack_close(w->out, mark);
    return i;
}

/* The scopes from `first` that are of one resource, written as one; returns where the next begin.
 */
static size_t write_resource_profiles(const struct writer *w, size_t first)
{
    const struct otp_plan *plan = w->plan;
    const struct otp_envelope *all = plan->store->envelopes;
    const struct otp_envelope *e = &all[plan->profiles[first].group->envelope];
    size_t mark = otp_pack_open(w->out, DATA_RESOURCE_PROFILES);
    size_t resource = otp_pack_open(w->out, RESOURCE_PROFILES_RESOURCE);
    size_t i = first;
    otp_envelope_write_resource(&w->around, e);
    otp_pack_close(w->out, resource);
    do {
        i = write_scope_profiles(w, i);
    } while (i < plan->profile_count &&
             otp_envelope_same_resource(e, &all[plan->profiles[i].group->envelope]));
    otp_envelope_write_text(&w->around, SCHEMA_URL, e->resource_schema_url);
    otp_pack_close(w->out, mark);
    return i;
}

static uint32_t number_of_string(const void *plan, uint32_t string)
{
    return otp_plan_number(plan, OTP_PLAN_STRINGS, string);
}

/* ---- working space ---- */

#define SHORT_LISTS 128U /* at most */

static bool make_space(struct writer *w)
{
    const struct otp_dict *d = w->dict;
    struct otp_heap *heap = d->heap;
    size_t tail = d->stacks.longest_tail;
    tail = d->lists.longest_tail > tail ? d->lists.longest_tail : tail;
    size_t lines = d->locations.longest_tail / sizeof(struct otp_dict_line);
    w->numbers = otp_heap_calloc(heap, tail / sizeof(uint32_t), sizeof(w->numbers[0]));
    w->lines = otp_heap_calloc(heap, lines, sizeof(w->lines[0]));
    w->line_ptrs = otp_heap_calloc(heap, lines, sizeof(w->line_ptrs[0]));
    w->values = otp_heap_calloc(heap, w->plan->longest_sample, sizeof(w->values[0]));
    w->times = otp_heap_calloc(heap, w->plan->longest_sample, sizeof(w->times[0]));
    while (w->short_mask + 1 < d->lists.count && w->short_mask + 1 < SHORT_LISTS) {
        w->short_mask = w->short_mask * 2 + 1;
    }
    w->short_lists = otp_heap_calloc(heap, w->short_mask + 1, sizeof(w->short_lists[0]));
    if (w->numbers == NULL || w->lines == NULL || w->line_ptrs == NULL || w->values == NULL ||
        w->times == NULL || w->short_lists == NULL) {
        return false;
    }
    for (size_t i = 0; i < lines; i++) {
        w->line_ptrs[i] = &w->lines[i];
    }
    return true;
}

static void free_space(struct writer *w)
{
    struct otp_heap *heap = w->dict->heap;
    otp_heap_free(heap, w->numbers);
    otp_heap_free(heap, w->lines);
    otp_heap_free(heap, w->line_ptrs);
    otp_heap_free(heap, w->values);
    otp_heap_free(heap, w->times);
    otp_heap_free(heap, w->short_lists);
}

enum otp_status otp_otlp_write(const struct otp_plan *plan, const struct otp_otlp_frame *frame,
                               struct otp_buf *out)
{
    struct writer w = {.plan = plan, .dict = &plan->store->dict, .frame = frame, .out = out};
    w.table = (struct otp_envelope_writer){.dict = w.dict, .out = out};
    w.around = w.table;
    w.around.number = plan->options.refer ? number_of_string : NULL;
    w.around.number_arg = plan;
    bool ok = make_space(&w);
    if (ok) {
        for (size_t i = 0; i < plan->profile_count;) {
            i = write_resource_profiles(&w, i);
        }
        write_dictionary(&w);
    }
    free_space(&w);
    return ok ? OTP_OK : OTP_NO_MEMORY;
}
