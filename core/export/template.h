/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of output files: what the extension says about the content, and how a template becomes a
 * path.
 *
 * Sequences: %e program, %p process id, %h host, %t start time (UTC, YYYYmmddTHHMMSSZ), %n flush
 * number, %% a percent sign; any other sequence stays as it is.
 */
#ifndef OTP_EXPORT_TEMPLATE_H
#define OTP_EXPORT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

#define OTP_PATH_MAX 4096 /* bytes of a path with its NUL, as the kernel has it */
#define OTP_NAME_MAX 255  /* bytes of one component */

enum otp_format {
    OTP_FORMAT_OTLP,    /* .otlp: one bare ProfilesData */
    OTP_FORMAT_JSONL,   /* .jsonl: OTLP/JSON */
    OTP_FORMAT_PPROF,   /* .pb: pprof, always compressed */
    OTP_FORMAT_OTEP239, /* .otep239: the form of OTEP 239, always compressed */
};

enum otp_compression {
    OTP_COMPRESSION_NONE,
    OTP_COMPRESSION_GZIP,
    OTP_COMPRESSION_ZSTD,
};

struct otp_template_values {
    struct otp_text program; /* base name; any bytes, made harmless */
    struct otp_text host;
    uint64_t pid;
    uint64_t start_ns; /* realtime */
    uint64_t flush;
};

/*
 * What a file name says about its content. False when no known extension is there: then bare
 * OTLP, with the compression that .gz or .zst name.
 */
bool otp_format_of_name(struct otp_text name, enum otp_format *out_format,
                        enum otp_compression *out_compression);

/* The first sequence that means nothing (at most 2 bytes, a view into the text), or empty. */
struct otp_text otp_template_unknown(struct otp_text text);

/* True when the template has %n, so that each flush has a name of its own. */
bool otp_template_has_flush(struct otp_text text);

/*
 * Expands the template to out (room bytes with the NUL). attempt 0 is the plain name; the ones
 * after it put .FLUSH, .FLUSH.PID, .FLUSH.PID.2, .3 … and at last random numbers before the
 * format's extension, so that a caller who meets existing files always comes to a free name. The
 * program's name is cut when a component would pass 255 bytes; OTP_TOO_LARGE when that does not
 * help or room is too small.
 */
OTP_MUST_CHECK enum otp_status otp_template_expand(struct otp_text text,
                                                   const struct otp_template_values *values,
                                                   unsigned attempt, char *out, size_t room);

#endif
