/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a thread that do not fit any more: what is told of a key is true, or nothing. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/labels.h"
#include "core/capture/slot.h"
#include "tests/unit/run.h"
#include "tests/unit/tags_help.h"

/* Source: OTEP 4947. */
struct record {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t valid;
    uint8_t trace_flags;
    uint16_t attr_bytes;
    uint8_t attrs[32];
};

static __thread void *slot;
static struct record record __attribute__((aligned(8)));
static char long_text[256];

static bool name_of(void *arg, uint8_t idx, struct otp_text *out)
{
    (void)arg;
    *out = otp_text_of(idx == 0 ? "route" : "tenant");
    return idx < 2;
}

static void need_no_worker(void)
{
}

static void set_up(void)
{
    otp_settings.need_worker = need_no_worker;
    otp_settings.pid = otp_sys_getpid();
    memset(long_text, 'x', sizeof(long_text) - 1);
    tags_begin(name_of);
}

/* A thread context with route=/context and tenant=7. */
static void publish_context(void)
{
    static const uint8_t attrs[] = "\0\10/context\1\0017";
    memcpy(record.attrs, attrs, sizeof(attrs) - 1);
    record.attr_bytes = sizeof(attrs) - 1;
    record.valid = 1;
    slot = &record;
    struct otp_slot_place place = {
        .kind = OTP_SLOT_STATIC,
        .is_permanent = 1,
        .offset = (uint64_t)((uintptr_t)&slot - otp_arch_thread_pointer()),
    };
    otp_slot_publish(&place);
}

static uint32_t dropped;

/* What the calling thread's sample says of a key; "" when nothing. */
static const char *told(const char *key)
{
    static char out[300];
    struct otp_tag t;
    out[0] = '\0';
    dropped = 0;
    if (!otp_tag_take(&t)) {
        return out;
    }
    struct otp_tags_result r = otp_tags_add(&tags, &t, otp_tag_bytes(&t), true);
    dropped = r.dropped_attrs;
    if (r.number == OTP_TAGS_NONE) {
        return out;
    }
    const struct otp_tags_entry *e = otp_tags_get(&tags, r.number);
    for (uint32_t i = 0; i < e->attr_count; i++) {
        struct otp_text k;
        struct otp_text v;
        const struct otp_tags_attr *a = otp_tags_attr(&tags, e, i, &k, &v);
        if (k.len == strlen(key) && memcmp(k.data, key, k.len) == 0) {
            if (a->is_int) {
                (void)snprintf(out, sizeof(out), "%lld", (long long)a->number);
            } else {
                memcpy(out, v.data, v.len);
                out[v.len] = '\0';
            }
        }
    }
    return out;
}

static void push_long(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        otp_labels_push("long", long_text);
    }
}

static void pop(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        otp_labels_pop();
    }
}

static void pop_all(void)
{
    pop(1000);
    ck_assert_uint_eq(otp_tls.has_labels, 0);
    ck_assert_str_eq(told("route"), "");
    ck_assert_uint_eq(dropped, 0);
}

START_TEST(test_refused_label_hides_the_outer_one)
{
    otp_labels_push("route", "/outer");
    otp_labels_push_int("number", -42);
    push_long(5); /* the first has room, and the others say the same */
    ck_assert_str_eq(told("route"), "/outer");
    ck_assert_str_eq(told("long"), long_text);
    ck_assert_uint_eq(dropped, 4);
    otp_labels_push("route", "/inner");
    ck_assert_str_eq(told("route"), "");
    ck_assert_uint_eq(dropped, 5);
    ck_assert_str_eq(told("number"), "-42");
    otp_labels_push_int("number", 1);
    otp_labels_push("route", "/inmost");
    ck_assert_str_eq(told("route"), "");
    ck_assert_str_eq(told("number"), "");
    pop(1);
    ck_assert_str_eq(told("route"), "");
    pop(1);
    ck_assert_str_eq(told("number"), "-42");
    pop(1);
    ck_assert_str_eq(told("route"), "/outer");
    ck_assert_uint_eq(dropped, 4);
    otp_labels_push("long", "other");
    ck_assert_str_eq(told("long"), "");
    push_long(1);
    ck_assert_str_eq(told("long"), "");
    pop(2);
    ck_assert_str_eq(told("long"), long_text);
    pop(4);
    ck_assert_str_eq(told("long"), long_text);
    ck_assert_uint_eq(dropped, 0);
    pop_all();
}
END_TEST

START_TEST(test_refused_label_hides_the_thread_context)
{
    publish_context();
    ck_assert_str_eq(told("route"), "/context");
    ck_assert_str_eq(told("tenant"), "7");
    push_long(3);
    otp_labels_push("route", "/inner");
    ck_assert_str_eq(told("route"), "");
    ck_assert_uint_eq(dropped, 3);
    ck_assert_str_eq(told("tenant"), "7");
    pop(1);
    ck_assert_str_eq(told("route"), "/context");
    pop(1000);
    ck_assert_uint_eq(otp_tls.has_labels, 0);
    struct otp_slot_place none = {.kind = OTP_SLOT_NONE};
    otp_slot_publish(&none);
}
END_TEST

