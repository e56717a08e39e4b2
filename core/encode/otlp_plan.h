/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the OTLP builder: what of a store is written, and under which numbers. Made for each
 * message and thrown away after it; the store does not change.
 */
#ifndef OTP_ENCODE_OTLP_PLAN_H
#define OTP_ENCODE_OTLP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/store.h"

/* The pools of the dictionary. */
enum otp_plan_table {
    OTP_PLAN_STRINGS,
    OTP_PLAN_ATTRS,
    OTP_PLAN_LISTS, /* not a table of the format; marks only */
    OTP_PLAN_FUNCTIONS,
    OTP_PLAN_MAPPINGS,
    OTP_PLAN_LOCATIONS,
    OTP_PLAN_STACKS,
    OTP_PLAN_LINKS,
    OTP_PLAN_TABLES
};

/* One Profile of the message. */
struct otp_plan_profile {
    const struct otp_group *group;
    size_t type;
    bool timed;            /* the observations, not the sums */
    bool is_second;        /* timed, and the sums are a profile, too */
    bool folded;           /* counts the events too: observations of value 0 are kept */
    bool ones;             /* each observation's value is 1 */
    const uint32_t *order; /* timed: from otp_group_order() */
    const uint32_t *start;
    uint32_t *slots; /* the order of its samples; NULL: as told */
    bool owns_slots; /* others of its group have them, too */
};

/* What to write beside what the samples need. */
struct otp_plan_options {
    bool fold_counts;   /* leave the sample count out where the period type says it as well */
    bool keep_empty;    /* a type that was told is written, even without a sample */
    bool keep_mappings; /* a mapping that was told is written, even when no sample is in it */
    bool keep_attrs;    /* so are attributes */
    bool compact;       /* put alike things together, instead of as told */
    bool refer;         /* resource and scope attributes need numbers for their strings */
    const struct otp_group *first; /* only the groups from here, before end; NULL: all */
    const struct otp_group *end;
    bool once;   /* the message is made once: rows are given back when they are planned */
    size_t only; /* this one alone of the profiles, counted from 1; 0: all */
};

struct otp_plan {
    struct otp_heap *heap;
    const struct otp_store *store;
    struct otp_plan_options options;
    struct otp_plan_profile *profiles;
    size_t profile_count;
    size_t group_count;
    uint32_t **orders;                 /* two for each group, NULL: no observations */
    size_t longest_sample;             /* observations */
    uint32_t *number[OTP_PLAN_TABLES]; /* by entry of the pool; 0: not written */
    uint32_t count[OTP_PLAN_TABLES];   /* entries written, with entry 0 */
    uint32_t *sequence[OTP_PLAN_TABLES]; /* entries by number; NULL: ascending */
    uint32_t *strings;                 /* pool entries in the order of their numbers */
};

/*
 * Plans the message of all profiles in store (borrowed, as is its heap). OTP_NOT_FOUND: there is no
 * profile to write. OTP_NO_MEMORY. otp_plan_fini() is called in any case. Context: worker.
 */
enum otp_status otp_plan_init(struct otp_plan *p, const struct otp_store *store,
                              const struct otp_plan_options *options);
/*
 * The union of the ranges that the profiles of an envelope were told with, and of their times. A
 * range without a start lends only its length. Context: worker.
 */
struct otp_plan_range {
    uint64_t time_ns;
    uint64_t duration_ns;
};
struct otp_plan_range otp_plan_range_of(const struct otp_store *store, size_t envelope);
/* Of all profiles. */
struct otp_plan_range otp_plan_range_of_all(const struct otp_store *store);
/* Frees everything. */
void otp_plan_fini(struct otp_plan *p);

/* True when observation idx of the profile's group is written in it. Context: worker. */
bool otp_plan_keeps(const struct otp_plan_profile *p, size_t idx);
/* The number under which entry id of a table is written; 0: it is not. Context: worker. */
static inline uint32_t otp_plan_number(const struct otp_plan *p, enum otp_plan_table table,
                                       uint32_t id)
{
    return p->number[table][id];
}

#endif
