/* SPDX-License-Identifier: Apache-2.0 */
/* gperftools' CPU and heap profiles: each word and line, places of files, what is left out. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode/gperftools.h"
#include "tests/unit/encode_help.h"
#include "tests/unit/run.h"

struct rig {
    struct otp_heap heap;
    struct otp_gperftools_builder *builder;
    struct otp_visitor *v;
    struct otp_buf out;
    struct otp_gperftools_losses losses;
    size_t words; /* up to and with the end mark */
};

static void rig_init(struct rig *r, enum otp_gperftools_kind kind, const char *main_file)
{
    const struct otp_gperftools_options o = {.kind = kind, .main_file = enc_text(main_file)};
    memset(r, 0, sizeof(*r));
    otp_heap_init(&r->heap, (size_t)64 << 20);
    otp_buf_init(&r->out, &r->heap, (size_t)16 << 20);
    ck_assert_int_eq(otp_gperftools_builder_create(&r->heap, &o, &r->builder), OTP_OK);
    r->v = otp_gperftools_builder_visitor(r->builder);
}

static void rig_fini(struct rig *r)
{
    otp_gperftools_builder_destroy(r->builder);
    otp_buf_fini(&r->out);
    ck_assert_ptr_null(r->heap.large);
    otp_heap_reset(&r->heap);
}

static const char *finish(struct rig *r)
{
    otp_buf_clear(&r->out);
    ck_assert_int_eq(otp_gperftools_builder_finish(r->builder, &r->out, &r->losses), OTP_OK);
    return otp_buf_str(&r->out);
}

static uint64_t word(const struct rig *r, size_t i)
{
    uint64_t v = 0;
    ck_assert_uint_le((i + 1) * 8, r->out.len);
    for (size_t k = 0; k < 8; k++) {
        v |= (uint64_t)r->out.data[i * 8 + k] << (8 * k);
    }
    return v;
}

/* Walks over the records; the text behind them, and the sum of counts in *out_total. */
static const char *maps_of(struct rig *r, uint64_t *out_total)
{
    size_t i = 5;
    *out_total = 0;
    while (word(r, i) != 0) {
        ck_assert_uint_gt(word(r, i + 1), 0);
        ck_assert_uint_ne(word(r, i + 2), 0); /* would be the end */
        *out_total += word(r, i);
        i += 2 + word(r, i + 1);
    }
    ck_assert_uint_eq(word(r, i + 1), 1);
    ck_assert_uint_eq(word(r, i + 2), 0);
    r->words = i + 3;
    return otp_buf_str(&r->out) + r->words * 8;
}

static uint32_t mapping(struct rig *r, const char *file, uint64_t start, uint64_t limit,
                        uint64_t off)
{
    const struct otp_visit_mapping m = {
        .start = start, .limit = limit, .file_offset = off, .filename = enc_text(file)};
    uint32_t id;
    ck_assert_int_eq(r->v->mapping(r->v, &m, &id), OTP_OK);
    return id;
}

static uint32_t frame(struct rig *r, uint32_t in, uint64_t address, const char *name)
{
    const struct otp_visit_line line = {.name = enc_text(name == NULL ? "" : name)};
    const struct otp_visit_frame f = {
        .mapping = in, .address = address, .lines = &line, .line_count = name != NULL};
    uint32_t id;
    ck_assert_int_eq(r->v->frame(r->v, &f, &id), OTP_OK);
    return id;
}

static uint32_t stack(struct rig *r, const uint32_t *frames, size_t count)
{
    uint32_t id;
    ck_assert_int_eq(r->v->stack(r->v, frames, count, &id), OTP_OK);
    return id;
}

static void begin_cpu(struct rig *r, int64_t period)
{
    const struct otp_value_type types[] = {
        {.type = enc_text("samples"), .unit = enc_text("count")},
        {.type = enc_text("cpu"), .unit = enc_text("nanoseconds")}};
    const struct otp_visit_profile p = {
        .types = types, .type_count = 2, .period_type = types[1], .period = period};
    ck_assert_int_eq(r->v->begin_profile(r->v, &p), OTP_OK);
}

