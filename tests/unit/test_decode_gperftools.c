/* SPDX-License-Identifier: Apache-2.0 */
/* gperftools' CPU and heap profiles as files of profiles. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/profiles.h"
#include "tests/unit/decode_help.h"
#include "tests/unit/run.h"

#define MAPS                                                                                       \
    "00400000-00402000 r-xp 00001000 08:01 77  /bin/app\n"                                         \
    "00602000-00603000 rw-p 00002000 08:01 77  /bin/app\n"                                         \
    "7f0000000000-7f0000010000 r-xp 00000000 08:01 78  /lib/a b.so (deleted)\n"                    \
    "ffffffffff600000-ffffffffff601000 r-xp 00000000 00:00 0 [vsyscall]\n"                         \
    "what is this\n"

static const uint64_t good_words[] = {
    0, 3, 0,       4000, 0, 2, 2, 0x400010, 0x7f0000000101, 1, 1, 0x400020, 3, 1, 0x7f0000000100,
    5, 1, 0x12345, 0,    1, 0};
#define GOOD_WORDS (sizeof(good_words) / sizeof(good_words[0]))

/* Words and the maps behind them. */
struct file {
    uint8_t bytes[1024];
    size_t len;
};

static void add_words(struct file *f, const uint64_t *words, size_t count)
{
    memcpy(f->bytes + f->len, words,
           count * sizeof(words[0])); /* little-endian, as the tests are */
    f->len += count * sizeof(words[0]);
}

static void add_text(struct file *f, const char *text)
{
    memcpy(f->bytes + f->len, text, strlen(text));
    f->len += strlen(text);
}

static int64_t total_of(const struct otp_profiles *m, uint32_t profile)
{
    const struct otp_profile *p = otp_profiles_profile(m, profile);
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->samples.count; i++) {
        sum += otp_profiles_sample_total(m, otp_profiles_sample(m, p->samples.first + i));
    }
    return sum;
}

/* The total of the type of that name; the test fails when there is none. */
static int64_t total(const struct otp_profiles *m, const char *type)
{
    for (uint32_t i = 0; i < m->profiles.count; i++) {
        struct otp_text t = otp_profiles_string(m, otp_profiles_profile(m, i)->sample_type.type);
        if (t.len == strlen(type) && memcmp(t.data, type, t.len) == 0) {
            return total_of(m, i);
        }
    }
    ck_abort_msg("no type %s", type);
    return 0;
}

/* The address of frame `frame` of the sample, and the name of its file. */
static uint64_t frame_of(const struct otp_profiles *m, uint32_t sample, uint32_t frame,
                         const char **out_file)
{
    const struct otp_sample *s = otp_profiles_sample(m, sample);
    const struct otp_slice *stack = otp_profiles_stack(m, s->stack);
    ck_assert_uint_lt(frame, stack->count);
    const struct otp_location *l = otp_profiles_location(m, otp_profiles_frames(m, stack)[frame]);
    *out_file = otp_profiles_string(m, otp_profiles_mapping(m, l->mapping)->filename).data;
    return l->address;
}

static void expect_frame(const struct otp_profiles *m, uint32_t sample, uint32_t frame,
                         uint64_t address, const char *file)
{
    const char *name;
    ck_assert_uint_eq(frame_of(m, sample, frame, &name), address);
    ck_assert_int_eq(strncmp(name, file, strlen(file)), 0);
}

START_TEST(test_cpu_profile)
{
    struct file f = {.len = 0};
    struct otp_profile_set set;
    struct otp_input_fault fault;
    add_words(&f, good_words, GOOD_WORDS);
    add_text(&f, MAPS);
    otp_profile_set_init(&set);
    ck_assert_int_eq(dec_add(&set, f.bytes, f.len, false, &fault), OTP_OK);
    ck_assert_uint_eq(set.message_count, 1);
    const struct otp_profiles *m = set.messages[0];
    ck_assert_uint_eq(m->profiles.count, 2);
    ck_assert_int_eq(total(m, "samples"), 11);
    ck_assert_int_eq(total(m, "cpu"), 44000000);
    ck_assert_int_eq(otp_profiles_profile(m, 0)->period, 4000000);
    /* The caller is where it calls from; what was interrupted is where it was. */
    expect_frame(m, 0, 0, 0x400010, "/bin/app");
    expect_frame(m, 0, 1, 0x7f0000000100, "/lib/a b.so (deleted)");
    expect_frame(m, 2, 0, 0x7f0000000100, "/lib/a b.so (deleted)");
    expect_frame(m, 3, 0, 0x12345, "");
    ck_assert_uint_eq(m->table[OTP_TABLE_LOCATION].count, 5);
    otp_profile_set_fini(&set);
}
END_TEST

