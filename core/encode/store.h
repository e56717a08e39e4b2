/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving half of every builder: a visitor that interns names (dict.h) and merges samples
 * (group.h). A builder embeds one and writes its format from it. Knows no format.
 */
#ifndef OTP_ENCODE_STORE_H
#define OTP_ENCODE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/dict.h"
#include "core/encode/envelope.h"
#include "core/encode/group.h"
#include "core/encode/visitor.h"

#define OTP_STORE_MAX_STRING ((size_t)65536)

struct otp_store {
    struct otp_visitor visitor; /* first: a visitor that is given back to us is the store */
    enum otp_status status;     /* of the visit; sticky */
    struct otp_dict dict;
    struct otp_group *groups; /* as told */
    struct otp_group **tail;
    struct otp_group *open; /* between begin_profile and end_profile */
    size_t group_count;
    struct otp_envelope *envelopes; /* groups name theirs by number */
    size_t envelope_count;
    void (*make_id)(void *arg, uint8_t out_id[16]);
    void *make_id_arg;
};

struct otp_store_options {
    size_t max_string_bytes;                        /* 0: OTP_STORE_MAX_STRING */
    void (*make_id)(void *arg, uint8_t out_id[16]); /* NULL: random */
    void *make_id_arg;
};

/* An empty store; it must not move afterwards. After OTP_NO_MEMORY otp_store_fini may be called.
 * Context: worker. */
enum otp_status otp_store_init(struct otp_store *s, struct otp_heap *heap,
                               const struct otp_store_options *options);
/* Frees everything. */
void otp_store_fini(struct otp_store *s);
/* Begins another envelope for the profiles that are told from now on. OTP_INVALID: inside a
 * profile. Errors are sticky. */
enum otp_status otp_store_envelope(struct otp_store *s, const struct otp_envelope_options *o);
/* Forgets profiles and samples; names and envelopes stay. */
void otp_store_clear(struct otp_store *s);

/* How a buffer was before a message was appended to it. */
struct otp_finish {
    size_t len;
    size_t refused;
};

/*
 * What every builder does around writing: the first call refuses a store that failed or has a
 * profile open (its status, OTP_INVALID) and a buffer that failed (OTP_NO_MEMORY); the second gives
 * the status of it all and takes back what was appended when that is not OTP_OK. Context: worker.
 */
enum otp_status otp_store_begin_finish(const struct otp_store *s, const struct otp_buf *out,
                                       struct otp_finish *f) OTP_MUST_CHECK;
enum otp_status otp_store_end_finish(const struct otp_finish *f, struct otp_buf *out,
                                     enum otp_status status) OTP_MUST_CHECK;

#endif
