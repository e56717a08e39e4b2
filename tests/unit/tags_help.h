/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of tags share: a table of them that has room for all that they do. */
#ifndef OTP_UNIT_TAGS_HELP_H
#define OTP_UNIT_TAGS_HELP_H

#include "core/base/heap.h"
#include "core/intern/tags.h"

static struct otp_heap heap;
static struct otp_tags tags;

static void tags_begin(bool (*name_of)(void *arg, uint8_t idx, struct otp_text *out))
{
    otp_heap_init(&heap, (size_t)64 << 20);
    otp_tags_init(&tags, &heap, name_of, NULL);
    tags.max_values = 1000;
    tags.max_entries = 1000;
    tags.max_uses = 1000;
}

static void tear_down(void)
{
    otp_heap_reset(&heap);
}

#endif
