/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that wait for their turn, oldest first. Context of everything here: worker. */
#ifndef OTP_EXPORT_QUEUE_H
#define OTP_EXPORT_QUEUE_H

#include <stddef.h>

#include "core/base/heap.h"

struct otp_spooled;

struct otp_queue_item {
    struct otp_queue_item *next;
    struct otp_spooled *file; /* the locked file that this is a copy of; NULL: only in memory */
    size_t len;
    unsigned char bytes[];
};

struct otp_queue {
    struct otp_heap *heap;
    struct otp_queue_item *first;
    struct otp_queue_item *last;
    size_t count;
    size_t bytes;
};

/* An item of len bytes, not yet in the queue; NULL at the memory limit. */
struct otp_queue_item *otp_queue_new_item(const struct otp_queue *q, size_t len);
/* Frees an item that is in no queue; NULL is fine. */
void otp_queue_free_item(const struct otp_queue *q, struct otp_queue_item *item);
/* Adopts the item as the newest. */
void otp_queue_append(struct otp_queue *q, struct otp_queue_item *item);
/* Adopts the item as the oldest. */
void otp_queue_prepend(struct otp_queue *q, struct otp_queue_item *item);
/* Takes the oldest item out, or the one behind it; the queue must have that one. */
struct otp_queue_item *otp_queue_take_first(struct otp_queue *q);
struct otp_queue_item *otp_queue_take_second(struct otp_queue *q);

#endif
