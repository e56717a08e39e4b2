/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample knows of the work that its thread was doing: the span, labels of the program,
 * attributes of the thread context. Built by hot code, carried as bytes through rings and accounts,
 * and understood by the worker.
 *
 * Two tags are equal when their first otp_tag_bytes() bytes are: what is not used is zero.
 */
#ifndef OTP_BASE_TAG_H
#define OTP_BASE_TAG_H

#include <stddef.h>
#include <stdint.h>

#define OTP_TAG_LABELS_MAX 508U
#define OTP_TAG_ATTRS_MAX 612U /* with its head of 28 bytes a record of the recommended 640 */
#define OTP_TAG_KEY_MAX 127U
#define OTP_TAG_VALUE_MAX 255U
#define OTP_TAG_REFUSED_MAX 16U /* keys of labels without room that are remembered */

struct otp_tag {
    uint8_t trace_id[16]; /* all zero: no span */
    uint8_t span_id[8];
    uint16_t attr_bytes;  /* of data: entries of a thread context, as they were published */
    uint16_t label_bytes; /* behind them: entries with struct otp_tag_label in front */
    uint16_t lost;        /* labels and attributes that found no room */
    uint16_t refused;     /* hashes (uint32_t) behind those: keys whose last label found no room */
    uint8_t data[OTP_TAG_ATTRS_MAX + OTP_TAG_LABELS_MAX + OTP_TAG_REFUSED_MAX * sizeof(uint32_t)];
};

/* In front of a label's key and value, which lie one behind the other without NUL. */
struct otp_tag_label {
    uint16_t before; /* where the label before it begins; OTP_TAG_NO_LABEL: it is the first */
    uint8_t is_int;  /* the value is an int64_t */
    uint8_t key_len;
    uint8_t value_len;
    uint8_t reserved;
};

#define OTP_TAG_NO_LABEL UINT16_MAX
#define OTP_TAG_HEAD offsetof(struct otp_tag, data)

_Static_assert(sizeof(struct otp_tag) % 8 == 0 && offsetof(struct otp_tag, data) % 8 == 0, "words");

/* Bytes of data in use. Context: hot. */
static inline size_t otp_tag_used(const struct otp_tag *t)
{
    return (size_t)t->attr_bytes + t->label_bytes + t->refused * sizeof(uint32_t);
}

/* Bytes of the tag in use, a multiple of 8. Context: hot. */
static inline size_t otp_tag_bytes(const struct otp_tag *t)
{
    return (OTP_TAG_HEAD + otp_tag_used(t) + 7) & ~(size_t)7;
}

#endif
