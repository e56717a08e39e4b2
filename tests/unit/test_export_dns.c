/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers of name servers, and the resolver against a server in the same thread. */
#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/base/sys.h"
#include "core/export/dns.h"
#include "core/export/resolver.h"
#include "tests/unit/run.h"

#define PATIENCE_MS 5000

static const struct otp_dns_question question = {
    .id = 0x1234, .type = OTP_DNS_TYPE_A, .name = {.data = "ab.c", .len = 4}};
static struct otp_addresses found;

/* A good answer: the question, an alias, an address. */
static const unsigned char answer[] =
    "\x12\x34\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00\x02"
    "AB\x01"
    "C\x00\x00\x01\x00\x01" /* the case of letters may change */
    "\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x04\x01x\xc0\x0c"
    "\xc0\x22\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x0a\x01\x02\x03";

static enum otp_dns_result read_answer(const void *bytes, size_t len)
{
    memset(&found, 0, sizeof(found));
    return otp_dns_read(&question, otp_text_make(bytes, len), 80, &found);
}

START_TEST(test_question)
{
    unsigned char out[OTP_DNS_MESSAGE_MAX];
    static const unsigned char want[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x02"
                                        "ab\x01"
                                        "c\x00\x00\x01\x00\x01";
    ck_assert_uint_eq(otp_dns_write(&question, out), sizeof(want) - 1);
    ck_assert_int_eq(memcmp(out, want, sizeof(want) - 1), 0);
    char longest[300];
    memset(longest, 'a', sizeof(longest));
    struct otp_dns_question q = question;
    static const char *const bad[] = {"", ".", "a..b", ".a", "a."};
    for (size_t i = 0; i < OTP_ARRAY_LEN(bad); i++) {
        q.name = otp_text_of(bad[i]);
        ck_assert_uint_eq(otp_dns_write(&q, out), 0);
    }
    q.name = otp_text_make(longest, 64);
    ck_assert_uint_eq(otp_dns_write(&q, out), 0);
    for (size_t i = 63; i < sizeof(longest); i += 64) {
        longest[i] = '.';
    }
    q.name = otp_text_make(longest, 254);
    ck_assert_uint_eq(otp_dns_write(&q, out), 0);
    q.name = otp_text_make(longest, 253);
    ck_assert_uint_eq(otp_dns_write(&q, out), 12 + 255 + 4);
}
END_TEST

START_TEST(test_good_answer)
{
    ck_assert_int_eq((int)read_answer(answer, sizeof(answer) - 1), OTP_DNS_FOUND);
    ck_assert_uint_eq(found.count, 1);
    ck_assert_uint_eq(ntohl(found.items[0].to.in.sin_addr.s_addr), 0x0a010203);
    ck_assert_uint_eq(ntohs(found.items[0].to.in.sin_port), 80);
}
END_TEST

START_TEST(test_foreign_answers)
{
    unsigned char copy[sizeof(answer)];
    static const size_t places[] = {0, 1, 2, 4, 5, 13, 18, 20};
    for (size_t i = 0; i < OTP_ARRAY_LEN(places); i++) {
        memcpy(copy, answer, sizeof(answer));
        copy[places[i]] ^= 0x81;
        ck_assert_msg(read_answer(copy, sizeof(answer) - 1) == OTP_DNS_FOREIGN, "byte %zu",
                      places[i]);
    }
    memcpy(copy, answer, sizeof(answer));
    copy[3] = 0x83;
    ck_assert_int_eq((int)read_answer(copy, sizeof(answer) - 1), OTP_DNS_NO_NAME);
    copy[3] = 0x82;
    ck_assert_int_eq((int)read_answer(copy, sizeof(answer) - 1), OTP_DNS_FAILED);
    copy[3] = 0x80;
    copy[7] = 0;
    ck_assert_int_eq((int)read_answer(copy, sizeof(answer) - 1), OTP_DNS_NO_DATA);
    copy[2] |= 2;
    ck_assert_int_eq((int)read_answer(copy, sizeof(answer) - 1), OTP_DNS_CUT);
    copy[7] = 2;
    ck_assert_int_eq((int)read_answer(copy, sizeof(answer) - 1), OTP_DNS_FOUND);
}
END_TEST

/* Every cut and every single changed byte: no crash, and never more addresses than there is room.
 */
START_TEST(test_broken_answers)
{
    unsigned char copy[sizeof(answer)];
    for (size_t len = 0; len < sizeof(answer) - 1; len++) {
        ck_assert_int_ne((int)read_answer(answer, len), OTP_DNS_FOUND);
        for (unsigned v = 0; v < 256; v++) {
            memcpy(copy, answer, sizeof(answer));
            copy[len] = (unsigned char)v;
            (void)read_answer(copy, sizeof(answer) - 1);
            ck_assert_uint_le(found.count, OTP_ADDRESSES_MAX);
        }
    }
}
END_TEST

/* ---- the resolver ---- */

static int server = -1;
static int listener = -1; /* over TCP, at the same port */
static char conf_path[64];
static struct otp_resolver resolver;

static void write_conf(const char *rest)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof(a);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server = socket(AF_INET, SOCK_DGRAM, 0);
    ck_assert_int_ge(server, 0);
    ck_assert_int_eq(bind(server, (const struct sockaddr *)&a, sizeof(a)), 0);
    ck_assert_int_eq(getsockname(server, (struct sockaddr *)&a, &len), 0);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&a, sizeof(a)), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    snprintf(conf_path, sizeof(conf_path), "/tmp/otp-resolv-%d", getpid());
    FILE *f = fopen(conf_path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "# a comment\nnameserver [127.0.0.1]:%u\n%s\n", ntohs(a.sin_port), rest);
    fclose(f);
}

