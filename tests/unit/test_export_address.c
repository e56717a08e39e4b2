/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses from text: tables, and a differential test against libc's inet_pton(). */
#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/export/address.h"
#include "tests/unit/run.h"

static const struct {
    const char *text;
    const char *host; /* NULL: refused */
    unsigned port;
} splits[] = {
    {"localhost:4317", "localhost", 4317},
    {"127.0.0.1:1", "127.0.0.1", 1},
    {"[::1]:65535", "::1", 65535},
    {"a:080", "a", 80},
    {"h:0", NULL, 0},
    {"h:65536", NULL, 0},
    {"h:", NULL, 0},
    {"h", NULL, 0},
    {":1", NULL, 0},
    {"", NULL, 0},
    {":", NULL, 0},
    {"::1:80", NULL, 0},
    {"[::1]", NULL, 0},
    {"[]:80", NULL, 0},
    {"[::1:80", NULL, 0},
    {"h:+1", NULL, 0},
    {"h:1 ", NULL, 0},
};

START_TEST(test_split)
{
    struct otp_text host;
    uint16_t port;
    bool is_good = otp_address_split(otp_text_of(splits[_i].text), &host, &port);
    ck_assert_msg(is_good == (splits[_i].host != NULL), "%s", splits[_i].text);
    if (is_good) {
        ck_assert_uint_eq(port, splits[_i].port);
        ck_assert_uint_eq(host.len, strlen(splits[_i].host));
        ck_assert_int_eq(memcmp(host.data, splits[_i].host, host.len), 0);
    }
}
END_TEST

static const char *const numeric[] = {
    "0.0.0.0",
    "255.255.255.255",
    "256.1.1.1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.",
    ".1.2.3.4",
    "01.2.3.4",
    "1..2.3",
    "1.2.3.4 ",
    "::",
    "::1",
    "1::",
    "1::2",
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7::",
    "::2:3:4:5:6:7:8",
    "1::2::3",
    ":::",
    ":1",
    "1:",
    "12345::",
    "g::",
    "::ffff:1.2.3.4",
    "::1.2.3",
    "1.2.3.4::",
    "1:2:3:4:5:6:1.2.3.4",
    "1:2:3:4:5:6:7:1.2.3.4",
    "::1.2.3.4.5",
    "FE80::aBcD",
    "::1%lo",
    "",
    ":",
    "1",
    "0:0:0:0:0:0:0:0:",
    "::1:",
    "1:2:3:4:5:6::1.2.3.4",
    "1:2:3:4:5::1.2.3.4",
};

/* libc's answer is the truth. */
static bool compare(const char *text)
{
    unsigned char want[16];
    struct otp_address got;
    bool is_v4 = inet_pton(AF_INET, text, want) == 1;
    bool is_v6 = !is_v4 && inet_pton(AF_INET6, text, want) == 1;
    bool is_good = otp_address_parse(otp_text_of(text), 0x1234, &got);
    if (is_good != (is_v4 || is_v6)) {
        ck_abort_msg("%s: %d", text, is_good);
    }
    if (!is_good) {
        return false;
    }
    const void *bytes = is_v4 ? (const void *)&got.to.in.sin_addr : &got.to.in6.sin6_addr;
    if (got.to.any.sa_family != (is_v4 ? AF_INET : AF_INET6) ||
        memcmp(bytes, want, is_v4 ? 4 : 16) != 0 ||
        (is_v4 ? got.to.in.sin_port : got.to.in6.sin6_port) != htons(0x1234)) {
        ck_abort_msg("%s: not the same address", text);
    }
    return true;
}

START_TEST(test_numeric_addresses)
{
    (void)compare(numeric[_i]);
}
END_TEST

/* Texts of likely pieces, so that many of them are addresses. */
START_TEST(test_numeric_addresses_agree_with_libc)
{
    static const char *const pieces[] = {":",   "::",  "1", "ab",    "0",   "ffff", "1.2",   ".",
                                         "3.4", "255", "g", "00001", "::1", "1:2",  "3:4:5", "6:7"};
    unsigned seed = 7919;
    int good = 0;
    for (int round = 0; round < 300000; round++) {
        char text[64] = "";
        size_t len = 0;
        for (int n = rand_r(&seed) % 9; n > 0; n--) {
            const char *piece = pieces[(size_t)rand_r(&seed) % OTP_ARRAY_LEN(pieces)];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
        }
        good += compare(text);
    }
    ck_assert_int_gt(good, 1000);
}
END_TEST

static char path[64];

