/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program says of the work of the calling thread through otelprof.h: the current span, and
 * a stack of labels. The thread writes, and only itself or its signal handler reads.
 *
 * I1  The span is valid while has_span is not 0; it is changed with has_span 0.
 *
 * I2  The bytes of a label are written before used says that they are there.
 *
 * I3  has_labels says that they are new before they change, and after that.
 *
 * I4  Once a label found no room, none is kept until that one is popped. Its key has no value
 * meanwhile: those that labels below it, or a thread context, have for the key are not told.
 */
#ifndef OTP_CAPTURE_LABELS_H
#define OTP_CAPTURE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/tag.h"
#include "core/capture/slot.h"
#include "core/capture/thread.h"

/* A key that has no value from a label on which found no room. */
struct otp_refused {
    uint32_t key;  /* hash */
    uint32_t from; /* number of that label among those: lost, when it was the last one */
};

struct otp_labels {
    uint16_t used;          /* bytes of data */
    uint16_t last;          /* where the last label begins; OTP_TAG_NO_LABEL: there is none */
    uint32_t lost;          /* labels above the last one that found no room */
    uint32_t refused_count; /* different keys of those */
    uint32_t unknown_from;  /* the first whose key was one too many; 0: all are known */
    struct otp_refused refused[OTP_TAG_REFUSED_MAX];
    uint8_t data[OTP_TAG_LABELS_MAX];
};

/* No span is current. Context: hot. */
OTP_INLINE void otp_span_clear(void)
{
    otp_tls.has_span = 0;
}

/* Makes a span current: 16 and 8 bytes. NULL or all zero in one of them: none. Context: hot. */
OTP_INLINE void otp_span_set(const void *trace_id, const void *span_id)
{
    uint64_t ids[3] = {0};
    if (OTP_LIKELY(trace_id != NULL && span_id != NULL)) {
        memcpy(ids, trace_id, 16);
        memcpy(ids + 2, span_id, 8);
    }
    otp_tls.has_span = 0;
    otp_signal_fence();
    otp_tls.span[0] = ids[0];
    otp_tls.span[1] = ids[1];
    otp_tls.span[2] = ids[2];
    otp_signal_fence();
    otp_tls.has_span = (ids[0] | ids[1]) != 0 && ids[2] != 0 ? OTP_HAS_NEW : OTP_HAS_NONE;
}

/* Copies the current span, each id unless it is NULL; false, and zeros, when there is none.
 * Context: hot. */
bool otp_span_get(void *trace_id, void *span_id);
/* Adds a label; what has no room is remembered as lost. Context: hot, not in a signal handler. */
void otp_labels_push(const char *key, const char *value);
void otp_labels_push_int(const char *key, int64_t value);
/* Takes the last one away. Context: hot, not in a signal handler. */
void otp_labels_pop(void);

/* Fills t from span, labels and thread context of the calling thread; see otp_tag_take. */
bool otp_tag_fill(struct otp_tag *t);

/* Whether a sample of the calling thread may carry anything. Context: hot. */
OTP_INLINE bool otp_tag_may_be(void)
{
    return OTP_UNLIKELY(
        (otp_tls.has_span | otp_tls.has_labels | otp_load_relaxed(&otp_slot_kind)) != 0);
}

/* What the calling thread's sample shall carry; false: nothing, and t is untouched. Context: hot.
 */
OTP_INLINE bool otp_tag_take(struct otp_tag *t)
{
    return otp_tag_may_be() && otp_tag_fill(t);
}

/* A tick has seen span and labels; those that are new are taken to be so since that reading of the
 * thread's CPU clock. Context: hot, in the thread's handler. */
OTP_INLINE void otp_labels_note_seen(uint64_t since_ns)
{
    if (otp_tls.has_span == OTP_HAS_NEW || otp_tls.has_labels == OTP_HAS_NEW) {
        otp_tls.since_ns = since_ns;
        otp_tls.has_span += otp_tls.has_span == OTP_HAS_NEW;
        otp_tls.has_labels += otp_tls.has_labels == OTP_HAS_NEW;
    }
}

/* Whether all that t says, which was just taken, has been so since otp_tls.since_ns, without a
 * break. Of what a thread context says nobody knows that. Context: hot. */
OTP_INLINE bool otp_tag_is_lasting(const struct otp_tag *t)
{
    static const uint8_t none[sizeof(t->span_id)];
    bool is_own_span =
        otp_tls.has_span == OTP_HAS_SEEN || memcmp(t->span_id, none, sizeof(none)) == 0;
    return is_own_span && otp_tls.has_span != OTP_HAS_NEW && otp_tls.has_labels != OTP_HAS_NEW &&
           t->attr_bytes == 0;
}

#endif
