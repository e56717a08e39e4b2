/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples since the last flush, summed by (stack, context, tag); or one by one when they carry
 * times. */
#ifndef OTP_INTERN_TIMETABLE_H
#define OTP_INTERN_TIMETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/intern/tags.h"

/* One stack in one context and with one tag. */
struct otp_time_entry {
    size_t frames_at; /* index into the table's frames; the same for equal stacks */
    uint32_t depth;
    uint32_t context;
    uint32_t tag; /* number, see tags.h */
    bool is_link_lost;
    uint64_t count;
    uint64_t cpu_ns;
    uint64_t time_ns; /* 0: a sum */
};

/* What all tables of a heap may take of it together: messages are made in what is left. */
struct otp_timetable_budget {
    size_t max_bytes;
    size_t used_bytes;
};

struct otp_timetable {
    struct otp_heap *heap;
    struct otp_timetable_budget *budget;
    struct otp_tags *tags;    /* which bounds how many entries may have one; NULL: none has */
    enum otp_loss_of of;      /* whose losses are counted */
    struct otp_map map;       /* of entries */
    struct otp_map stack_map; /* of the entries that were the first of their stack */
    struct otp_time_entry *entries;
    size_t entry_count;
    size_t entry_room;
    uint64_t *frames;
    size_t frame_count;
    size_t frame_room;
    uint64_t sample_count;  /* samples added, before they were summed */
    uint64_t cpu_ns;        /* that all of them stand for */
    uint64_t dropped_attrs; /* that samples should have had; the caller's to count */
};

/* One CPU sample; frames are borrowed. */
struct otp_time_sample {
    const uint64_t *frames;
    uint32_t depth;
    uint32_t context;
    uint32_t tag;
    uint64_t count;
    uint64_t cpu_ns;
    uint64_t time_ns;  /* 0: to be summed */
    bool is_link_lost; /* it is counted already as one that has lost its tag */
};

/* An empty table that takes its memory from heap, within budget; tags may be NULL; losses are
 * counted as those of that profile. Context: worker, as all of these. */
void otp_timetable_init(struct otp_timetable *t, struct otp_heap *heap,
                        struct otp_timetable_budget *budget, struct otp_tags *tags,
                        enum otp_loss_of of);
/*
 * Adds a sample; false when budget or heap are used up. When there are too many with tags already,
 * it goes without its own to those of its stack that have none, and that is counted.
 */
bool otp_timetable_add(struct otp_timetable *t, const struct otp_time_sample *s);
/* Forgets all samples and keeps the memory, unless there was much of it. */
void otp_timetable_clear(struct otp_timetable *t);
/* Forgets all samples and gives the memory back. */
void otp_timetable_fini(struct otp_timetable *t);
/* The frames of an entry, leaf first. */
const uint64_t *otp_timetable_frames(const struct otp_timetable *t, const struct otp_time_entry *e);

#endif
