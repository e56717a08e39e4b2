/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of many messages goes into one: which profiles count, under which resource and scope they
 * stand, and which of them are added up.
 */
#ifndef OTP_OTELPROF_GATHER_H
#define OTP_OTELPROF_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/decode/model.h"
#include "core/encode/envelope.h"
#include "core/encode/pool.h"
#include "tools/otelprof/product.h"
#include "tools/otelprof/symbolizer.h"

enum otp_gather_mode {
    OTP_GATHER_KEEP, /* each profile stays one */
    OTP_GATHER_ADD   /* equal types of equal resource and scope become one */
};

/* A resource with a scope; where each profile stays one, those of one span of time: a flush. */
struct otp_gather_envelope {
    struct otp_envelope_options options; /* texts borrowed from the set, arrays from the arena */
    uint64_t time_ns;
    uint64_t duration_ns;
};

/* One profile of the input. */
struct otp_gather_part {
    size_t message;
    uint32_t profile;
    size_t envelope;
    size_t sum; /* profiles with equal numbers are added up */
};

struct otp_gather {
    const struct otp_profile_set *set;
    enum otp_gather_mode mode;
    struct otp_symbolizer *symbolizer; /* NULL: locations are told as they are */
    struct otp_heap heap;
    struct otp_arena arena;
    struct otp_gather_envelope *envelopes;
    size_t envelope_count;
    struct otp_gather_part *parts; /* by envelope, then by sum, then as they were read */
    size_t part_count;
    size_t dropped_snapshots; /* profiles of in-use types that a later one replaces */
    size_t sources;           /* resources and scopes that were different */
    bool is_from_pprof;       /* some scope carries pprof's own attributes */
    bool cut_values;          /* attribute values were nested too deep */
    uint64_t zero_values;     /* see struct otp_retell_losses; known after telling */
    uint64_t odd_times;
    uint64_t negative_lines;
    uint64_t made_ids; /* profiles of containers, which had none */
};

/* Plans it; squash: all under one resource, which keeps what all of them agree on. False: no
 * memory. */
bool otp_gather_init(struct otp_gather *g, const struct otp_profile_set *set,
                     enum otp_gather_mode mode, bool squash);
void otp_gather_fini(struct otp_gather *g);
/* Tells all of it to a product, which is opened here. keep_original: attach what was converted. */
enum otp_status otp_gather_tell(struct otp_gather *g, struct otp_product *p,
                                struct otp_product_options *options, bool keep_original);

#endif
