/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pprof builder: takes a visit and gives one profile.proto message (uncompressed; a pprof file
 * is that, gzipped).
 *
 * A pprof profile has one list of samples with a value for each of its types. So all profiles of
 * all visits become columns of one message: samples of equal stack, attributes and link are one
 * sample, with 0 where one of the profiles does not have it. How the words of a visit map to pprof,
 * and what pprof has no place for, is in docs/FORMATS.md.
 */
#ifndef OTP_ENCODE_PPROF_H
#define OTP_ENCODE_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/encode/visitor.h"

struct otp_pprof_options {
    /* pprof.scope.default_sample_type and pprof.scope.sample_type_order count, others do not. */
    const struct otp_attr *scope_attrs;
    size_t scope_attr_count;
    /* What of it tells the process becomes a comment, with what wrote the profile; see
     * docs/FORMATS.md. May be empty. */
    const struct otp_attr *resource_attrs;
    size_t resource_attr_count;
    struct otp_text scope_name;
    struct otp_text scope_version;
    /* Name of the default type where the scope says neither default nor order and the profile has
     * it; may be empty: then readers take the last type. */
    struct otp_text default_type;
    /* File of the main program: its mapping comes first. May be empty: mappings stay as told. */
    struct otp_text main_file;
    /* Key of a label with the time of each observation (Unix, nanoseconds). Empty: no such label,
     * and observations add up. */
    struct otp_text timestamp_label;
    /* Say of a mapping without pprof attributes what its locations have (names, files, lines). */
    bool mark_symbols;
    bool keep_empty;    /* types without samples, see otlp.h */
    bool keep_mappings; /* mappings without samples */
    /* The message is made once, and nothing is told afterwards: what samples take is given back
     * while it is made. */
    bool once;
    size_t max_string_bytes; /* longer texts are cut between characters; 0: 65536 */
};

struct otp_pprof_builder;

/*
 * A builder that takes all its memory from heap (borrowed, must outlive it). Everything in options
 * is copied. OTP_NO_MEMORY, or OTP_INVALID for an attribute nested too deeply. Context: worker.
 */
enum otp_status otp_pprof_builder_create(struct otp_heap *heap,
                                         const struct otp_pprof_options *options,
                                         struct otp_pprof_builder **out_builder) OTP_MUST_CHECK;
/* Frees b (may be NULL) and all it holds. */
void otp_pprof_builder_destroy(struct otp_pprof_builder *b);
/* The visitor that feeds b; lives as long as b, any number of visits. */
struct otp_visitor *otp_pprof_builder_visitor(struct otp_pprof_builder *b);
/*
 * Appends the message of all visits so far to out. Changes nothing in b, so it may be called again,
 * with the same bytes, or after more visits.
 * OTP_NOT_FOUND: no profile is left, nothing is appended. OTP_INVALID: a profile is still open.
 * OTP_NO_MEMORY, OTP_TOO_LARGE (max of out): nothing is appended. A failed visit: its status.
 */
enum otp_status otp_pprof_builder_finish(struct otp_pprof_builder *b,
                                         struct otp_buf *out) OTP_MUST_CHECK;
/* Forgets all profiles and samples and keeps what was named. A failed builder stays failed. */
void otp_pprof_builder_clear(struct otp_pprof_builder *b);

#endif
