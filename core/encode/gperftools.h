/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder of gperftools' own files, as its pprof (google-pprof) and that of Go read them: the
 * binary CPU profile, or the text of a heap profile, with the lines of /proc/self/maps behind it.
 *
 * Such a file has stacks of addresses and one count for each (of the heap four), and no names:
 * readers look them up in the files that are mapped. The addresses of a visit are those of each
 * file by itself, so files are given places of their own here, as a process has them. What becomes
 * of what is in docs/FORMATS.md.
 */
#ifndef OTP_ENCODE_GPERFTOOLS_H
#define OTP_ENCODE_GPERFTOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/encode/visitor.h"

enum otp_gperftools_kind {
    OTP_GPERFTOOLS_CPU, /* cpu in a unit of time, or else samples in count */
    OTP_GPERFTOOLS_HEAP /* (inuse_)objects, (inuse_)space, alloc_objects, alloc_space */
};

/* What a type is in a file of some kind. */
enum otp_gperftools_role {
    OTP_GPERFTOOLS_IN_USE_OBJECTS,
    OTP_GPERFTOOLS_IN_USE_BYTES,
    OTP_GPERFTOOLS_OBJECTS,
    OTP_GPERFTOOLS_BYTES,
    OTP_GPERFTOOLS_ROLES,
    OTP_GPERFTOOLS_TIME = OTP_GPERFTOOLS_IN_USE_OBJECTS,
    OTP_GPERFTOOLS_COUNT = OTP_GPERFTOOLS_IN_USE_BYTES, /* only where no type is the time */
    OTP_GPERFTOOLS_NONE = OTP_GPERFTOOLS_ROLES          /* not carried */
};

struct otp_gperftools_options {
    enum otp_gperftools_kind kind;
    /* File of the main program: it keeps its addresses, so that readers find its names wherever
     * it lies. Empty: the first mapping of a file that is no shared object. */
    struct otp_text main_file;
    bool once;               /* see otp_pprof_options */
    size_t max_string_bytes; /* longer texts are cut between characters; 0: 65536 */
};

/* What was left out of a message, or stands there as something else. */
struct otp_gperftools_losses {
    bool has_time;      /* CPU: it is of the time, not of the number of samples */
    uint64_t negatives; /* stacks that are left out: the value is less than 0 */
    uint64_t made_up;   /* locations without an address of their own: nothing is mapped there */
    uint64_t empty;     /* stacks without frames: one that nothing is mapped at */
    uint64_t countless; /* stacks of bytes without objects: told as one object */
    uint64_t cut;       /* stacks that are too deep: the outermost frames are missing */
};

struct otp_gperftools_builder;

/*
 * A builder that takes all its memory from heap (borrowed, must outlive it). Everything in options
 * is copied. OTP_NO_MEMORY. Context: worker.
 */
enum otp_status
otp_gperftools_builder_create(struct otp_heap *heap, const struct otp_gperftools_options *options,
                              struct otp_gperftools_builder **out_builder) OTP_MUST_CHECK;
/* Frees b (may be NULL) and all it holds. */
void otp_gperftools_builder_destroy(struct otp_gperftools_builder *b);
/* The visitor that feeds b; lives as long as b, any number of visits. */
struct otp_visitor *otp_gperftools_builder_visitor(struct otp_gperftools_builder *b);
/*
 * Appends the file of all visits so far to out; profiles of one type add up. *out_losses is set
 * when it is done. OTP_NOT_FOUND: no profile is of a type that the kind has. OTP_INVALID: a
 * profile is still open. OTP_NO_MEMORY, OTP_TOO_LARGE (max of out). A failed visit: its status.
 */
enum otp_status
otp_gperftools_builder_finish(struct otp_gperftools_builder *b, struct otp_buf *out,
                              struct otp_gperftools_losses *out_losses) OTP_MUST_CHECK;
/*
 * What a type is in a file of that kind. *out_ns (may be NULL) is how many nanoseconds one of it
 * is, for OTP_GPERFTOOLS_TIME.
 */
enum otp_gperftools_role otp_gperftools_role_of(enum otp_gperftools_kind kind,
                                                const struct otp_value_type *type,
                                                uint64_t *out_ns);

#endif
