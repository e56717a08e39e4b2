/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/trouble.h"

#include <stddef.h>
#include <string.h>

#include "core/base/map.h"

/* A place for the kind: its own, a free one, or one whose time is over; false: be quiet. */
static bool find_place(const struct otp_trouble *t, uint64_t kind, uint64_t time_ns, size_t *out)
{
    bool has_place = false;
    for (size_t i = 0; i < OTP_TROUBLE_KINDS; i++) {
        bool is_over = t->kinds[i] == 0 || time_ns - t->said_ns[i] >= OTP_TROUBLE_QUIET_NS;
        if (t->kinds[i] == kind) {
            *out = i;
            return is_over;
        }
        if (is_over && !has_place) {
            *out = i;
            has_place = true;
        }
    }
    return has_place;
}

bool otp_trouble_comes(struct otp_trouble *t, uint64_t kind, uint64_t time_ns, uint64_t *out_before)
{
    size_t place = 0;
    bool is_known = t->now == kind;
    t->now = kind;
    t->count++;
    if (is_known || !find_place(t, kind, time_ns, &place)) {
        return false;
    }
    *out_before = t->count - 1;
    t->kinds[place] = kind;
    t->said_ns[place] = time_ns;
    t->count = 1;
    t->has_spoken = true;
    return true;
}

bool otp_trouble_ends(struct otp_trouble *t, uint64_t *out_count)
{
    bool is_said = t->has_spoken && t->now != 0;
    t->now = 0;
    t->has_spoken = false;
    if (is_said) {
        *out_count = t->count;
        t->count = 0;
    }
    return is_said;
}

uint64_t otp_trouble_kind(const char *text, uint64_t number)
{
    return otp_hash_bytes(text, strlen(text), number) | 1U;
}
