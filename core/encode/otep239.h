/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder of OTEP-0239's form: resources and scopes as in OTLP, below them containers, each
 * with a pprof-like profile that holds all of its tables. Profiles of equal period, attributes and
 * range are the columns of one container. What is written, and why, is in docs/FORMATS.md.
 */
#ifndef OTP_ENCODE_OTEP239_H
#define OTP_ENCODE_OTEP239_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/envelope_options.h"
#include "core/encode/visitor.h"

struct otp_otep239_options {
    struct otp_envelope_options envelope; /* the first one */
    bool keep_empty;                      /* types without samples, see otlp.h */
    bool keep_mappings;                   /* mappings without samples */
    bool keep_attrs;                      /* attributes that were told and not used */
    size_t max_string_bytes;              /* longer texts are cut between characters; 0: 65536 */
    /* Source of profile ids; NULL: random ones. */
    void (*make_id)(void *arg, uint8_t out_id[16]);
    void *make_id_arg;
};

struct otp_otep239_builder;

/* The calls are those of otlp.h, with the same errors. Context: worker. */
enum otp_status otp_otep239_builder_create(struct otp_heap *heap,
                                           const struct otp_otep239_options *options,
                                           struct otp_otep239_builder **out_builder) OTP_MUST_CHECK;
/* Frees b (may be NULL) and all it holds. */
void otp_otep239_builder_destroy(struct otp_otep239_builder *b);
/* The visitor that feeds b; lives as long as b, any number of visits. */
struct otp_visitor *otp_otep239_builder_visitor(struct otp_otep239_builder *b);
/* Begins another resource or scope for the profiles told from now on. */
enum otp_status
otp_otep239_builder_envelope(struct otp_otep239_builder *b,
                             const struct otp_envelope_options *options) OTP_MUST_CHECK;
/* Appends the message of all visits so far to out; on failure nothing is appended. */
enum otp_status otp_otep239_builder_finish(struct otp_otep239_builder *b,
                                           struct otp_buf *out) OTP_MUST_CHECK;
/* Forgets all profiles and samples and keeps what was named. */
void otp_otep239_builder_clear(struct otp_otep239_builder *b);

#endif
