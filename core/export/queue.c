/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/queue.h"

struct otp_queue_item *otp_queue_new_item(const struct otp_queue *q, size_t len)
{
    struct otp_queue_item *item = otp_heap_alloc(q->heap, sizeof(*item) + len);
    if (item != NULL) {
        item->next = NULL;
        item->file = NULL;
        item->len = len;
    }
    return item;
}

void otp_queue_free_item(const struct otp_queue *q, struct otp_queue_item *item)
{
    otp_heap_free(q->heap, item);
}

static void count(struct otp_queue *q, const struct otp_queue_item *item)
{
    q->count++;
    q->bytes += item->len;
}

static void uncount(struct otp_queue *q, const struct otp_queue_item *item)
{
    q->count--;
    q->bytes -= item->len;
}

void otp_queue_append(struct otp_queue *q, struct otp_queue_item *item)
{
    item->next = NULL;
    if (q->last == NULL) {
        q->first = item;
    } else {
        q->last->next = item;
    }
    q->last = item;
    count(q, item);
}

void otp_queue_prepend(struct otp_queue *q, struct otp_queue_item *item)
{
    item->next = q->first;
    q->first = item;
    if (q->last == NULL) {
        q->last = item;
    }
    count(q, item);
}

struct otp_queue_item *otp_queue_take_first(struct otp_queue *q)
{
    struct otp_queue_item *item = q->first;
    q->first = item->next;
    if (q->first == NULL) {
        q->last = NULL;
    }
    uncount(q, item);
    return item;
}

struct otp_queue_item *otp_queue_take_second(struct otp_queue *q)
{
    struct otp_queue_item *item = q->first->next;
    q->first->next = item->next;
    if (q->last == item) {
        q->last = q->first;
    }
    uncount(q, item);
    return item;
}
