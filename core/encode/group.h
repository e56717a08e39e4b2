/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of one begin_profile ... end_profile: merged by identity as they come. Knows no
 * format.
 *
 * A sample's identity is (stack, set of attributes, link, has times or not). One without times is a
 * sum for each type; one with times is a list of observations. The two never mix.
 */
#ifndef OTP_ENCODE_GROUP_H
#define OTP_ENCODE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/dict.h"
#include "core/encode/pool.h"
#include "core/encode/visitor.h"

#define OTP_GROUP_NO_TYPE OTP_VISIT_MAX_TYPES

struct otp_group_type {
    uint32_t type;     /* strings */
    uint32_t unit;     /* strings */
    uint8_t id[2][16]; /* profile ids: of the sums, of the observations */
};

/* Who a sample is: the head of a slot. */
struct otp_group_sample {
    uint32_t stack;
    uint32_t list; /* attributes */
    uint32_t link;
    uint32_t timed; /* 0 or 1; of rows: their value, and they have no times */
};

/* Samples that wait for their places to be loaded from memory. A power of two. */
#define OTP_GROUP_WAITING 16U

struct otp_group_waiting {
    struct otp_group_sample who;
    uint64_t hash;
    uint64_t time_ns;
    int64_t values[OTP_VISIT_MAX_TYPES];
};

struct otp_group {
    struct otp_group *next;
    struct otp_heap *heap;
    size_t envelope; /* number in the store */
    size_t type_count;
    struct otp_group_type types[OTP_VISIT_MAX_TYPES];
    struct otp_group_type period_type;
    int64_t period;
    uint64_t time_ns;
    uint64_t duration_ns;
    uint32_t attrs; /* lists */
    uint32_t dropped_attributes;
    char *payload_format; /* clean, NUL-terminated; NULL: no payload */
    void *payload;
    size_t payload_len;
    /* Samples. */
    uint32_t last_list;         /* of the sample that was added last */
    struct otp_pool slots;      /* head: struct otp_group_sample */
    struct otp_buf sums;        /* int64_t[type_count] for each slot; of rows: the long values */
    struct otp_visit_row *rows; /* NULL, or what the slots are, borrowed */
    /* Observations: three arrays of one length. */
    struct otp_buf seen_slots;  /* uint32_t */
    struct otp_buf seen_times;  /* uint64_t */
    struct otp_buf seen_values; /* int64_t[type_count] for each */
    uint64_t first_time;        /* of the observations; 0: none */
    uint64_t last_time;
    struct otp_group_waiting waiting[OTP_GROUP_WAITING]; /* a ring */
    uint32_t waiting_count;                              /* of all that ever waited */
    uint32_t settled_count;                              /* of those that no longer do */
    /* Folding of the sample count into the profile of the period type. */
    size_t count_type;   /* OTP_GROUP_NO_TYPE: there is none */
    size_t period_index; /* OTP_GROUP_NO_TYPE: there is none */
    bool can_fold;       /* each event so far is one observation with a time */
};

/*
 * A group for p, whose names go into d. OTP_INVALID: number of types, or half a payload.
 * OTP_NO_MEMORY, OTP_FULL, OTP_TOO_LARGE. Context: worker.
 */
enum otp_status otp_group_create(struct otp_dict *d, const struct otp_visit_profile *p,
                                 struct otp_group **out_group);
/* Frees g (may be NULL). */
void otp_group_destroy(struct otp_group *g);
/*
 * Adds a sample; it can be seen after otp_group_close. OTP_INVALID: a number that d never gave, or
 * the time UINT64_MAX. OTP_NO_MEMORY and OTP_FULL may be about a sample before.
 */
enum otp_status otp_group_add(struct otp_group *g, struct otp_dict *d,
                              const struct otp_visit_sample *s);

/*
 * All samples at once, instead of otp_group_add; merged where they are. OTP_INVALID: a number that
 * d never gave, a group of several types, or one that has samples. OTP_NO_MEMORY, OTP_FULL.
 */
enum otp_status otp_group_rows(struct otp_group *g, const struct otp_dict *d,
                               const struct otp_visit_rows *rows);

/* Gives the memory of rows back to the system, where that takes it; they are not to be read again.
 */
void otp_group_forget_rows(const struct otp_group *g);

/* After the last sample: also gives back what only adding needs. OTP_NO_MEMORY, OTP_FULL. */
enum otp_status otp_group_close(struct otp_group *g);

/* How many observations there are. */
static inline size_t otp_group_seen(const struct otp_group *g)
{
    return g->seen_times.len / sizeof(uint64_t);
}

/* Slot, time and values (type_count each) of the observations. */
static inline const uint32_t *otp_group_seen_slots(const struct otp_group *g)
{
    return (const void *)g->seen_slots.data;
}
static inline const uint64_t *otp_group_seen_times(const struct otp_group *g)
{
    return (const void *)g->seen_times.data;
}
static inline const int64_t *otp_group_seen_values(const struct otp_group *g)
{
    return (const void *)g->seen_values.data;
}
/* Who slot is. */
static inline const struct otp_group_sample *otp_group_slot(const struct otp_group *g,
                                                            uint32_t slot)
{
    return otp_pool_head(&g->slots, slot);
}
/* Is slot one with times? */
static inline bool otp_group_is_timed(const struct otp_group *g, uint32_t slot)
{
    return g->rows == NULL && otp_group_slot(g, slot)->timed != 0;
}
/* The sum of type in slot; 0 where only observations are. */
static inline int64_t otp_group_sum(const struct otp_group *g, uint32_t slot, size_t type)
{
    const int64_t *sums = (const void *)g->sums.data;
    if (g->rows != NULL) {
        uint32_t v = g->rows[slot].value;
        return v < OTP_VISIT_ROW_LONG ? (int64_t)v : sums[v & ~OTP_VISIT_ROW_LONG];
    }
    size_t at = slot * g->type_count + type;
    return at < g->sums.len / sizeof(sums[0]) ? sums[at] : 0;
}

/*
 * The observations ordered by slot, then time, then as told: out_order gets their indexes,
 * out_start (slots.count + 1 entries) where each slot's part of it begins.
 */
void otp_group_order(const struct otp_group *g, uint32_t *out_order, uint32_t *out_start);

#endif
