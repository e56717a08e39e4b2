/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells what was read to a visitor: each mapping, location, stack, attribute and link of a message
 * once, when the first sample needs it.
 */
#ifndef OTP_OTELPROF_RETELL_H
#define OTP_OTELPROF_RETELL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/buf.h"
#include "core/decode/model.h"
#include "core/encode/pool.h"
#include "core/encode/visitor.h"
#include "tools/otelprof/symbolizer.h"

/* What a visit has no words for, or the builder behind it would leave out. */
struct otp_retell_losses {
    uint64_t zero_values; /* observations of value 0 */
    uint64_t odd_times;   /* samples whose times do not fit their values: told as sums */
    uint64_t negative_lines;
    bool cut_values; /* attribute values nested too deep */
};

struct otp_retell {
    const struct otp_profiles *m; /* verified */
    struct otp_visitor *v;
    struct otp_symbolizer *symbolizer; /* asked for lines; NULL: none */
    /* Ids that the visitor gave, by place in the table, UINT32_MAX: not told yet. */
    uint32_t *mappings;
    uint32_t *locations;
    uint32_t *stacks;
    uint32_t *attrs;
    uint32_t *links;
    uint32_t *lists; /* by place in the message's lists; for rows */
    uint32_t *ids;   /* of the attributes of `list` */
    uint32_t id_room;
    uint32_t list;          /* UINT32_MAX: none yet */
    struct otp_arena arena; /* of one attribute or frame */
    struct otp_retell_losses losses;
};

/* A retelling of m to v, whose memory for attributes comes from heap. After an error
 * otp_retell_fini may be called. */
enum otp_status otp_retell_init(struct otp_retell *r, const struct otp_profiles *m,
                                struct otp_visitor *v, struct otp_heap *heap);
void otp_retell_fini(struct otp_retell *r);
/* Tells all mappings of the message; pprof's list of them says something by itself. */
enum otp_status otp_retell_all_mappings(struct otp_retell *r);
/* Tells the mappings and locations that a profile's samples are in, in the order of their tables.
 */
enum otp_status otp_retell_tables(struct otp_retell *r, uint32_t profile);
/* Would a sample of the profile be told as observations with times? */
bool otp_retell_has_times(const struct otp_profiles *m, uint32_t profile);
/*
 * The samples of a profile without times as rows, for a visitor that takes them: one for each
 * sample, appended to rows, whose items have room for them. They may be the memory of the samples
 * themselves, which then are none any more. Long values are appended to longs (int64_t).
 */
enum otp_status otp_retell_rows(struct otp_retell *r, uint32_t profile, struct otp_visit_rows *rows,
                                struct otp_buf *longs);
/* Tells the samples of a profile; the visit is between begin_profile and end_profile. */
enum otp_status otp_retell_samples(struct otp_retell *r, uint32_t profile);

#endif
