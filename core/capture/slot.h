/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread context of OpenTelemetry (OTEP 4947): a thread-local pointer named otel_thread_ctx_v1
 * that the program, or an SDK in it, defines. Where it is for any thread is found outside of
 * handlers; a thread then reads its own when it is sampled.
 *
 * I1  We never define or refer to the symbol: that would make another one of it.
 *
 * I2  A place that was found while objects may since have been unloaded is not used: unless its
 * object has been there since the start, its epoch must be the present one.
 *
 * I3  Nothing of the host's is read but by otp_peek, except the slot in static thread-local
 * storage, which is part of every thread's own block.
 */
#ifndef OTP_CAPTURE_SLOT_H
#define OTP_CAPTURE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/tag.h"

enum otp_slot_kind {
    OTP_SLOT_NONE = 0,
    OTP_SLOT_STATIC = 1, /* at a fixed distance from the thread pointer */
    OTP_SLOT_DYNAMIC = 2 /* in a block that each thread gets when it first uses it */
};

/* Where a thread's slot is. */
struct otp_slot_place {
    uint32_t kind; /* enum otp_slot_kind */
    uint32_t is_permanent;
    uint32_t epoch;      /* of unloading, before the objects were looked through */
    uint64_t offset;     /* STATIC: to be added to the thread pointer; DYNAMIC: within the block */
    uint64_t module;     /* DYNAMIC: number of the block */
    uint64_t generation; /* DYNAMIC: a thread with an older one has not touched that block yet */
};

/* enum otp_slot_kind of the place in use; OTP_SLOT_NONE is what most processes have. */
extern uint32_t otp_slot_kind;

/*
 * Fills span and attributes of t from the calling thread's context, if there is a valid one; the
 * span only when t has none yet. Context: hot.
 */
void otp_slot_read(struct otp_tag *t);
/* Whether records are left alone: the process says that they are of a kind that we do not know.
 * Context: worker. */
void otp_slot_ignore(bool is_ignored);
/* In the child of a fork, which may have come in the middle of a change. Context: init. */
void otp_slot_after_fork(void);
/* The same for what the worker remembers of the objects. */
void otp_slot_look_again(void);
/* Makes p the place. Only one thread may be at it. Context: init, worker. */
void otp_slot_publish(const struct otp_slot_place *p);

/* Looks for the slot among the objects of the start, before there are threads. Context: init. */
void otp_slot_start(void);
/*
 * Looks again if objects have come or gone. True: something is being loaded right now, so that it
 * is worth while to come back soon. Context: worker.
 */
bool otp_slot_refresh(void);

#endif
