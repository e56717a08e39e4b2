/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of settings from text. Each function returns false, and stores nothing, when the text is
 * not wholly understood or out of range; leading and trailing blanks are the caller's to cut.
 * Context: any.
 */
#ifndef OTP_CONF_PARSE_H
#define OTP_CONF_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"

struct otp_range {
    uint64_t lowest;
    uint64_t highest;
};

/* The text without blanks at both ends. */
struct otp_text otp_conf_trim(struct otp_text text);
/* True when a and b are the same but for the case of ASCII letters. */
bool otp_conf_same_word(struct otp_text a, struct otp_text b);
/* Cuts the next non-empty, trimmed item off a comma-separated list; false at its end. */
bool otp_conf_next_item(struct otp_text *list, struct otp_text *out_item);

/* true on 1, false off 0. */
bool otp_conf_parse_bool(struct otp_text text, bool *out);
/* As for OTEL_ variables: true or false only. */
bool otp_conf_parse_flag(struct otp_text text, bool *out);
/* Decimal digits. */
bool otp_conf_parse_number(struct otp_text text, struct otp_range range, uint64_t *out);
/* Digits and perhaps k, m or g (1024 and its powers); bytes. */
bool otp_conf_parse_size(struct otp_text text, struct otp_range range, uint64_t *out_bytes);
/* Digits and ms, s or m; without a unit: seconds. Nanoseconds. */
bool otp_conf_parse_time(struct otp_text text, struct otp_range range, uint64_t *out_ns);
/* A decimal fraction and perhaps %; millionths. */
bool otp_conf_parse_percent(struct otp_text text, struct otp_range range, uint64_t *out_ppm);
/* One of the words ("a, b, c"): its position in the list. */
bool otp_conf_parse_word(struct otp_text text, const char *words, uint32_t *out_index);
/* A comma-separated choice of the words: one bit for each position; the word none has no bit. */
bool otp_conf_parse_words(struct otp_text text, const char *words, uint32_t *out_bits);
/* A signal that may be taken from a program: name with or without SIG, RTMIN+N, number; none: 0. */
bool otp_conf_parse_signal(struct otp_text text, int *out_signal);

#endif
