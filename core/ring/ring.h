/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ring of bytes per thread: that thread (or its signal handler) writes, the worker reads.
 *
 * I1  Only the producer moves head, only the consumer moves tail; both only grow.
 *
 * I2  A record is visible when head has passed it (pairs: RING-COMMIT); its bytes are free again
 * when tail has passed it (pairs: RING-FREE).
 *
 * I3  A record never wraps: what is left at the end of the buffer is skipped by a PAD record.
 *
 * I4  A record that does not fit is not written: the producer never waits.
 */
#ifndef OTP_RING_RING_H
#define OTP_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"

enum otp_record_type { OTP_RECORD_PAD = 0, OTP_RECORD_CPU = 1, OTP_RECORD_ALLOC = 2 };

/* Common head of all records; size is a multiple of 8 and counts the head. */
struct otp_record {
    uint32_t size;
    uint16_t type; /* enum otp_record_type */
    uint16_t depth;
    uint32_t context; /* number in the context table, 0: none */
    uint32_t count;   /* CPU: periods that this sample stands for. ALLOC: number of its interval */
    uint64_t cpu_ns;  /* CPU: CPU time that it stands for. ALLOC: objects */
    uint64_t bytes;   /* ALLOC: bytes */
    uint64_t time_ns; /* Unix time, 0 unless timestamps are wanted */
    uint32_t tag_words;    /* of the tag behind the frames, see core/base/tag.h; 0: there is none */
    uint16_t is_cut;       /* 1: the stack is counted as incomplete already */
    uint16_t is_link_lost; /* ALLOC: 1: it is counted already as one that has lost its tag */
    uint64_t frames[];     /* depth words, leaf first; see core/base/frame.h */
};

struct otp_ring {
    uint64_t head OTP_ALIGNED(64); /* written by the producer */
    uint64_t tail OTP_ALIGNED(64); /* written by the consumer */
    uint32_t size OTP_ALIGNED(64); /* bytes of data, power of two; fixed */
    unsigned char data[] OTP_ALIGNED(64);
};

/* Bytes that a ring with data_bytes (a power of two) of data takes. */
static inline size_t otp_ring_bytes(uint32_t data_bytes)
{
    return sizeof(struct otp_ring) + data_bytes;
}

/* Makes mapped memory a ring. Context: hot, before anybody else knows it. */
void otp_ring_init(struct otp_ring *r, uint32_t data_bytes);
/* Room for a record of depth frames and tag_words, or NULL when the ring is full. Context: hot,
 * producer. */
struct otp_record *otp_ring_reserve(struct otp_ring *r, unsigned depth, unsigned tag_words);
/* Publishes the record last reserved. Context: hot, producer. */
void otp_ring_commit(struct otp_ring *r, const struct otp_record *rec);
/* Bytes written and not yet read. Context: any. */
uint64_t otp_ring_used(const struct otp_ring *r);
/* The oldest record, or NULL; stays valid until otp_ring_pop. Context: worker, consumer. */
const struct otp_record *otp_ring_peek(struct otp_ring *r);
/* Frees the record that otp_ring_peek gave. Context: worker, consumer. */
void otp_ring_pop(struct otp_ring *r);

#endif
