/* SPDX-License-Identifier: Apache-2.0 */
/* For the fuzz targets of decoders that write OTLP: what they accept, the OTLP decoder accepts. */
#ifndef OTP_TESTS_FUZZ_TRANSLATE_H
#define OTP_TESTS_FUZZ_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/emit.h"
#include "core/decode/otlp.h"
#include "core/decode/profiles.h"
#include "tests/fuzz/target.h"

#define BUDGET ((uint64_t)256 << 20)
#define OUT_MAX ((size_t)256 << 20)

static inline void read_back(struct otp_translation *t)
{
    struct otp_wire_fault fault = {.reason = NULL};
    struct otp_bad_index bad;
    struct otp_profiles m;

    memset(&m, 0, sizeof(m));
    m.bytes = t->out.data;
    m.size = (uint32_t)t->out.len;
    require(otp_profiles_init(&m, (uint64_t)2 << 30));
    /* Parts that are copied as they are may be refused now. */
    require(otp_otlp_decode(&m, true, false, NULL, &fault) == OTP_OK || fault.reason != NULL);
    if (fault.reason != NULL) {
        otp_profiles_fini(&m);
        return;
    }
    (void)otp_profiles_verify(&m, &bad); /* some formats leave that to the message */
    otp_profiles_fini(&m);
}

/* Decodes data; what comes of it must be a message that can be decoded. */
static inline void fuzz_translate(enum otp_status (*decode)(const uint8_t *data, size_t len,
                                                            struct otp_translation *t),
                                  const uint8_t *data, size_t size)
{
    struct otp_translation t = {.budget_bytes = BUDGET};

    if (size == 0) {
        return;
    }
    otp_emit_init(&t.out, OUT_MAX);
    if (decode(data, size, &t) == OTP_OK) {
        require(t.used > 0 && t.used <= size);
        if (t.out.len > 0) {
            read_back(&t);
        }
    } else {
        require(t.fault.reason != NULL);
        require(t.fault.at >= data && t.fault.at <= data + size);
    }
    otp_emit_fini(&t.out);
}

#endif