static void begin_heap(struct rig *r)
{
    static const char *const names[] = {"alloc_objects", "alloc_space", "inuse_objects",
                                        "inuse_space"};
    struct otp_value_type types[4];
    for (size_t i = 0; i < 4; i++) {
        types[i].type = enc_text(names[i]);
        types[i].unit = enc_text(i % 2 == 0 ? "count" : "bytes");
    }
    const struct otp_visit_profile p = {.types = types, .type_count = 4};
    ck_assert_int_eq(r->v->begin_profile(r->v, &p), OTP_OK);
}

static void sample(struct rig *r, uint32_t of, const int64_t *values, uint64_t time)
{
    const struct otp_visit_sample s = {.stack = of, .values = values, .timestamp_ns = time};
    ck_assert_int_eq(r->v->sample(r->v, &s), OTP_OK);
}

START_TEST(test_cpu_profile_word_by_word)
{
    static const int64_t twice[] = {2, 20000000};
    static const int64_t once[] = {1, 10000000};
    struct rig r;
    rig_init(&r, OTP_GPERFTOOLS_CPU, "/bin/app");
    uint32_t lib = mapping(&r, "/lib/libx.so.1", 0x1000, 0x3000, 0x1000);
    uint32_t app = mapping(&r, "/bin/app", 0x1000, 0x2000, 0x1000);
    const uint32_t a[] = {frame(&r, lib, 0x1234, "inside"), frame(&r, app, 0x1100, "main")};
    begin_cpu(&r, 10000000);
    sample(&r, stack(&r, a, 2), twice, 0);
    sample(&r, stack(&r, a, 2), once, 77); /* of a time: it counts as well */
    sample(&r, stack(&r, &a[1], 1), once, 0);
    enc_end(r.v);
    (void)finish(&r);
    /* The library has another place: its addresses are those of the program. */
    static const uint64_t want[] = {0,      3, 0, 10000,  0, 3, 2, 0x800000000234,
                                    0x1101, 1, 1, 0x1100, 0, 1, 0};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        ck_assert_uint_eq(word(&r, i), want[i]);
    }
    uint64_t total;
    ck_assert_str_eq(maps_of(&r, &total),
                     "00001000-00002000 r-xp 00001000 00:00 0 /bin/app\n"
                     "800000000000-800000002000 r-xp 00001000 00:00 0 /lib/libx.so.1\n");
    ck_assert_uint_eq(total, 4);
    ck_assert(r.losses.has_time);
    ck_assert_uint_eq(r.losses.made_up + r.losses.negatives + r.losses.empty + r.losses.cut, 0);
    rig_fini(&r);
}
END_TEST

START_TEST(test_odd_times_are_told_in_microseconds)
{
    struct rig r;
    uint64_t total;
    uint64_t sum = 0;
    rig_init(&r, OTP_GPERFTOOLS_CPU, "");
    uint32_t app = mapping(&r, "/bin/app", 0x1000, 0x200000, 0x1000);
    begin_cpu(&r, 10000000);
    for (uint64_t i = 0; i < 1000; i++) {
        uint32_t f = frame(&r, app, 0x1000 + i, "f");
        int64_t values[] = {1, 10000000 + (int64_t)i * 333};
        sum += (uint64_t)values[1];
        sample(&r, stack(&r, &f, 1), values, 0);
    }
    enc_end(r.v);
    (void)finish(&r);
    (void)maps_of(&r, &total);
    ck_assert_uint_eq(word(&r, 3), 1);
    ck_assert_uint_eq(total, (sum + 500) / 1000);
    rig_fini(&r);
}
END_TEST

START_TEST(test_counts_alone_are_told_of_the_period)
{
    struct rig r;
    uint64_t total;
    rig_init(&r, OTP_GPERFTOOLS_CPU, "");
    const struct otp_value_type type = {.type = enc_text("samples"), .unit = enc_text("count")};
    const struct otp_visit_profile p = {
        .types = &type,
        .type_count = 1,
        .period_type = {.type = enc_text("cpu"), .unit = enc_text("milliseconds")},
        .period = 4};
    const int64_t value = 5;
    ck_assert_int_eq(r.v->begin_profile(r.v, &p), OTP_OK);
    sample(&r, enc_stack(r.v, (const char *const[]){"f", NULL}), &value, 0);
    enc_end(r.v);
    (void)finish(&r);
    ck_assert_str_eq(maps_of(&r, &total), "");
    ck_assert_uint_eq(total, 5);
    ck_assert_uint_eq(word(&r, 3), 4000);
    ck_assert(!r.losses.has_time);
    rig_fini(&r);
}
END_TEST