static void tear_down(void)
{
    otp_resolver_stop(&resolver);
    if (server >= 0) {
        close(server);
        close(listener);
        unlink(conf_path);
    }
}

static enum otp_status start(const char *host)
{
    found.count = 0;
    return otp_resolver_start(&resolver, otp_text_of(host), 99, "/nonexistent", conf_path, &found);
}

/* Checks the question of n bytes at m and makes it the answer: code 0 with an address, else the
 * code; its length. */
static size_t make_answer(unsigned char *m, ssize_t n, const char *want_name, unsigned type,
                          unsigned code)
{
    char name[300] = "";
    ck_assert_int_gt(n, 16);
    for (size_t pos = 12; m[pos] != 0; pos += m[pos] + 1U) {
        snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s%.*s", pos > 12 ? "." : "",
                 (int)m[pos], (const char *)m + pos + 1);
    }
    ck_assert_str_eq(name, want_name);
    ck_assert_uint_eq(m[n - 3], type);
    m[2] = 0x81;
    m[3] = (unsigned char)(0x80 | (code & 0xf));
    size_t len = (size_t)n;
    size_t data = type == OTP_DNS_TYPE_A ? 4 : 16;
    if (code == 0) {
        m[7] = 1;
        memcpy(m + len, "\xc0\x0c\0", 3);
        m[len + 3] = (unsigned char)type;
        memcpy(m + len + 4, "\0\1\0\0\0\5\0", 7);
        m[len + 11] = (unsigned char)data;
        memset(m + len + 12, (int)type, data);
        len += 12 + data;
    }
    return len;
}

#define CUT 16U /* an answer without addresses that says it is cut */

