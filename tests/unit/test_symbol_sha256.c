/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 with the examples of FIPS 180-2 appendix B and the NIST short and long message tests. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"
#include "core/symbol/sha256.h"
#include "tests/unit/run.h"

/* Adds the message in pieces of at most step bytes. */
static void expect(const void *data, size_t len, size_t step, const char *hex)
{
    struct otp_sha256 s;
    unsigned char digest[OTP_SHA256_SIZE];
    char text[2 * OTP_SHA256_SIZE + 1] = {0};

    otp_sha256_init(&s);
    for (size_t done = 0; done < len;) {
        size_t n = len - done < step ? len - done : step;
        otp_sha256_add(&s, (const char *)data + done, n);
        done += n;
    }
    otp_sha256_finish(&s, digest);
    otp_fmt_hex_bytes(text, digest, sizeof(digest));
    ck_assert_str_eq(text, hex);
}

START_TEST(test_vectors)
{
    static const struct {
        const char *message;
        const char *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
        {"\xc9\x8c\x8e\x55", "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].message);
        expect(cases[i].message, len, 1, cases[i].hex);
        expect(cases[i].message, len, 1000, cases[i].hex);
    }
}
END_TEST

START_TEST(test_long)
{
    size_t len = 1000000;
    char *message = malloc(len);
    memset(message, 'a', len);
    expect(message, len, 999, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    memset(message, 0, len);
    expect(message, 55, 64, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
    expect(message, 56, 64, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
    expect(message, 57, 64, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
    expect(message, 64, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
    expect(message, 1000, 64, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
    free(message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbol_sha256");
    TCase *all = tcase_create("vectors");
    tcase_add_test(all, test_vectors);
    tcase_add_test(all, test_long);
    suite_add_tcase(suite, all);
    return unit_run(suite);
}