START_TEST(test_heap_profile_line_by_line)
{
    static const int64_t kept[] = {3, 300, 1, 100};
    static const int64_t freed[] = {2, 64, 0, 0};
    static const int64_t blurred[] = {0, 50, 0, 0};
    static const int64_t less[] = {-1, 5, 1, 5};
    struct rig r;
    rig_init(&r, OTP_GPERFTOOLS_HEAP, "/bin/app");
    uint32_t app = mapping(&r, "/bin/app", 0x401000, 0x402000, 0x1000);
    const uint32_t a[] = {frame(&r, app, 0x401010, "f"), frame(&r, app, 0x401020, "main")};
    const uint32_t b = frame(&r, app, 0x401030, "g");
    begin_heap(&r);
    sample(&r, stack(&r, a, 2), kept, 0);
    sample(&r, stack(&r, &a[1], 1), freed, 0);
    sample(&r, stack(&r, a, 1), blurred, 0);
    sample(&r, stack(&r, &b, 1), less, 0);
    enc_end(r.v);
    ck_assert_str_eq(finish(&r), "heap profile: 1: 100 [6: 414] @ heapprofile\n"
                                 "1: 100 [3: 300] @ 0x00401010 0x00401021\n"
                                 "0: 0 [2: 64] @ 0x00401020\n"
                                 "0: 0 [1: 50] @ 0x00401010\n"
                                 "\nMAPPED_LIBRARIES:\n"
                                 "00401000-00402000 r-xp 00001000 00:00 0 /bin/app\n");
    ck_assert_uint_eq(r.losses.countless, 1);
    ck_assert_uint_eq(r.losses.negatives, 1);
    rig_fini(&r);
}
END_TEST

START_TEST(test_profiles_of_nothing_are_files_without_stacks)
{
    struct rig r;
    uint64_t total;
    rig_init(&r, OTP_GPERFTOOLS_CPU, "");
    begin_cpu(&r, 0);
    enc_end(r.v);
    (void)finish(&r);
    ck_assert_str_eq(maps_of(&r, &total), "");
    ck_assert_uint_eq(r.words, 8);
    rig_fini(&r);
    rig_init(&r, OTP_GPERFTOOLS_HEAP, "");
    begin_heap(&r);
    enc_end(r.v);
    ck_assert_str_eq(finish(&r), "heap profile: 0: 0 [0: 0] @ heapprofile\n\nMAPPED_LIBRARIES:\n");
    rig_fini(&r);
}
END_TEST

START_TEST(test_other_types_are_refused)
{
    struct rig r;
    for (int i = 0; i < 2; i++) {
        rig_init(&r, i == 0 ? OTP_GPERFTOOLS_CPU : OTP_GPERFTOOLS_HEAP, "");
        if (i == 0) {
            begin_heap(&r);
        } else {
            begin_cpu(&r, 1);
        }
        ck_assert_int_eq(otp_gperftools_builder_finish(r.builder, &r.out, &r.losses), OTP_INVALID);
        enc_end(r.v);
        ck_assert_int_eq(otp_gperftools_builder_finish(r.builder, &r.out, &r.losses),
                         OTP_NOT_FOUND);
        ck_assert_uint_eq(r.out.len, 0);
        rig_fini(&r);
    }
}
END_TEST

