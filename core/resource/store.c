/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource/store.h"

#include <string.h>

#include "core/base/utf8.h"

/* Number of the attribute of that key; r->count: none. */
static size_t find(const struct otp_resource *r, struct otp_text key)
{
    size_t i = 0;
    while (i < r->count && (r->attrs[i].key.len != key.len ||
                            memcmp(r->attrs[i].key.data, key.data, key.len) != 0)) {
        i++;
    }
    return i;
}

const struct otp_resource_attr *otp_resource_find(const struct otp_resource *r, const char *key)
{
    size_t i = find(r, otp_text_of(key));
    return i == r->count ? NULL : &r->attrs[i];
}

struct otp_resource_attr *otp_resource_add(struct otp_resource *r, struct otp_text key)
{
    size_t i = find(r, key);
    if (i == OTP_RESOURCE_ATTRS_MAX) {
        return NULL;
    }
    if (i == r->count) {
        r->attrs[i] = (struct otp_resource_attr){.key = key, .text = otp_text_make("", 0)};
        r->count++;
    }
    return &r->attrs[i];
}

void otp_resource_remove(struct otp_resource *r, const char *key)
{
    size_t i = find(r, otp_text_of(key));
    if (i < r->count) {
        r->count--;
        r->attrs[i] = r->attrs[r->count];
    }
}

void otp_resource_set(struct otp_resource *r, const char *key, struct otp_text value)
{
    size_t room = sizeof(r->store) - r->used;
    /* Each byte that is not valid becomes three. */
    if (value.len == 0 || value.len > room / 3 || otp_resource_find(r, key) != NULL) {
        return;
    }
    struct otp_resource_attr *a = otp_resource_add(r, otp_text_of(key));
    if (a != NULL) {
        char *copy = r->store + r->used;
        a->text = otp_text_make(copy, otp_utf8_clean(value, copy, room));
        r->used += a->text.len;
    }
}

void otp_resource_set_int(struct otp_resource *r, const char *key, int64_t value)
{
    if (otp_resource_find(r, key) == NULL) {
        struct otp_resource_attr *a = otp_resource_add(r, otp_text_of(key));
        if (a != NULL) {
            a->is_int = true;
            a->number = value;
        }
    }
}