/* Takes the next question and answers it. */
static void serve(const char *want_name, unsigned type, unsigned code)
{
    unsigned char m[OTP_DNS_MESSAGE_MAX];
    struct sockaddr_in from;
    socklen_t from_len = sizeof(from);
    struct pollfd p = {.fd = server, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
    ssize_t n = recvfrom(server, m, sizeof(m), 0, (struct sockaddr *)&from, &from_len);
    size_t len = make_answer(m, n, want_name, type, code);
    if (code == CUT) {
        m[2] |= 2;
    }
    sendto(server, m, len, 0, (const struct sockaddr *)&from, from_len);
}

static enum otp_status next(void)
{
    struct pollfd p = {.fd = resolver.fd.fd, .events = otp_resolver_wants(&resolver)};
    (void)poll(&p, 1, PATIENCE_MS);
    return otp_resolver_turn(&resolver, &found);
}

START_TEST(test_both_kinds_of_addresses)
{
    write_conf("search one.test two.test\noptions ndots:2 timeout:9");
    ck_assert_int_eq((int)start("a.b.c"), OTP_AGAIN);
    serve("a.b.c", OTP_DNS_TYPE_A, 0);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    serve("a.b.c", OTP_DNS_TYPE_AAAA, 0);
    ck_assert_int_eq((int)next(), OTP_OK);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_uint_eq(found.items[0].to.any.sa_family, AF_INET);
    ck_assert_uint_eq(found.items[1].to.any.sa_family, AF_INET6);
    ck_assert_uint_eq(ntohs(found.items[1].to.in6.sin6_port), 99);
}
END_TEST

START_TEST(test_search_list)
{
    write_conf("search one.test two.test\noptions ndots:2");
    ck_assert_int_eq((int)start("h.x"), OTP_AGAIN);
    serve("h.x.one.test", OTP_DNS_TYPE_A, 3);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    serve("h.x.two.test", OTP_DNS_TYPE_A, 3);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    serve("h.x", OTP_DNS_TYPE_A, 3);
    ck_assert_int_eq((int)next(), OTP_NOT_FOUND);
}
END_TEST

START_TEST(test_a_complete_name_is_not_searched)
{
    write_conf("search one.test");
    ck_assert_int_eq((int)start("h."), OTP_AGAIN);
    serve("h", OTP_DNS_TYPE_A, 3);
    ck_assert_int_eq((int)next(), OTP_NOT_FOUND);
}
END_TEST

START_TEST(test_a_failing_server_is_asked_again_and_then_given_up)
{
    write_conf("options attempts:2");
    ck_assert_int_eq((int)start("a.b"), OTP_AGAIN);
    serve("a.b", OTP_DNS_TYPE_A, 2);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    serve("a.b", OTP_DNS_TYPE_A, 2);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    serve("a.b", OTP_DNS_TYPE_AAAA, 2);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    serve("a.b", OTP_DNS_TYPE_AAAA, 2);
    ck_assert_int_eq((int)next(), OTP_IO);
}
END_TEST

START_TEST(test_a_server_that_is_not_there)
{
    write_conf("options attempts:1");
    close(server);
    enum otp_status status = start("a.b");
    uint64_t end = otp_sys_monotonic_ns() + PATIENCE_MS * UINT64_C(1000000);
    while (status == OTP_AGAIN && otp_sys_monotonic_ns() < end) {
        status = next();
    }
    ck_assert_int_eq((int)status, OTP_IO);
}
END_TEST

/* Takes the question over TCP and answers it in pieces; claimed: the length that is said, 0: its
 * own. */
static int serve_tcp(const char *want_name, unsigned type, size_t claimed)
{
    unsigned char m[2 + OTP_DNS_MESSAGE_MAX];
    struct pollfd p = {.fd = listener, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)next(), OTP_AGAIN); /* now the question goes out */
    ssize_t n = recv(fd, m, sizeof(m), 0);
    ck_assert_int_gt(n, 18);
    ck_assert_int_eq(m[0] << 8 | m[1], n - 2);
    size_t len = make_answer(m + 2, n - 2, want_name, type, 0);
    claimed = claimed == 0 ? len : claimed;
    m[0] = (unsigned char)(claimed >> 8);
    m[1] = (unsigned char)claimed;
    for (size_t i = 0; i < len + 2; i++) {
        ck_assert_int_eq(send(fd, m + i, 1, MSG_NOSIGNAL), 1);
        if (i < len + 1) {
            ck_assert_int_eq((int)next(), OTP_AGAIN);
        }
    }
    return fd;
}

START_TEST(test_an_answer_without_room_is_asked_for_over_tcp)
{
    write_conf("");
    ck_assert_int_eq((int)start("a.b"), OTP_AGAIN);
    serve("a.b", OTP_DNS_TYPE_A, CUT);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    ck_assert_int_eq(otp_resolver_wants(&resolver), POLLOUT);
    int fd = serve_tcp("a.b", OTP_DNS_TYPE_A, 0);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    serve("a.b", OTP_DNS_TYPE_AAAA, 3); /* over UDP again */
    ck_assert_int_eq((int)next(), OTP_OK);
    ck_assert_uint_eq(found.count, 1);
    close(fd);
}
END_TEST

