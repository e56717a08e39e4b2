/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the OTLP sink: its texts, from the options and for the log. Context: worker. */
#ifndef OTP_EXPORT_SINK_OTLP_TEXT_H
#define OTP_EXPORT_SINK_OTLP_TEXT_H

#include "core/export/sink_otlp.h"

/* Copies and reads the texts of k's options, and makes its connection ready. */
OTP_MUST_CHECK enum otp_status otp_sink_otlp_set_up(struct otp_sink_otlp *k);
/* Clears and frees the copies. */
void otp_sink_otlp_free_texts(struct otp_sink_otlp *k);
/* The name of the sink's compression for a header; empty: none. */
struct otp_text otp_sink_otlp_encoding(const struct otp_sink_otlp *k);

/* Notes a failure that is tried again. */
void otp_sink_otlp_fail(struct otp_sink_otlp *k, const char *step, struct otp_tls_fault fault);
void otp_sink_otlp_fail_outcome(struct otp_sink_otlp *k, const struct otp_outcome *o);
void otp_sink_otlp_clear_failure(struct otp_sink_otlp *k);
/* Leaves a line for the log about a refusal or a partial success. */
void otp_sink_otlp_note_outcome(struct otp_sink_otlp *k, const struct otp_outcome *o);
/* As otp_sink_describe. */
void otp_sink_otlp_describe(const struct otp_sink *s, struct otp_line *line);

#endif
