/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTLP builder: takes a visit and gives one self-contained ProfilesData (profiles
 * v1development, the wire of proto 1.10 and 1.11), which is at the same time the body of an export
 * request.
 *
 * One request is one dictionary. What a visit names gets into the dictionary only when a sample
 * that is really written refers to it; so naming costs memory here but never a byte on the wire.
 * What exactly is written, and why, is in docs/FORMATS.md.
 */
#ifndef OTP_ENCODE_OTLP_H
#define OTP_ENCODE_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/encode/envelope_options.h"
#include "core/encode/visitor.h"

/* What entry 0 of the link table looks like. */
enum otp_link0 {
    OTP_LINK0_EMPTY, /* an empty message, what the checkers and receivers of today want */
    OTP_LINK0_ZEROS  /* 16 and 8 zero bytes, the wording of the format */
};

struct otp_otlp_options {
    const struct otp_attr
        *resource_attrs; /* units are not written; the last of equal keys counts */
    size_t resource_attr_count;
    struct otp_text resource_schema_url; /* may be empty, as all texts here */
    struct otp_text scope_name;
    struct otp_text scope_version;
    const struct otp_attr *scope_attrs;
    size_t scope_attr_count;
    struct otp_text scope_schema_url;
    enum otp_link0 link0;
    /* Leave the sample count out when the profile of the period type says it as well. */
    bool fold_counts;
    /* Write values even where all of a profile's observations have a time and the value 1. */
    bool keep_ones;
    /* Converters keep what their source says although no sample needs it: types without samples,
     * and mappings. */
    bool keep_empty;
    bool keep_mappings;
    /* Order locations, stacks and samples so that the message packs well, not as they were told. */
    bool compact;
    /* Write attributes of resource and scope as references to the string table, as the format
     * allows and not all receivers of today resolve. */
    bool refer;
    size_t max_string_bytes; /* longer texts are cut between characters; 0: 65536 */
    /* Source of profile ids, for tests; NULL: random ones. */
    void (*make_id)(void *arg, uint8_t out_id[16]);
    void *make_id_arg;
};

struct otp_otlp_builder;

/*
 * A builder that takes all its memory from heap (borrowed, must outlive it). Everything in options
 * is copied. OTP_NO_MEMORY, or OTP_INVALID for an attribute nested too deeply. Context: worker.
 */
enum otp_status otp_otlp_builder_create(struct otp_heap *heap,
                                        const struct otp_otlp_options *options,
                                        struct otp_otlp_builder **out_builder) OTP_MUST_CHECK;
/* Frees b (may be NULL) and all it holds. */
void otp_otlp_builder_destroy(struct otp_otlp_builder *b);
/* The visitor that feeds b; lives as long as b, any number of visits. */
struct otp_visitor *otp_otlp_builder_visitor(struct otp_otlp_builder *b);
/*
 * Begins another resource or scope: profiles told from now on are of that one. Those of equal
 * resources are put together when they are told one after the other. OTP_INVALID: inside a profile;
 * OTP_NO_MEMORY. Errors are sticky.
 */
enum otp_status
otp_otlp_builder_envelope(struct otp_otlp_builder *b,
                          const struct otp_envelope_options *options) OTP_MUST_CHECK;
/*
 * Appends the ProfilesData of all visits so far to out. Changes nothing in b, so it may be called
 * again, with the same bytes, or after more visits.
 * OTP_NOT_FOUND: no profile is left, nothing is appended. OTP_INVALID: a profile is still open.
 * OTP_NO_MEMORY, OTP_TOO_LARGE (max of out): nothing is appended. A failed visit: its status.
 */
enum otp_status otp_otlp_builder_finish(struct otp_otlp_builder *b,
                                        struct otp_buf *out) OTP_MUST_CHECK;
/*
 * As otp_otlp_builder_finish, but with one profile alone, the number-th (from 1) of the whole
 * message, and only the dictionary that it needs: for receivers with a limit. OTP_NOT_FOUND: there
 * are fewer.
 */
enum otp_status otp_otlp_builder_finish_part(struct otp_otlp_builder *b, size_t number,
                                             struct otp_buf *out) OTP_MUST_CHECK;
/*
 * Forgets all profiles and samples and keeps what was named: ids handed out stay valid, so that one
 * builder can serve every flush of a process. A failed builder stays failed.
 */
void otp_otlp_builder_clear(struct otp_otlp_builder *b);

#endif