/* Frames that no reader could find, and stacks that would end the file. */
START_TEST(test_what_has_no_address_is_where_nothing_is)
{
    static const int64_t one[] = {1, 1000};
    static const int64_t less[] = {-1, -1000};
    struct rig r;
    uint64_t total;
    rig_init(&r, OTP_GPERFTOOLS_CPU, "/bin/app");
    uint32_t app = mapping(&r, "/bin/app", 0x1000, 0x2000, 0x1000);
    const uint32_t frames[] = {
        frame(&r, 0, 0, "script"),       frame(&r, 0, 0x1500, "in the program's place"),
        frame(&r, app, 0, "no address"), frame(&r, 0, 0x7f0000001000, NULL), /* made at run time */
        frame(&r, app, 0x1500, "good"),  frame(&r, app, UINT64_MAX, "beyond"),
    };
    const uint64_t made_up = (uint64_t)1 << 52;
    begin_cpu(&r, 1000);
    for (size_t i = 0; i < 6; i++) {
        sample(&r, stack(&r, &frames[i], 1), one, 0);
    }
    sample(&r, 0, one, 0);
    sample(&r, stack(&r, frames, 6), less, 0);
    enc_end(r.v);
    (void)finish(&r);
    (void)maps_of(&r, &total);
    ck_assert_uint_eq(total, 7);
    ck_assert_uint_eq(r.losses.made_up, 4);
    ck_assert_uint_eq(r.losses.empty, 1);
    ck_assert_uint_eq(r.losses.negatives, 1);
    /* The stack without frames is number 0. */
    for (size_t i = 0, at = 5; i < 7; i++, at += 3) {
        uint64_t pc = word(&r, at + 2);
        ck_assert_uint_eq(word(&r, at + 1), 1);
        if (i == 4 || i == 5) {
            ck_assert_uint_eq(pc, i == 4 ? 0x7f0000001000 : 0x1500);
        } else {
            ck_assert_uint_ge(pc, made_up);
        }
        for (size_t k = 0, before = 5; k < i; k++, before += 3) {
            ck_assert_uint_ne(pc, word(&r, before + 2));
        }
    }
    rig_fini(&r);
}
END_TEST

/* One line of /proc/self/maps. */
struct line {
    uint64_t start;
    uint64_t limit;
    uint64_t off;
    char name[32];
};

/* Files that overlap, that have no range, and one that is too large for any place. */
START_TEST(test_places_are_apart)
{
    static const int64_t one[] = {1, 1000};
    static const struct {
        const char *file;
        uint64_t start;
        uint64_t limit;
        uint64_t off;
        uint64_t address;
    } told[] = {
        {"/lib/a.so", 0x1000, 0x9000, 0x1000, 0x1001},
        {"/lib/b.so", 0x1000, 0x9000, 0x1000, 0x8fff},
        {"/bin/app", 0x1000, 0x9000, 0, 0x1000},
        {"/lib/c.so", 0x7f0000000000, 0x7f0000010000, 0, 0x7f0000000010},
        {"/lib/d.so", 0x7f0000008000, 0x7f0000018000, 0, 0x7f0000008000},
        {"/lib/e.so", 0, 0, 0, 0x5432},
        {"/lib/f.so", 0, UINT64_MAX, 0, 0x5432},
        {"", 0x1000, 0x9000, 0, 0x1234},
    };
    struct rig r;
    uint64_t total;
    struct line lines[8];
    size_t count = 0;
    rig_init(&r, OTP_GPERFTOOLS_CPU, "/bin/app");
    begin_cpu(&r, 1000);
    for (size_t i = 0; i < 8; i++) {
        uint32_t f = frame(&r, mapping(&r, told[i].file, told[i].start, told[i].limit, told[i].off),
                           told[i].address, "f");
        sample(&r, stack(&r, &f, 1), one, 0);
    }
    enc_end(r.v);
    (void)finish(&r);
    const char *text = maps_of(&r, &total);
    ck_assert_uint_eq(total, 8);
    ck_assert_ptr_eq(strstr(text, "00001000-00009000 r-xp 00000000 00:00 0 /bin/app\n"), text);
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1, count++) {
        ck_assert_uint_lt(count, 8);
        ck_assert_int_eq(sscanf(at, "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64 " 00:00 0 %31s",
                                &lines[count].start, &lines[count].limit, &lines[count].off,
                                lines[count].name),
                         4);
        for (size_t k = 0; k < count; k++) {
            ck_assert(lines[k].limit <= lines[count].start || lines[count].limit <= lines[k].start);
        }
    }
    ck_assert_uint_eq(count, 6); /* not the one without a name, nor the one that is too large */
    for (size_t i = 0, at = 5; i < 8; i++, at += 3) {
        bool is_there = false;
        for (size_t k = 0; k < count; k++) {
            uint64_t pc = word(&r, at + 2);
            bool is_in = pc >= lines[k].start && pc < lines[k].limit;
            ck_assert(!is_in || strcmp(lines[k].name, told[i].file) == 0);
            /* The place in the file is what it was. */
            ck_assert(!is_in || pc - lines[k].start + lines[k].off ==
                                    told[i].address - told[i].start + told[i].off);
            is_there = is_there || is_in;
        }
        ck_assert(is_there == (i < 6));
    }
    rig_fini(&r);
}
END_TEST