START_TEST(test_too_many_refused_keys_hide_all)
{
    char key[16];
    publish_context();
    otp_labels_push("route", "/outer");
    otp_labels_push("user", "u");
    push_long(3);
    for (unsigned i = 0; i < OTP_TAG_REFUSED_MAX; i++) {
        (void)snprintf(key, sizeof(key), "key%u", i);
        otp_labels_push(key, "value");
        otp_labels_push(NULL, "no key");
    }
    ck_assert_str_eq(told("user"), "u");
    ck_assert_str_eq(told("tenant"), "7");
    uint32_t before = dropped;
    otp_labels_push("one more", "value");
    otp_labels_push("yet another", "value");
    ck_assert_str_eq(told("user"), "");
    ck_assert_str_eq(told("route"), "");
    ck_assert_str_eq(told("tenant"), "");
    ck_assert_uint_eq(dropped, before + 2 + 3 + 2); /* labels that were kept, and the context's */
    pop(1);
    ck_assert_str_eq(told("user"), "");
    pop(1);
    ck_assert_str_eq(told("user"), "u");
    ck_assert_str_eq(told("route"), "/outer");
    ck_assert_str_eq(told("tenant"), "7");
    ck_assert_uint_eq(dropped, before);
    pop(1000);
    struct otp_slot_place none = {.kind = OTP_SLOT_NONE};
    otp_slot_publish(&none);
    pop_all();
}
END_TEST

#define ROOM 31 /* labels of 16 bytes each: 6 in front, one of key, 8 of value, filled up */

/* The truth by a plain list: any order of pushes and pops. */
START_TEST(test_any_order_tells_the_truth_or_nothing)
{
    static const char *const keys[] = {"a", "b", "c", "d"};
    static struct {
        unsigned key;
        int64_t value;
    } stack[200];
    unsigned depth = 0;
    unsigned told_count = 0;
    unsigned hidden_count = 0;
    uint64_t random = 12345;
    for (unsigned round = 1; round <= 20000; round++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        bool is_push = (random >> 33) % 100 < (round / 500 % 2 == 0 ? 60U : 40U);
        if (is_push && depth < 200) {
            stack[depth].key = (unsigned)(random >> 40) % 4;
            stack[depth].value = (int64_t)round;
            otp_labels_push_int(keys[stack[depth].key], stack[depth].value);
            depth++;
        } else if (depth > 0) {
            otp_labels_pop();
            depth--;
        }
        unsigned key = (unsigned)(random >> 50) % 4;
        unsigned at = depth;
        while (at > 0 && stack[at - 1].key != key) {
            at--;
        }
        const char *text = told(keys[key]);
        if (at > 0 && at <= ROOM) {
            ck_assert_int_eq(atoll(text), stack[at - 1].value);
            told_count++;
        } else {
            ck_assert_str_eq(text, "");
            hidden_count += at > ROOM;
        }
        ck_assert_uint_eq(dropped, depth > ROOM ? depth - ROOM : 0);
        if (round % 900 == 0) {
            otp_tags_clear(&tags);
        }
    }
    ck_assert_uint_gt(told_count, 1000);
    ck_assert_uint_gt(hidden_count, 1000);
}
END_TEST

static bool is_lasting(void)
{
    struct otp_tag t;
    return otp_tag_take(&t) && otp_tag_is_lasting(&t);
}

/* What a tick has seen lasts until it is changed, also to the same again. */
START_TEST(test_what_was_seen_lasts_until_it_changes)
{
    static const unsigned char trace[16] = {1};
    static const unsigned char span[8] = {2};
    otp_span_set(trace, span);
    ck_assert(!is_lasting());
    otp_labels_note_seen(1000);
    ck_assert(is_lasting());
    otp_labels_note_seen(2000);
    ck_assert_uint_eq(otp_tls.since_ns, 1000);
    otp_labels_push("route", "/a");
    ck_assert(!is_lasting());
    otp_labels_note_seen(3000);
    ck_assert(is_lasting());
    ck_assert_uint_eq(otp_tls.since_ns, 3000);
    otp_labels_push_int("n", 1);
    ck_assert(!is_lasting());
    otp_labels_note_seen(4000);
    otp_labels_pop();
    ck_assert(!is_lasting());
    otp_labels_note_seen(5000);
    otp_span_set(trace, span);
    ck_assert(!is_lasting());
    otp_span_clear();
    ck_assert(is_lasting()); /* the label */
    publish_context();
    ck_assert(!is_lasting());
    otp_labels_pop();
    otp_labels_note_seen(6000);
    ck_assert(!is_lasting());
    struct otp_slot_place none = {.kind = OTP_SLOT_NONE};
    otp_slot_publish(&none);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_labels");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test_refused_label_hides_the_outer_one);
    tcase_add_test(tc, test_refused_label_hides_the_thread_context);
    tcase_add_test(tc, test_too_many_refused_keys_hide_all);
    tcase_add_test(tc, test_what_was_seen_lasts_until_it_changes);
    tcase_add_test(tc, test_any_order_tells_the_truth_or_nothing);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(suite, tc);
    return unit_run(suite);
}