START_TEST(test_heap_profile)
{
    static const char text[] = "heap profile: 1: 100 [ 6: 414] @ heapprofile\r\n"
                               "   1:   100 [  3:   300] @ 0x00400011 0x00400021\n"
                               "# a word\n"
                               "0: 0 [3: 114] @ 0x00400021\n"
                               "\nMAPPED_LIBRARIES:\n" MAPS;
    struct otp_profile_set set;
    struct otp_input_fault fault;
    otp_profile_set_init(&set);
    ck_assert_int_eq(dec_add(&set, text, sizeof(text) - 1, false, &fault), OTP_OK);
    const struct otp_profiles *m = set.messages[0];
    ck_assert_int_eq(total(m, "inuse_objects"), 1);
    ck_assert_int_eq(total(m, "inuse_space"), 100);
    ck_assert_int_eq(total(m, "alloc_objects"), 6);
    ck_assert_int_eq(total(m, "alloc_space"), 414);
    expect_frame(m, 0, 0, 0x400010, "/bin/app");
    expect_frame(m, 0, 1, 0x400020, "/bin/app");
    otp_profile_set_fini(&set);
}
END_TEST

/* Scaled by 1 / (1 - 1 / e) = 1.58198: 2 and 8192 of them in use are 3.164 and 12959.5, each time;
 * of 1, 4096 and 0 bytes nothing is known, and they stay. */
#define SAMPLED                                                                                    \
    "MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 1 /bin/app\n"                        \
    "7f0000000000-7f0000100000 r-xp 00000000 00:00 2 /lib/unused.so\n"
static const char *const sampled[] = {
    "heap_v2/4096\n  t*: 4: 16384 [0: 0]\n  t0: 4: 16384 [0: 0]\n"
    "@ 0x400011 0x400021\n  t*: 2: 8192 [2: 8192]\n  t0: 1: 1 [0: 0]\n  t1: 1: 8191 [2: 8192]\n"
    "@ 0x400011\n  t*: 2: 8192 [7: 0]\n  t3: 2: 8192 [7: 0]\n"
    "@\n  t*: 2: 8192 [0: 0]\n" SAMPLED,
    "heap profile: 6: 24576 [ 9: 8192] @ heap_v2/4096\n"
    "2: 8192 [2: 8192] @ 0x400011 0x400021\n2: 8192 [7: 0] @ 0x400011\n2: 8192 [0: 0] @\n" SAMPLED};

START_TEST(test_sampled_heaps)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;
    otp_profile_set_init(&set);
    ck_assert_int_eq(dec_add(&set, sampled[_i], strlen(sampled[_i]), false, &fault), OTP_OK);
    const struct otp_profiles *m = set.messages[0];
    ck_assert_int_eq(total(m, "inuse_objects"), 9);   /* 9.49 */
    ck_assert_int_eq(total(m, "inuse_space"), 38879); /* 38878.7 */
    ck_assert_int_eq(total(m, "alloc_objects"), 3 + 7);
    ck_assert_int_eq(total(m, "alloc_space"), 12960);
    ck_assert_int_eq(otp_profiles_profile(m, 0)->period, 4096);
    ck_assert_uint_eq(m->table[OTP_TABLE_MAPPING].count, 2);
    expect_frame(m, 0, 0, 0x400010, "/bin/app");
    otp_profile_set_fini(&set);
}
END_TEST

static void expect_refusal(const void *bytes, size_t len, const char *says)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;
    otp_profile_set_init(&set);
    ck_assert_int_ne(dec_add(&set, bytes, len, false, &fault), OTP_OK);
    ck_assert_msg(strstr(fault.reason, says) != NULL, "%s", fault.reason);
    ck_assert_msg(strstr(fault.reason, "gperftools") != NULL, "%s", fault.reason);
    ck_assert_uint_le(fault.off, len);
    otp_profile_set_fini(&set);
}

/* Each beginning of a profile that is shorter than it is refused. */
START_TEST(test_cut_profiles)
{
    struct file f = {.len = 0};
    add_words(&f, good_words, GOOD_WORDS);
    for (size_t len = 5 * sizeof(uint64_t); len < f.len; len++) {
        expect_refusal(f.bytes, len, "missing");
    }
}
END_TEST

/* One word of a good profile is another. */
static const struct {
    size_t place;
    uint64_t word;
    const char *says;
} bad_words[] = {
    {2, 1, "header"},
    {3, 0, "period"},
    {3, (uint64_t)1 << 32, "period"},
    {5, UINT64_MAX, "too large"},
    {5, INT64_MAX / 2, "too large"},
    {6, 1000, "missing"},
    {6, UINT64_MAX, "missing"},
};

