/* SPDX-License-Identifier: Apache-2.0 */
/* What convert, merge and symbolize have in common. */
#ifndef OTP_OTELPROF_CONVERT_H
#define OTP_OTELPROF_CONVERT_H

#include <stdbool.h>

#include "tools/otelprof/command.h"
#include "tools/otelprof/jsonout.h"
#include "tools/otelprof/symbolizer.h"

/* Their options; the last one is each command's own. */
enum { CONVERT_OUT, CONVERT_ORIGINAL, CONVERT_LABEL, CONVERT_REFER, CONVERT_JSON, CONVERT_OWN };

#define CONVERT_OPTIONS                                                                            \
    [CONVERT_OUT] = {"output", 'o', "OUT", "the file; its name says the format"},                  \
    [CONVERT_ORIGINAL] = {"keep-original", 0, NULL,                                                \
                          "attach the pprof file to the profile made of it"},                      \
    [CONVERT_LABEL] = {"timestamp-label", 0, "KEY",                                                \
                       "to pprof: a number label with the time of each observation"},              \
    [CONVERT_REFER] = {"refer", 0, NULL,                                                           \
                       "to OTLP: resource attributes as references to the string table"},          \
    [CONVERT_JSON] = {"json", 0, NULL,                                                             \
                      "print what became of it, and what is not carried, as JSON"}

/*
 * Reads the operands and writes OUT. adds: equal types are added up; squash: under one resource.
 * symbolizer: asked for each location, NULL: none. The exit status.
 */
int otp_convert(const struct otp_args *args, bool adds, bool squash,
                struct otp_symbolizer *symbolizer);

#endif
