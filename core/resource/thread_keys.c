/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource/thread_keys.h"

#include <string.h>

#include "core/base/annot.h"
#include "core/resource/process_context.h"

#define KEYS_MAX 256U
#define STORE_BYTES ((size_t)16 << 10)

static struct {
    struct otp_text names[KEYS_MAX];
    uint32_t count;
    size_t used;
    bool is_foreign;
    bool is_fresh;
    char store[STORE_BYTES];
} keys;

/* An index that has no room for its name still counts. */
static void add_name(void *arg, struct otp_text name)
{
    (void)arg;
    if (keys.count == KEYS_MAX) {
        return;
    }
    struct otp_text *to = &keys.names[keys.count++];
    bool has_room = name.len <= sizeof(keys.store) - keys.used;
    *to = otp_text_make(keys.store + keys.used, has_room ? name.len : 0);
    memcpy(keys.store + keys.used, name.data, to->len);
    keys.used += to->len;
}

static bool is_text(struct otp_text t, const char *s)
{
    return t.len == strlen(s) && memcmp(t.data, s, t.len) == 0;
}

static void take(void *arg, struct otp_text key, struct otp_text value)
{
    struct otp_text version;
    bool *is_foreign = arg;
    if (is_text(key, "threadlocal.attribute_key_map")) {
        keys.count = 0;
        keys.used = 0;
        otp_process_context_strings(value, add_name, NULL);
    } else if (is_text(key, "threadlocal.schema_version")) {
        *is_foreign = !otp_process_context_string(value, &version) ||
                      (!is_text(version, "tlsdesc_v1_dev") && !is_text(version, "tls_v1"));
    }
}

void otp_thread_keys_refresh(void)
{
    keys.is_fresh = true;
    if (!otp_process_context_exists()) {
        return; /* a fork child's SDK may not have come to it yet, and the list only grows */
    }
    bool is_foreign = false;
    if (otp_process_context_each(take, &is_foreign)) {
        keys.is_foreign = is_foreign;
    }
}

void otp_thread_keys_expire(void)
{
    keys.is_fresh = false;
}

bool otp_thread_keys_name(void *arg, uint8_t idx, struct otp_text *out)
{
    (void)arg;
    if (idx >= keys.count && !keys.is_fresh) {
        otp_thread_keys_refresh();
    }
    if (idx >= keys.count || keys.is_foreign) {
        return false;
    }
    *out = keys.names[idx];
    return true;
}

bool otp_thread_keys_are_foreign(void)
{
    return keys.is_foreign;
}
