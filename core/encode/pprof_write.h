/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the pprof builder: a plan as bytes. */
#ifndef OTP_ENCODE_PPROF_WRITE_H
#define OTP_ENCODE_PPROF_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/encode/pprof_plan.h"
#include "core/encode/words.h"

/* What is said beside the profiles. Numbers are strings of the store. */
struct otp_pprof_frame {
    uint32_t key[OTP_PPROF_KEYS]; /* from otp_words_keys() */
    uint32_t default_type;        /* of the scope; 0: not said */
    uint32_t usual_type;          /* the default where the scope does not say it */
    uint32_t main_file;
    uint32_t timestamp_label;
    uint32_t origin;   /* a comment */
    uint32_t trace_id; /* keys of the labels for a link */
    uint32_t span_id;
    bool mark_symbols;
    bool has_order;
    uint32_t order[OTP_PPROF_COLUMNS_MAX]; /* place of each type as told */
    size_t order_count;
};

/*
 * Appends the message. OTP_NO_MEMORY, OTP_FULL: for the working space; out's own error is in out.
 * Context: worker.
 */
enum otp_status otp_pprof_write(const struct otp_pprof_plan *plan,
                                const struct otp_pprof_frame *frame, struct otp_buf *out);

#endif