static void write_hosts(const char *text)
{
    snprintf(path, sizeof(path), "/tmp/otp-hosts-%d", getpid());
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void assert_found(const char *host, const char *const *want, size_t count)
{
    struct otp_addresses all;
    enum otp_status status = otp_address_find(otp_text_of(host), 80, path, &all);
    ck_assert_int_eq((int)status, (int)(count == 0 ? OTP_NOT_FOUND : OTP_OK));
    ck_assert_uint_eq(all.count, count);
    for (size_t i = 0; i < count; i++) {
        char text[INET6_ADDRSTRLEN];
        const struct otp_address *a = &all.items[i];
        bool is_v4 = a->to.any.sa_family == AF_INET;
        ck_assert_uint_eq(a->len, is_v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        inet_ntop(a->to.any.sa_family,
                  is_v4 ? (const void *)&a->to.in.sin_addr : &a->to.in6.sin6_addr, text,
                  sizeof(text));
        ck_assert_str_eq(text, want[i]);
    }
}

START_TEST(test_hosts_file)
{
    write_hosts("# comment 9.9.9.9 box\n"
                "10.0.0.1\tbox box.example\r\n"
                "   10.0.0.2   other  Box   # 9.9.9.8\n"
                "10.0.0.1 box\n"
                "nonsense box\n"
                "fd00::7 box\n"
                "10.0.0.3 #box\n"
                "10.0.0.4 boxes bo x\n"
                "10.0.0.5 last");
    assert_found("box", (const char *const[]){"10.0.0.1", "10.0.0.2", "fd00::7"}, 3);
    assert_found("BOX.example", (const char *const[]){"10.0.0.1"}, 1);
    assert_found("last", (const char *const[]){"10.0.0.5"}, 1);
    assert_found("none", NULL, 0);
    assert_found("10.0.0.9", (const char *const[]){"10.0.0.9"}, 1);
    assert_found("localhost", (const char *const[]){"127.0.0.1", "::1"}, 2);
    unlink(path);
    assert_found("localhost", (const char *const[]){"127.0.0.1", "::1"}, 2);
    assert_found("box", NULL, 0);
}
END_TEST

/* A hosts file of any bytes, of long lines, of many addresses: bounded, and no harm. */
START_TEST(test_hostile_hosts_files)
{
    static char text[40000];
    size_t len = 0;
    for (int i = 0; i < 100; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "10.0.1.%d box\n", i);
    }
    memset(text + len, 'x', 5000);
    len += 5000;
    snprintf(text + len, sizeof(text) - len, " 10.0.0.1 late\n10.0.0.2 after\n");
    write_hosts(text);
    struct otp_addresses all;
    ck_assert_int_eq((int)otp_address_find(otp_text_of("box"), 80, path, &all), OTP_OK);
    ck_assert_uint_eq(all.count, OTP_ADDRESSES_MAX);
    assert_found("late", NULL, 0);
    assert_found("after", (const char *const[]){"10.0.0.2"}, 1);

    unsigned seed = 31;
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        text[i] = (char)(1 + rand_r(&seed) % 255);
    }
    write_hosts(text);
    assert_found("box", NULL, 0);
    unlink(path);
    snprintf(path, sizeof(path), "/dev/zero");
    assert_found("box", NULL, 0);
    snprintf(path, sizeof(path), "/tmp");
    assert_found("box", NULL, 0);
}
END_TEST

START_TEST(test_unix_addresses)
{
    static char longest[108];
    struct otp_address a;
    memset(longest, 'p', sizeof(longest));
    ck_assert(otp_address_unix(otp_text_make(longest, 107), &a));
    ck_assert_uint_eq(a.len, sizeof(struct sockaddr_un));
    ck_assert(!otp_address_unix(otp_text_make(longest, 108), &a));
    ck_assert(!otp_address_unix(otp_text_of(""), &a));
    ck_assert(otp_address_unix(otp_text_of("@ab"), &a));
    ck_assert_uint_eq(a.len, offsetof(struct sockaddr_un, sun_path) + 3);
    ck_assert_int_eq(memcmp(a.to.un.sun_path, "\0ab", 3), 0);
    ck_assert(otp_address_unix(otp_text_of("/s"), &a));
    ck_assert_uint_eq(a.len, offsetof(struct sockaddr_un, sun_path) + 3);
    ck_assert_str_eq(a.to.un.sun_path, "/s");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export_address");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, test_split, 0, (int)OTP_ARRAY_LEN(splits));
    tcase_add_loop_test(all, test_numeric_addresses, 0, (int)OTP_ARRAY_LEN(numeric));
    tcase_add_test(all, test_numeric_addresses_agree_with_libc);
    tcase_add_test(all, test_hosts_file);
    tcase_add_test(all, test_hostile_hosts_files);
    tcase_add_test(all, test_unix_addresses);
    suite_add_tcase(suite, all);

    return unit_run(suite);
}
