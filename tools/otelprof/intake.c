/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/input.h"
#include "core/decode/unpack.h"
#include "tools/otelprof/jsonout.h"

/* The bytes of the message, unpacked as its sender says; *out is from malloc. */
static enum otp_intake unpack(const struct otp_intake_message *m, struct otp_unpacked *out,
                              char *why)
{
    static const enum otp_packing packings[] = {OTP_UNPACKED, OTP_GZIP, OTP_ZSTD};
    enum otp_packing said = packings[m->packing];

    memset(out, 0, sizeof(*out));
    if (said == OTP_UNPACKED) {
        out->bytes = malloc(m->size + 1);
        out->size = m->size;
        if (out->bytes == NULL) {
            (void)snprintf(why, OTP_STORE_PATH, "no memory");
            return OTP_INTAKE_FAILED;
        }
        memcpy(out->bytes, m->bytes, m->size);
        return OTP_INTAKE_STORED;
    }
    if (otp_packing_of(m->bytes, m->size) != said) {
        (void)snprintf(why, OTP_STORE_PATH, "the body is not packed as its encoding says");
        return OTP_INTAKE_MALFORMED;
    }
    enum otp_status status = otp_unpack(m->bytes, m->size, OTP_INTAKE_UNPACKED_MAX, out);
    if (status == OTP_OK) {
        return OTP_INTAKE_STORED;
    }
    (void)snprintf(why, OTP_STORE_PATH, "%s", out->reason);
    return status == OTP_TOO_LARGE   ? OTP_INTAKE_TOO_LARGE
           : status == OTP_NO_MEMORY ? OTP_INTAKE_FAILED
                                     : OTP_INTAKE_MALFORMED;
}

static void tell_json(const struct otp_profiles *m, const char *peer, const char *path,
                      enum otp_stored stored)
{
    struct otp_jsonout j;

    otp_jsonout_begin_row(&j, stdout);
    otp_jsonout_string(&j, "event", stored == OTP_STORED ? "stored" : "there_already");
    otp_jsonout_string(&j, "file", path);
    otp_jsonout_uint(&j, "bytes", m->size);
    otp_jsonout_uint(&j, "profiles", m->profiles.count);
    otp_jsonout_string(&j, "from", peer);
    otp_jsonout_end(&j);
}

static enum otp_intake store(struct otp_store *store, const struct otp_profiles *m,
                             const char *peer, char *why)
{
    if (m->profiles.count == 0) {
        return OTP_INTAKE_EMPTY;
    }
    enum otp_stored stored = otp_store_add(store, m, why);
    if (stored == OTP_NOT_STORED) {
        return OTP_INTAKE_FAILED;
    }
    store->again += stored == OTP_STORED_BEFORE;
    if (store->is_json) {
        tell_json(m, peer, why, stored);
    } else if (stored == OTP_STORED) {
        (void)printf("%s: %u bytes, %u profiles, from %s\n", why, (unsigned)m->size,
                     (unsigned)m->profiles.count, peer);
    } else {
        (void)printf("%s: there already, sent again by %s\n", why, peer);
    }
    (void)fflush(stdout);
    return OTP_INTAKE_STORED;
}

enum otp_intake otp_intake_take(struct otp_store *s, const struct otp_intake_message *m, char *why)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;
    struct otp_unpacked plain;
    enum otp_intake result = unpack(m, &plain, why);

    if (result != OTP_INTAKE_STORED) {
        return result;
    }
    if (plain.size == 0 && !m->is_json) {
        free(plain.bytes);
        return OTP_INTAKE_EMPTY;
    }
    struct otp_input in = {.name = m->peer,
                           .bytes = plain.bytes,
                           .size = plain.size,
                           .only = m->is_json ? OTP_ONLY_JSON : OTP_ONLY_OTLP,
                           .with_verify = true};
    otp_profile_set_init(&set);
    enum otp_status status = otp_profile_set_add(&set, &in, &fault);
    if (status != OTP_OK) {
        (void)snprintf(why, OTP_STORE_PATH,
                       "a message of %zu bytes is not a profile: offset %llu: %s", m->size,
                       (unsigned long long)fault.off, fault.reason);
        result = status == OTP_NO_MEMORY ? OTP_INTAKE_FAILED : OTP_INTAKE_MALFORMED;
    } else if (set.message_count != 1) { /* one text behind the other */
        (void)snprintf(why, OTP_STORE_PATH, "a message is not one bare ProfilesData");
        result = OTP_INTAKE_MALFORMED;
    } else {
        result = store(s, set.messages[0], m->peer, why);
    }
    otp_profile_set_fini(&set);
    return result;
}
