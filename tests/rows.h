/* SPDX-License-Identifier: Apache-2.0 */
/* pprof is decoded in two ways, with its samples in the message and beside it: both say the same.
 */
#ifndef OTP_TESTS_ROWS_H
#define OTP_TESTS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/decode/otlp.h"
#include "core/decode/pprof.h"
#include "core/decode/profiles.h"

/* One way: the translation and the model made of it. */
struct rows_way {
    struct otp_rows rows;
    struct otp_translation t;
    struct otp_profiles m;
    bool is_translated;
    bool is_read;
};

static inline void rows_way_init(struct rows_way *w, const uint8_t *data, size_t len,
                                 uint64_t budget, bool beside)
{
    struct otp_wire_fault fault = {.reason = NULL};

    memset(w, 0, sizeof(*w));
    w->t.budget_bytes = budget;
    w->t.rows = beside ? &w->rows : NULL;
    otp_emit_init(&w->t.out, (size_t)256 << 20);
    w->is_translated = otp_pprof_decode(data, len, &w->t) == OTP_OK;
    w->m.bytes = w->t.out.data;
    w->m.size = (uint32_t)w->t.out.len;
    if (w->is_translated && otp_profiles_init(&w->m, (uint64_t)2 << 30)) {
        w->is_read = beside ? otp_otlp_decode_rows(&w->m, true, &w->rows, &fault) == OTP_OK
                            : otp_otlp_decode(&w->m, true, false, NULL, &fault) == OTP_OK;
    }
}

static inline void rows_way_fini(struct rows_way *w)
{
    otp_rows_fini(&w->rows);
    otp_emit_fini(&w->t.out);
    otp_profiles_fini(&w->m);
}

static inline bool rows_same_sample(const struct otp_profiles *a, const struct otp_profiles *b,
                                    uint32_t i)
{
    const struct otp_sample *x = otp_profiles_sample(a, i);
    const struct otp_sample *y = otp_profiles_sample(b, i);
    struct otp_sample_data xs;
    struct otp_sample_data ys;
    uint32_t x_count;
    uint32_t y_count;
    const int32_t *x_attrs = otp_profiles_list(a, x->attrs, &x_count);
    const int32_t *y_attrs = otp_profiles_list(b, y->attrs, &y_count);

    otp_profiles_sample_data(a, x, &xs);
    otp_profiles_sample_data(b, y, &ys);
    return x->stack == y->stack && x->link == y->link && x_count == y_count &&
           memcmp(x_attrs, y_attrs, x_count * sizeof(x_attrs[0])) == 0 && xs.value_count == 1 &&
           ys.value_count == 1 && xs.values[0] == ys.values[0] && xs.timestamp_count == 0 &&
           ys.timestamp_count == 0;
}

static inline bool rows_same_profiles(const struct otp_profiles *a, const struct otp_profiles *b)
{
    if (a->profiles.count != b->profiles.count || a->samples.count != b->samples.count) {
        return false;
    }
    for (uint32_t i = 0; i < a->profiles.count; i++) {
        const struct otp_profile *x = otp_profiles_profile(a, i);
        const struct otp_profile *y = otp_profiles_profile(b, i);
        if (x->samples.count != y->samples.count ||
            (x->samples.count > 0 && x->samples.first != y->samples.first) ||
            x->sample_type.type != y->sample_type.type) {
            return false;
        }
    }
    for (uint32_t i = 0; i < a->samples.count; i++) {
        if (!rows_same_sample(a, b, i)) {
            return false;
        }
    }
    return true;
}

/* Whether both ways read data as the same; what is refused is refused by both, but that samples
 * beside the message take less room. *out_samples: how many were compared. */
static inline bool rows_both_ways(const uint8_t *data, size_t len, uint64_t budget,
                                  size_t *out_samples)
{
    struct rows_way in;
    struct rows_way beside;

    rows_way_init(&in, data, len, budget, false);
    rows_way_init(&beside, data, len, budget, true);
    bool same = !in.is_translated || beside.is_translated;
    if (in.is_read) {
        same = same && beside.is_read && rows_same_profiles(&in.m, &beside.m);
    }
    *out_samples = same && in.is_read ? in.m.samples.count : 0;
    rows_way_fini(&in);
    rows_way_fini(&beside);
    return same;
}

#endif
