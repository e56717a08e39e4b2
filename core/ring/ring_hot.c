/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ring.h"

#include "core/base/atomic.h"

_Static_assert(sizeof(struct otp_record) == 48, "record head");

static struct otp_record *record_at(struct otp_ring *r, uint64_t pos)
{
    return (struct otp_record *)(void *)(r->data + (pos & (r->size - 1)));
}

void otp_ring_init(struct otp_ring *r, uint32_t data_bytes)
{
    r->head = 0;
    r->tail = 0;
    r->size = data_bytes;
}

struct otp_record *otp_ring_reserve(struct otp_ring *r, unsigned depth, unsigned tag_words)
{
    uint64_t head = r->head;
    uint64_t tail = otp_load_acquire(&r->tail); /* pairs: RING-FREE */
    uint32_t need = (uint32_t)(sizeof(struct otp_record) + 8 * ((size_t)depth + tag_words));
    uint32_t to_end = r->size - (uint32_t)(head & (r->size - 1));
    uint32_t pad = need > to_end ? to_end : 0;
    if (need > r->size || (uint64_t)need + pad > r->size - (head - tail)) {
        return NULL;
    }
    if (pad > 0) {
        /* Records are multiples of 8 bytes, so the head word of a PAD always fits. */
        struct otp_record *p = record_at(r, head);
        p->size = pad;
        p->type = OTP_RECORD_PAD;
        otp_store_release(&r->head, head + pad); /* pairs: RING-COMMIT */
    }
    struct otp_record *rec = record_at(r, head + pad);
    rec->size = need;
    rec->depth = (uint16_t)depth;
    rec->tag_words = tag_words;
    return rec;
}

void otp_ring_commit(struct otp_ring *r, const struct otp_record *rec)
{
    otp_store_release(&r->head, r->head + rec->size); /* pairs: RING-COMMIT */
}

uint64_t otp_ring_used(const struct otp_ring *r)
{
    return otp_load_relaxed(&r->head) - otp_load_relaxed(&r->tail);
}

const struct otp_record *otp_ring_peek(struct otp_ring *r)
{
    while (r->tail != otp_load_acquire(&r->head)) { /* pairs: RING-COMMIT */
        const struct otp_record *rec = record_at(r, r->tail);
        if (rec->type != OTP_RECORD_PAD) {
            return rec;
        }
        otp_store_release(&r->tail, r->tail + rec->size); /* pairs: RING-FREE */
    }
    return NULL;
}

void otp_ring_pop(struct otp_ring *r)
{
    otp_store_release(&r->tail, r->tail + record_at(r, r->tail)->size); /* pairs: RING-FREE */
}