START_TEST(test_a_name_cannot_break_a_line)
{
    static const int64_t one[] = {1, 1000};
    struct rig r;
    uint64_t total;
    rig_init(&r, OTP_GPERFTOOLS_CPU, "");
    uint32_t f = frame(&r, mapping(&r, "/tmp/a\nb", 0x1000, 0x2000, 0), 0x1000, "f");
    begin_cpu(&r, 1000);
    sample(&r, stack(&r, &f, 1), one, 0);
    enc_end(r.v);
    (void)finish(&r);
    ck_assert_str_eq(maps_of(&r, &total), "00001000-00002000 r-xp 00000000 00:00 0 /tmp/a\\012b\n");
    rig_fini(&r);
}
END_TEST

/* Tells and asks for nothing but the end: what is refused on the way is refused there. */
static void tell_much(struct otp_visitor *v)
{
    static const int64_t values[] = {1, 8, 1, 8};
    const struct otp_value_type type = {.type = enc_text("space"), .unit = enc_text("bytes")};
    const struct otp_visit_profile p = {.types = &type, .type_count = 1};
    (void)v->begin_profile(v, &p);
    for (uint64_t i = 1; i < 500; i++) {
        const struct otp_visit_mapping m = {.start = i << 12, .limit = (i + 1) << 12};
        struct otp_visit_frame f = {.address = i << 12};
        struct otp_visit_sample s = {.values = values};
        uint32_t id = 0;
        (void)v->mapping(v, &m, &f.mapping);
        (void)v->frame(v, &f, &id);
        (void)v->stack(v, &id, 1, &s.stack);
        (void)v->sample(v, &s);
    }
    (void)v->end_profile(v);
}

/* Too little memory, in all amounts: a file or a refusal. */
START_TEST(test_memory_limits)
{
    size_t refused = 0;
    size_t done = 0;
    size_t len = 0;
    for (size_t limit = 1 << 10; limit < (size_t)8 << 20; limit += limit / 16) {
        const struct otp_gperftools_options o = {.kind = OTP_GPERFTOOLS_HEAP};
        struct otp_heap heap;
        struct otp_gperftools_builder *b;
        struct otp_gperftools_losses losses;
        struct otp_buf out;
        otp_heap_init(&heap, limit);
        otp_buf_init(&out, &heap, (size_t)1 << 20);
        enum otp_status status = otp_gperftools_builder_create(&heap, &o, &b);
        if (status == OTP_OK) {
            tell_much(otp_gperftools_builder_visitor(b));
            status = otp_gperftools_builder_finish(b, &out, &losses);
        }
        ck_assert(status == OTP_OK || status == OTP_NO_MEMORY);
        ck_assert(status == OTP_OK || out.len == 0);
        ck_assert(status != OTP_OK || len == 0 || out.len == len);
        len = status == OTP_OK ? out.len : len;
        done += status == OTP_OK;
        refused += status != OTP_OK;
        otp_gperftools_builder_destroy(b);
        otp_buf_fini(&out);
        otp_heap_reset(&heap);
    }
    ck_assert_uint_gt(refused, 10);
    ck_assert_uint_gt(done, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode_gperftools");
    TCase *t = tcase_create("gperftools");
    tcase_add_test(t, test_cpu_profile_word_by_word);
    tcase_add_test(t, test_odd_times_are_told_in_microseconds);
    tcase_add_test(t, test_counts_alone_are_told_of_the_period);
    tcase_add_test(t, test_heap_profile_line_by_line);
    tcase_add_test(t, test_profiles_of_nothing_are_files_without_stacks);
    tcase_add_test(t, test_other_types_are_refused);
    tcase_add_test(t, test_what_has_no_address_is_where_nothing_is);
    tcase_add_test(t, test_places_are_apart);
    tcase_add_test(t, test_a_name_cannot_break_a_line);
    tcase_add_test(t, test_memory_limits);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
