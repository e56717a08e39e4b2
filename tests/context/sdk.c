/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create */
#include "sdk.h"

#include <string.h>

#include "../otel_ctx.h"

extern __thread struct sdk_record *otel_thread_ctx_v1;
__thread struct sdk_record *otel_thread_ctx_v1 __attribute__((visibility("default")));
#ifdef LARGE
static __thread struct sdk_record records[64];
#else
static __thread struct sdk_record records[2];
#endif
static __thread unsigned turn;

static struct otel_ctx *context;
static unsigned char *out;

static void put(unsigned number, const void *data, size_t len)
{
    *out++ = (unsigned char)(number << 3 | 2);
    *out++ = (unsigned char)(len & 0x7f) | 0x80;
    *out++ = (unsigned char)(len >> 7);
    if (data != NULL) {
        memcpy(out, data, len);
        out += len;
    }
}

static void put_text(unsigned number, const char *text)
{
    put(number, text, strlen(text));
}

/* KeyValue {key = 1, value = 2 {string_value = 1}} as attribute 2 of the context */
static void put_attribute(const char *key, const char *value)
{
    size_t k = strlen(key) + 3;
    size_t v = strlen(value) + 3;
    put(2, NULL, k + 3 + v);
    put_text(1, key);
    put(2, NULL, v);
    put_text(1, value);
}

static void put_names(const char *const *names, unsigned count)
{
    const char *key = "threadlocal.attribute_key_map";
    size_t list = 0;
    for (unsigned i = 0; i < count; i++) {
        list += 3 + 3 + strlen(names[i]);
    }
    put(2, NULL, strlen(key) + 3 + 3 + 3 + list);
    put_text(1, key);
    put(2, NULL, 3 + list);
    put(5, NULL, list);
    for (unsigned i = 0; i < count; i++) {
        put(1, NULL, 3 + strlen(names[i]));
        put_text(1, names[i]);
    }
}

void sdk_publish(const char *schema, const char *const *names, unsigned count)
{
    static uint64_t time;
    if (context == NULL) {
        context = otel_ctx_map();
    }
    __atomic_store_n(&context->published, 0, __ATOMIC_SEQ_CST);
    unsigned char *payload = (unsigned char *)context + OTEL_CTX_PAYLOAD;
    out = payload;
    put_attribute("threadlocal.schema_version", schema);
    put_names(names, count);
    otel_ctx_publish(context, (size_t)(out - payload), ++time);
}

void sdk_attach(uint8_t number, const char *value)
{
    struct sdk_record *r = &records[turn++ % 2];
    memset(r, 0, 28);
    r->trace_id[0] = number;
    r->trace_id[15] = 0x77;
    r->span_id[0] = number;
    r->span_id[7] = 0x77;
    r->valid = 1;
    if (value != NULL) {
        size_t len = strlen(value);
        r->attrs[0] = 0;
        r->attrs[1] = (uint8_t)len;
        memcpy(r->attrs + 2, value, len);
        r->attr_bytes = (uint16_t)(2 + len);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    otel_thread_ctx_v1 = r;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void sdk_detach(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    otel_thread_ctx_v1 = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

struct sdk_record **sdk_slot(void)
{
    return &otel_thread_ctx_v1;
}
