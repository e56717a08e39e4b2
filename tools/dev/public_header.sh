#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# public_header.sh OUT: the header of libotelprofile.a, put together from the project's own headers, so that what is
# documented there is what is compiled.
set -eu

out=$1
headers="core/base/annot.h core/base/text.h core/base/status.h core/base/heap.h core/base/buf.h core/encode/visitor.h
    core/encode/envelope_options.h core/encode/otlp.h core/encode/pprof.h core/encode/otep239.h core/encode/tee.h
    core/encode/json.h core/encode/compress.h"
{
    cat << 'H'
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotelprofile: builders of profiles in the formats OTLP Profiles (protobuf and JSON), pprof and
 * OTEP-0239, without the profiler. C11, with libprotobuf-c, zlib and zstd behind it:
 *
 *     cc example.c $(pkg-config --cflags --libs --static otelprofile)
 *
 * How it goes: otp_heap_init, a builder for each format that is wanted, otp_tee_create when there
 * are several; the visit (struct otp_visitor) tells begin_profile, then what samples consist of,
 * samples, end_profile; then the builder's finish appends the message to a struct otp_buf, and
 * otp_heap_reset frees everything at once. Example: docs/examples/profile.c.
 *
 * Nothing here is for several threads at once: a heap and what was made of it belong to one thread
 * at a time; different heaps know nothing of each other. "Context: worker" and "hot" are words
 * of the profiler and mean no more than that here.
 */
#ifndef OTELPROFILE_H
#define OTELPROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
H
    for header in $headers; do
        awk -v status=core/base/status.def '
            FNR == 1 { next } # the licence line
            /^#ifndef OTP_.*_H$/ { guard = $2; next }
            guard != "" && $0 == "#define " guard { next }
            /^#include "core\/base\/status.def"/ {
                while ((getline line < status) > 0)
                    if (line ~ /^OTP_STATUS/) print "    " line
                next
            }
            /^#include/ { next }
            /^#endif$/ && depth == 0 { next }
            /^#if/ { depth++ }
            /^#endif/ && depth > 0 { depth-- }
            { print }' "$header"
    done
    cat << 'H'

#ifdef __cplusplus
}
#endif

#endif
H
} | cat -s > "$out.new"
grep -q 'otp_otlp_builder_finish' "$out.new"
mv "$out.new" "$out"
