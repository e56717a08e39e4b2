/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, files and lines of locations, from the files that they were in and their debug
 * information: found by build id in debug directories, at the mapping's path, or from debuginfod
 * servers.
 */
#ifndef OTP_OTELPROF_SYMBOLIZER_H
#define OTP_OTELPROF_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/model.h"
#include "core/encode/visitor.h"
#include "tools/otelprof/jsonout.h"

struct otp_symbolizer;

/*
 * roots: folders with colons between them that are looked into first, each as the root of a file
 * system and as a debug directory; may be empty. NULL: no memory.
 */
struct otp_symbolizer *otp_symbolizer_create(const char *roots);
void otp_symbolizer_destroy(struct otp_symbolizer *s);
/*
 * The lines of a location of a (verified) message, in place of those that it has when they say
 * more; *out_count of them. NULL: what it has is all. They live until the next call. Each location
 * is counted, so it should be asked for once.
 */
const struct otp_visit_line *otp_symbolizer_lines(struct otp_symbolizer *s,
                                                  const struct otp_profiles *m,
                                                  const struct otp_location *l, size_t *out_count);
/*
 * Says what was found, and for each file what stayed without names or lines, and why: on stderr,
 * or, where json is not NULL, as its next item.
 */
void otp_symbolizer_report(const struct otp_symbolizer *s, struct otp_jsonout *json);

#endif
