/* SPDX-License-Identifier: Apache-2.0 */
/* The process context of OTEP 4719: published, read back, and in every broken form. */
#define _GNU_SOURCE /* memfd_create */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/resource/process_context.h"
#include "tests/otel_ctx.h"
#include "tests/unit/run.h"

/* {resource {"k.s": "v", "service.name": "theirs", "n": 7, "b": true, "list": []}, attribute} */
static const unsigned char payload[] = "\x0a\x46"
                                       "\x0a\x0a\x0a\x03k.s\x12\x03\x0a\x01v"
                                       "\x0a\x18\x0a\x0cservice.name\x12\x08\x0a\x06theirs"
                                       "\x0a\x07\x0a\x01n\x12\x02\x18\x07"
                                       "\x0a\x07\x0a\x01"
                                       "b\x12\x02\x10\x01"
                                       "\x0a\x0a\x0a\x04list\x12\x02\x2a\x00"
                                       "\x12\x05\x0a\x03not";

static struct otp_resource r;
static char *mapping;

static struct otel_ctx *publish(void)
{
    struct otel_ctx *c = otel_ctx_map();
    mapping = (void *)c;
    memcpy(mapping + OTEL_CTX_PAYLOAD, payload, sizeof(payload) - 1);
    otel_ctx_publish(c, sizeof(payload) - 1, 1);
    return c;
}

static void assert_text(const char *key, const char *want)
{
    const struct otp_resource_attr *a = otp_resource_find(&r, key);
    ck_assert_msg(a != NULL, "no %s", key);
    ck_assert_msg(a->text.len == strlen(want) && memcmp(a->text.data, want, a->text.len) == 0, "%s",
                  key);
}

START_TEST(test_none)
{
    ck_assert(!otp_process_context_exists());
    ck_assert(!otp_process_context_read(&r));
    ck_assert_uint_eq(r.count, 0);
}
END_TEST

START_TEST(test_read)
{
    (void)publish();
    ck_assert(otp_process_context_exists());
    ck_assert(otp_process_context_read(&r));
    ck_assert_uint_eq(r.count, 4);
    assert_text("k.s", "v");
    assert_text("service.name", "theirs");
    assert_text("b", "true");
    ck_assert(otp_resource_find(&r, "n")->is_int && otp_resource_find(&r, "n")->number == 7);
}
END_TEST

START_TEST(test_what_the_user_says_wins)
{
    (void)publish();
    struct otp_resource_input in = {.attributes = {.data = "k.s=mine", .len = 8},
                                    .version = {.data = "1", .len = 1}};
    otp_resource_detect(&r, &in, NULL, NULL);
    ck_assert(r.has_context);
    assert_text("k.s", "mine");
    assert_text("service.name", "theirs");
    assert_text("telemetry.sdk.name", "libotelprof");
}
END_TEST

enum damage { SIGNATURE, VERSION, UNPUBLISHED, EMPTY, HUGE, NOWHERE, EXECUTABLE, DAMAGES };

START_TEST(test_damaged_headers)
{
    struct otel_ctx *c = publish();
    switch (_i) {
    case SIGNATURE:
        c->signature[3] = 'x';
        break;
    case VERSION:
        c->version = 1;
        break;
    case UNPUBLISHED:
        c->published = 0;
        break;
    case EMPTY:
        c->payload_bytes = 0;
        break;
    case HUGE:
        c->payload_bytes = UINT32_MAX;
        break;
    case NOWHERE:
        c->payload = 8;
        break;
    default:
        ck_assert_int_eq(mprotect(mapping, 4096, PROT_READ | PROT_EXEC), 0);
        break;
    }
    ck_assert(!otp_process_context_read(&r));
    ck_assert_uint_eq(r.count, 0);
}
END_TEST

/* Any byte of the payload may be anything, and it may end anywhere. */
START_TEST(test_damaged_payloads)
{
    struct otel_ctx *c = publish();
    for (size_t i = 0; i < sizeof(payload) - 1; i++) {
        for (unsigned v = 0; v < 256; v += 5) {
            mapping[OTEL_CTX_PAYLOAD + i] = (char)v;
            r.count = r.used = 0;
            (void)otp_process_context_read(&r);
            ck_assert_uint_le(r.count, 8);
            mapping[OTEL_CTX_PAYLOAD + i] = (char)payload[i];
        }
        c->payload_bytes = (uint32_t)i + 1;
        r.count = r.used = 0;
        ck_assert(otp_process_context_read(&r));
        c->payload_bytes = sizeof(payload) - 1;
    }
}
END_TEST

START_TEST(test_published_is_read_back)
{
    struct otp_resource_input in = {.attributes = {.data = "k=v%20w", .len = 7},
                                    .service_name = {.data = "svc", .len = 3},
                                    .version = {.data = "1", .len = 1}};
    static struct otp_resource first;
    otp_resource_detect(&first, &in, NULL, NULL);
    ck_assert(!first.has_context);
    ck_assert(otp_process_context_publish(&first));
    ck_assert(otp_process_context_exists());
    ck_assert(otp_process_context_read(&r));
    ck_assert_uint_eq(r.count, first.count);
    assert_text("k", "v w");
    assert_text("service.name", "svc");
    ck_assert_int_eq(otp_resource_find(&r, "process.pid")->number, getpid());
    pid_t child = fork();
    if (child == 0) {
        _exit(otp_process_context_exists() ? 1 : 0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "a fork child has inherited the context");
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("process_context");
    TCase *t = tcase_create("all");
    tcase_add_test(t, test_none);
    tcase_add_test(t, test_read);
    tcase_add_test(t, test_what_the_user_says_wins);
    tcase_add_loop_test(t, test_damaged_headers, 0, DAMAGES);
    tcase_add_test(t, test_damaged_payloads);
    tcase_add_test(t, test_published_is_read_back);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return unit_run(make_suite());
}
