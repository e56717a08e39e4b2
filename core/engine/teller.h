/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells stacks and contexts to a visitor, each frame word once: it keeps the ids that the visitor
 * handed out for as long as the visitor lives.
 */
#ifndef OTP_ENGINE_TELLER_H
#define OTP_ENGINE_TELLER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/frame.h"
#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/status.h"
#include "core/encode/visitor.h"
#include "core/intern/modules.h"
#include "core/intern/tags.h"

/* A word told before, and its id. */
struct otp_told {
    uint64_t word;
    uint32_t id;
};

/* The executable segment of an object, and its id. */
struct otp_told_mapping {
    uint32_t object;
    uint32_t id;
    uint64_t start;
    uint64_t limit;
};

struct otp_teller {
    struct otp_heap *heap;
    struct otp_visitor *visitor;
    struct otp_modules *modules;
    const struct otp_tags *tags;
    struct otp_map map; /* frame words */
    struct otp_told *told;
    size_t told_count;
    size_t told_room;
    struct otp_told_mapping *mappings;
    size_t mapping_count;
    size_t mapping_room;
    uint32_t ids[OTP_DEPTH_MAX + 1]; /* of the stack being told */
};

/* A teller that has told nothing. All pointers are borrowed. Context: worker, as all of these. */
void otp_teller_init(struct otp_teller *t, struct otp_heap *heap, struct otp_visitor *visitor,
                     struct otp_modules *modules, const struct otp_tags *tags);
/* Forgets all ids. */
void otp_teller_fini(struct otp_teller *t);
/* Tells a stack of frame words, leaf first. */
enum otp_status otp_teller_stack(struct otp_teller *t, const uint64_t *frames, uint32_t depth,
                                 uint32_t *out_id);
/* Attributes that a sample can have: two of its thread, the rest of its tag. */
#define OTP_TELLER_ATTRS_MAX (2 + OTP_TAGS_ATTRS_MAX)

/*
 * Tells what a sample knows besides its stack: attributes of its thread's context and of its tag,
 * whose ids go to ids, and the link to its span. Fills the sample's attrs and link.
 */
enum otp_status otp_teller_knowledge(struct otp_teller *t, uint32_t context, uint32_t tag,
                                     uint32_t ids[OTP_TELLER_ATTRS_MAX],
                                     struct otp_visit_sample *sample);

#endif