START_TEST(test_bad_words)
{
    struct file f = {.len = 0};
    add_words(&f, good_words, GOOD_WORDS);
    memcpy(f.bytes + bad_words[_i].place * sizeof(uint64_t), &bad_words[_i].word, sizeof(uint64_t));
    expect_refusal(f.bytes, f.len, bad_words[_i].says);
}
END_TEST

#define HEAD "heap profile: 1: 100 [1: 100] @ heapprofile\n"
static const struct {
    const char *text;
    const char *says;
} bad_texts[] = {
    {"heap profile: 1: 100 [1: 100] @ heap/524288\n\nMAPPED_LIBRARIES:\n", "scaled"},
    {"heap profile: 1: 100 [1: 100] @ heap_v2/0\n\nMAPPED_LIBRARIES:\n", "scaled"},
    {"heap_v2/x\n t*: 1: 100 [0: 0]\nMAPPED_LIBRARIES:\n", "header"},
    {"heap_v2/9\n@ 0x1\n t*: 1: x [0: 0]\nMAPPED_LIBRARIES:\n", "no stack"},
    {"heap_v2/9\n@ 1\n t*: 1: 1 [0: 0]\nMAPPED_LIBRARIES:\n", "no stack"},
    {"heap_v2/9\n1: 1 [0: 0]\nMAPPED_LIBRARIES:\n", "no stack"},
    {"heap_v2/9223372036854775807\n@ 0x1\n t*: 9: 1 [0: 0]\nMAPPED_LIBRARIES:\n", "too large"},
    {"heap_v2/9\n@ 0x1\n t*: 1: 1 [0: 0]\n", "missing"},
    {"heap profile: 1: 100 [1: 100]\n\nMAPPED_LIBRARIES:\n", "header"},
    {"heap profile: -1: 100 [1: 100] @ heapprofile\n\nMAPPED_LIBRARIES:\n", "header"},
    {HEAD "1: 100 [1: 100] 0x10\nMAPPED_LIBRARIES:\n", "no stack"},
    {HEAD "1: 100 [1: 100] @ 10\nMAPPED_LIBRARIES:\n", "no stack"},
    {HEAD "1: 100 [1: 100] @ 0x\nMAPPED_LIBRARIES:\n", "no stack"},
    {HEAD "1: 100 [1: 100] @ 0x11112222333344445\nMAPPED_LIBRARIES:\n", "no stack"},
    {HEAD "1: 9223372036854775808 [1: 100] @ 0x10\nMAPPED_LIBRARIES:\n", "no stack"},
    {HEAD "a word\nMAPPED_LIBRARIES:\n", "no stack"},
    {HEAD "1: 100 [1: 100] @ 0x10\n", "missing"},
};

START_TEST(test_bad_texts)
{
    expect_refusal(bad_texts[_i].text, strlen(bad_texts[_i].text), bad_texts[_i].says);
}
END_TEST

/* What nothing is known of: stacks without frames, addresses of 0, ranges that overlap. */
START_TEST(test_odd_profiles)
{
    static const uint64_t odd[] = {0, 3, 0, 1, 0, 7, 0, 6, 2, 0x1800, 0, 0, 1, 0};
    struct file f = {.len = 0};
    struct otp_profile_set set;
    struct otp_input_fault fault;
    add_words(&f, odd, sizeof(odd) / sizeof(odd[0]));
    add_text(&f, "1000-2000 r-xp 0 00:00 0 /a\n1500-1700 r-xp 0 00:00 0 /b\n9-9 r-xp 0 0:0 0 /c");
    otp_profile_set_init(&set);
    ck_assert_int_eq(dec_add(&set, f.bytes, f.len, false, &fault), OTP_OK);
    const struct otp_profiles *m = set.messages[0];
    ck_assert_int_eq(total(m, "samples"), 13);
    ck_assert_int_eq(total(m, "cpu"), 13000);
    ck_assert_uint_eq(otp_profiles_stack(m, otp_profiles_sample(m, 0)->stack)->count, 0);
    otp_profile_set_fini(&set);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_gperftools");
    TCase *t = tcase_create("gperftools");
    tcase_add_test(t, test_cpu_profile);
    tcase_add_test(t, test_heap_profile);
    tcase_add_loop_test(t, test_sampled_heaps, 0, (int)(sizeof(sampled) / sizeof(sampled[0])));
    tcase_add_test(t, test_cut_profiles);
    tcase_add_loop_test(t, test_bad_words, 0, (int)(sizeof(bad_words) / sizeof(bad_words[0])));
    tcase_add_loop_test(t, test_bad_texts, 0, (int)(sizeof(bad_texts) / sizeof(bad_texts[0])));
    tcase_add_test(t, test_odd_profiles);
    suite_add_tcase(suite, t);
    return unit_run(suite);
}
