/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the pprof builder: the profiles of a store as one table of rows and columns. Made for
 * each message and thrown away after it; the store does not change.
 */
#ifndef OTP_ENCODE_PPROF_PLAN_H
#define OTP_ENCODE_PPROF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/encode/otlp_plan.h"
#include "core/encode/pool.h"
#include "core/encode/store.h"

#define OTP_PPROF_COLUMNS_MAX 256

/* A type; numbers of strings. */
struct otp_pprof_column {
    uint32_t type;
    uint32_t unit;
};

/* Who a row is; no padding. */
struct otp_pprof_row {
    uint32_t stack;
    uint32_t list; /* attributes */
    uint32_t link;
    uint32_t zero;
    uint64_t time_ns; /* 0: of any time */
};

struct otp_pprof_plan_options {
    struct otp_plan_options base; /* nothing is folded */
    bool with_times;              /* each observation is a row */
};

struct otp_pprof_plan {
    struct otp_plan base;   /* which entries are needed, and the numbers of all but strings */
    struct otp_buf columns; /* struct otp_pprof_column */
    struct otp_pool rows;   /* head: struct otp_pprof_row; entry 0 may be a row of its own */
    struct otp_buf values;  /* int64_t[columns] for each row */
    size_t column_count;
    bool zero_is_used; /* entry 0 of rows: no stack, no attributes, no link */
    uint32_t *order;   /* rows as they are written: entry 0 first; NULL: as they are numbered */
    /* While it is made. */
    bool is_timed;     /* there are observations */
    bool all_new;      /* no row is there yet that could be that of a sample */
    bool has_index;    /* rows are found by their content */
    uint32_t last_row; /* of the sample before */
    uint64_t
        far_left; /* rows that may still be looked at for samples that are not just behind it */
};

/*
 * Plans the message of all profiles in store (borrowed). OTP_NOT_FOUND: there is no
 * profile to write. OTP_NO_MEMORY, OTP_FULL, OTP_TOO_LARGE: too many types. otp_pprof_plan_fini()
 * is called in any case. Context: worker.
 */
enum otp_status otp_pprof_plan_init(struct otp_pprof_plan *p, const struct otp_store *store,
                                    const struct otp_pprof_plan_options *options);
/* Frees everything. */
void otp_pprof_plan_fini(struct otp_pprof_plan *p);

/* The column_count values of a row, in the order of the columns. Context: worker. */
static inline const int64_t *otp_pprof_plan_values(const struct otp_pprof_plan *p, uint32_t row)
{
    return (const int64_t *)(const void *)p->values.data + row * p->column_count;
}

#endif
