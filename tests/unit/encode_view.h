/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One view of a message for all formats: what each sample is, in the words that all of them have,
 * and the sum of its values. Two messages of one visit have equal views.
 */
#ifndef OTP_UNIT_ENCODE_VIEW_H
#define OTP_UNIT_ENCODE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/pprof.pb-c.h"

#include "tests/unit/encode_help.h"

#define PPROF_PB(name) Perftools__Profiles__##name

/* A sample without its value, and the value. */
struct enc_view_item {
    char *who;
    int64_t value;
};

struct enc_view {
    struct enc_view_item *items;
    size_t count;
    size_t capacity;
};

/* with_times: observations of different times are different samples. */
void enc_view_otlp(struct enc_view *v, const ENC_PB(ProfilesData) * data, bool with_times);
/* time_label: key of the label with the time, NULL: there is none. */
void enc_view_pprof(struct enc_view *v, const PPROF_PB(Profile) * p, const char *time_label);
/* Takes a text out of all descriptions; samples that are then equal are added up. */
void enc_view_forget(struct enc_view *v, const char *text);
void enc_view_fini(struct enc_view *v);
/* Fails the test when the two differ. */
void enc_view_compare(const struct enc_view *a, const struct enc_view *b);

PPROF_PB(Profile) * enc_pprof_decode(const void *bytes, size_t len);
void enc_pprof_free(PPROF_PB(Profile) * p);
/* Fails the test when p breaks a rule of pprof: ids, references, numbers of values, strings. */
void enc_pprof_check(const PPROF_PB(Profile) * p);

#endif
