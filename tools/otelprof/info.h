/* SPDX-License-Identifier: Apache-2.0 */
/* What `otelprof info` counts, and its form for other programs. For info*.c only. */
#ifndef OTP_OTELPROF_INFO_H
#define OTP_OTELPROF_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/model.h"
#include "tools/otelprof/jsonout.h"

/* What the samples of a profile add up to, and how they are written. */
struct otp_info_sums {
    int64_t total;
    uint64_t values;
    uint64_t timestamps;
};

/* A key that attributes of samples have, and how many values it has. */
struct otp_info_label {
    struct otp_text key;
    size_t values;
};

/* What samples know besides their stack. */
struct otp_info_known {
    uint64_t linked; /* samples with a link */
    size_t spans;    /* different ones */
    size_t traces;
    struct otp_info_label *labels; /* by key */
    size_t label_count;
};

struct otp_info_sums otp_info_sum_up(const struct otp_profiles *m, const struct otp_profile *p);
/* False: no memory. The caller calls otp_info_known_fini() in any case. */
bool otp_info_known_init(struct otp_info_known *k, const struct otp_profiles *m);
void otp_info_known_fini(struct otp_info_known *k);
/* An attribute of a profile; of a loss, key is what was lost. */
struct otp_info_attribute {
    struct otp_text key;
    const struct otp_value *value;
    bool is_loss;
};
/* The next attribute from index *at of a list on; false at its end. Indices that name no entry of
 * the table are passed over. */
bool otp_info_next(const struct otp_profiles *m, uint32_t list, uint32_t *at,
                   struct otp_info_attribute *out);
const char *otp_info_version(enum otp_wire_version v);

/* Prints all messages of the set as one JSON value. False: no memory. */
bool otp_info_json(const struct otp_profile_set *set);

#endif