/* A server that closes, or says that its answer is longer than anybody reads, costs a try. */
START_TEST(test_bad_answers_over_tcp)
{
    write_conf("options attempts:1");
    ck_assert_int_eq((int)start("a.b"), OTP_AGAIN);
    serve("a.b", OTP_DNS_TYPE_A, CUT);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    int fd = serve_tcp("a.b", OTP_DNS_TYPE_A, 65535);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    static unsigned char noise[OTP_RESOLVER_TCP_MAX];
    ck_assert_int_gt(send(fd, noise, sizeof(noise), MSG_NOSIGNAL), 0);
    ck_assert_int_eq((int)next(), OTP_AGAIN); /* its address is taken, and AAAA asked for */
    ck_assert_uint_eq(found.count, 1);
    close(fd);
    serve("a.b", OTP_DNS_TYPE_AAAA, CUT);
    ck_assert_int_eq((int)next(), OTP_AGAIN);
    struct pollfd p = {.fd = listener, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
    close(accept(listener, NULL, NULL));
    enum otp_status status = OTP_AGAIN;
    for (int i = 0; i < 100 && status == OTP_AGAIN; i++) {
        status = next();
    }
    ck_assert_int_eq((int)status, OTP_OK);
    ck_assert_uint_eq(found.count, 1);
}
END_TEST

START_TEST(test_names_that_are_none)
{
    conf_path[0] = '\0';
    ck_assert_int_eq((int)start(""), OTP_INVALID);
    ck_assert_int_eq((int)start("."), OTP_INVALID);
    ck_assert_int_eq((int)start("a:b"), OTP_INVALID);
    ck_assert_int_eq((int)start("127.0.0.1"), OTP_OK);
    ck_assert_int_eq((int)start("localhost"), OTP_OK);
    ck_assert_uint_eq(found.count, 2);
}
END_TEST

START_TEST(test_conf_is_bounded)
{
    struct otp_resolver_conf c;
    snprintf(conf_path, sizeof(conf_path), "/tmp/otp-resolv-%d", getpid());
    FILE *f = fopen(conf_path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("nameserver 1.1.1.1\nnameserver bad\nnameserver ::1\nnameserver 2.2.2.2\n"
          "nameserver 3.3.3.3\noptions ndots:999 timeout:999 attempts:0 x\n"
          "search a b c d e f g h\n",
          f);
    fclose(f);
    otp_resolver_read_conf(&c, conf_path);
    unlink(conf_path);
    ck_assert_uint_eq(c.servers.count, 3);
    ck_assert_uint_eq(c.search_count, OTP_RESOLVER_SEARCH_MAX);
    ck_assert_uint_eq(c.ndots, 15);
    ck_assert_uint_eq(c.timeout_ns, 10 * UINT64_C(1000000000));
    ck_assert_uint_eq(c.attempts, 1);
    otp_resolver_read_conf(&c, "/nonexistent");
    ck_assert_uint_eq(c.servers.count, 1);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("export_dns");
    TCase *t = tcase_create("all");
    resolver.fd = OTP_FD_NONE;
    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_test(t, test_question);
    tcase_add_test(t, test_good_answer);
    tcase_add_test(t, test_foreign_answers);
    tcase_add_test(t, test_broken_answers);
    tcase_add_test(t, test_both_kinds_of_addresses);
    tcase_add_test(t, test_search_list);
    tcase_add_test(t, test_a_complete_name_is_not_searched);
    tcase_add_test(t, test_a_failing_server_is_asked_again_and_then_given_up);
    tcase_add_test(t, test_a_server_that_is_not_there);
    tcase_add_test(t, test_an_answer_without_room_is_asked_for_over_tcp);
    tcase_add_test(t, test_bad_answers_over_tcp);
    tcase_add_test(t, test_names_that_are_none);
    tcase_add_test(t, test_conf_is_bounded);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return unit_run(make_suite());
}
