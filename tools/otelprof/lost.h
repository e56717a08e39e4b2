/* SPDX-License-Identifier: Apache-2.0 */
/* What of an input the format of the output has no place for. */
#ifndef OTP_OTELPROF_LOST_H
#define OTP_OTELPROF_LOST_H

#include <stdbool.h>

#include "core/decode/model.h"
#include "core/encode/gperftools.h"
#include "tools/otelprof/gather.h"
#include "tools/otelprof/jsonout.h"

struct otp_lost_options {
    const char *command;             /* for the lines */
    const char *path;                /* of the output */
    bool has_times;                  /* a label carries the times of observations */
    const struct otp_losses *losses; /* for pprof and gperftools' formats; NULL: for others */
    /* For gperftools' formats, NULL: another. */
    const struct otp_gperftools_losses *gperftools;
    enum otp_gperftools_kind kind;
    struct otp_jsonout *json; /* an open list for the items, NULL: lines on stderr */
};

/* What pprof has no place for (bare: gperftools' formats, which have no place for attributes);
 * before anything is told, since telling takes the samples. To be freed; NULL: no memory. */
struct otp_losses *otp_lost_count(const struct otp_gather *g, bool bare);

/* Prints one line or item for each kind of thing that is lost; nothing when all is carried. */
void otp_lost_print(const struct otp_gather *g, const struct otp_lost_options *o);

#endif
