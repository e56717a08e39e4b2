/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/deliver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/sys.h"
#include "core/encode/compress.h"
#include "core/encode/json.h"
#include "tools/otelprof/gather.h"
#include "tools/otelprof/product.h"
#include "tools/otelprof/progress.h"

#define HEAP_MAX ((size_t)2 << 30)
#define QUEUE_MAX ((size_t)64 << 20)
#define STEP_NS UINT64_C(100000000)    /* of waiting at once */
#define SILENT_NS UINT64_C(2000000000) /* of waiting, until it is said */

extern char **environ;

static void report(void *arg, enum otp_log_level level, const char *line, size_t len)
{
    (void)arg;
    (void)level;
    (void)fprintf(stderr, "otelprof send: %.*s\n", (int)len, line);
}

/* A word about the last failure of the sink. */
static void explain(struct otp_delivery *d)
{
    struct otp_line line = {0};
    if (!otp_sink_take_note(&d->peer.base, &line)) {
        otp_sink_describe(&d->peer.base, &line);
    }
    (void)snprintf(d->why, sizeof(d->why), "%.*s", (int)line.len, line.text);
}

static bool load_conf(struct otp_delivery *d, const struct otp_command *command, const char *output)
{
    if (setenv("OTELPROF_OUTPUT", output == NULL ? "otlp" : output, 1) != 0) {
        (void)fprintf(stderr, "otelprof send: no memory\n");
        return false;
    }
    otp_conf_load(&d->conf, environ, report, NULL);
    d->conf.spool = (struct otp_text){0}; /* what is sent is kept by whoever has it */
    if (d->conf.output_count == 1 && otp_peer_is(d->conf.outputs[0].kind)) {
        return true;
    }
    (void)otp_usage_error(command,
                          "\"%s\" is none of otlp, http://…, https://…, "
                          "grpc://HOST:PORT, tcp:HOST:PORT, unix:PATH",
                          output);
    return false;
}

bool otp_delivery_open(struct otp_delivery *d, const struct otp_command *command,
                       const char *output, uint64_t timeout_ns)
{
    static char folder[4096]; /* of the process: the same for all */

    memset(d, 0, sizeof(*d));
    if (!load_conf(d, command, output)) {
        return false;
    }
    otp_heap_init(&d->heap, HEAP_MAX);
    struct otp_peer_setup setup = {
        .conf = &d->conf,
        .base_path = otp_text_of(getcwd(folder, sizeof(folder)) == NULL ? "" : folder),
        .heap = &d->heap,
        .queue_bytes = QUEUE_MAX,
        .wants_receipt = true,
        .output_name = "the address of -o",
    };
    d->timeout_ns = timeout_ns;
    d->request_max = otp_peer_request_max(&d->conf.outputs[0], &setup);
    d->is_open = otp_peer_open(&d->peer, &d->conf.outputs[0], &setup) == OTP_OK;
    if (!d->is_open) {
        explain(d);
        (void)fprintf(stderr, "otelprof send: %s\n", d->why);
        otp_delivery_close(d);
    }
    return d->is_open;
}

void otp_delivery_close(struct otp_delivery *d)
{
    otp_sink_close(&d->peer.base);
    otp_heap_reset(&d->heap);
    d->is_open = false;
}

/* ---- one request ---- */

/* Who looks at a terminal shall know why nothing happens. */
static void tell_wait(struct otp_delivery *d)
{
    struct otp_line line = {0};
    d->has_told_wait = true;
    otp_sink_describe(&d->peer.base, &line);
    otp_progress_end();
    (void)fprintf(stderr, "otelprof send: waiting for up to %llu s: %.*s\n",
                  (unsigned long long)(d->timeout_ns / UINT64_C(1000000000)), (int)line.len,
                  line.text);
}

/* Waits until the message is delivered, refused, or its time is over. */
static enum otp_delivered await(struct otp_delivery *d)
{
    struct otp_sink *s = &d->peer.base;
    uint64_t refused = s->dropped_messages;
    uint64_t began = otp_sys_monotonic_ns();
    uint64_t limit = began + d->timeout_ns;

    while (s->queued_messages > 0 || s->unconfirmed_messages > 0) {
        uint64_t now = otp_sys_monotonic_ns();
        if (now >= limit) {
            explain(d);
            return OTP_DELIVERY_NOT_NOW;
        }
        if (now - began >= SILENT_NS && !d->has_told_wait) {
            tell_wait(d);
        }
        uint64_t until = now + STEP_NS < limit ? now + STEP_NS : limit;
        /* With nothing queued, what was sent is waited for as at the end. */
        (void)otp_sink_pump(s, until, s->queued_messages == 0);
    }
    if (s->dropped_messages > refused) {
        explain(d);
        return OTP_DELIVERY_REFUSED;
    }
    return OTP_DELIVERED;
}

static enum otp_delivered put(struct otp_delivery *d, const void *data, size_t len)
{
    struct otp_message m = {.data = data, .len = len};
    struct otp_sink *s = &d->peer.base;
    uint64_t refused = s->dropped_messages;
    enum otp_status status = otp_sink_put(s, &m, 0);
    if (status != OTP_OK && status != OTP_AGAIN) {
        explain(d);
        return OTP_DELIVERY_IMPOSSIBLE;
    }
    if (s->dropped_messages > refused) {
        explain(d);
        return OTP_DELIVERY_REFUSED;
    }
    return await(d);
}

/* One ProfilesData in the encoding that the other side wants. */
static enum otp_delivered send_one(struct otp_delivery *d, const void *data, size_t len)
{
    const struct otp_sink *s = &d->peer.base;
    struct otp_buf text;
    struct otp_buf packed;
    struct otp_buf *last = NULL;
    enum otp_status status = OTP_OK;

    otp_buf_init(&text, &d->heap, HEAP_MAX);
    otp_buf_init(&packed, &d->heap, HEAP_MAX);
    if (s->format == OTP_FORMAT_JSONL) {
        status = otp_json_profiles(otp_text_make(data, len), &text);
        last = &text;
    }
    const void *in = last == NULL ? data : last->data;
    size_t in_len = last == NULL ? len : last->len;
    if (status == OTP_OK && s->compression == OTP_COMPRESSION_GZIP) {
        status = otp_gzip(&d->heap, in, in_len, OTP_GZIP_LEVEL, &packed);
        last = &packed;
    } else if (status == OTP_OK && s->compression == OTP_COMPRESSION_ZSTD) {
        status = otp_zstd(&d->heap, in, in_len, OTP_ZSTD_LEVEL, &packed);
        last = &packed;
    }
    enum otp_delivered result = OTP_DELIVERY_IMPOSSIBLE;
    if (status == OTP_OK) {
        result = last == NULL ? put(d, data, len) : put(d, last->data, last->len);
    } else {
        (void)snprintf(d->why, sizeof(d->why), "%s", otp_status_text(status));
    }
    otp_buf_fini(&packed);
    otp_buf_fini(&text);
    return result;
}

/* ---- in parts ---- */

static enum otp_delivered send_each(struct otp_delivery *d, struct otp_product *p)
{
    enum otp_delivered result = OTP_DELIVERED;
    for (size_t number = 1; result == OTP_DELIVERED; number++) {
        struct otp_buf part;
        otp_buf_init(&part, &d->heap, HEAP_MAX);
        enum otp_status status = otp_otlp_builder_finish_part(p->otlp, number, &part);
        if (status == OTP_OK) {
            result = send_one(d, part.data, part.len);
        }
        otp_buf_fini(&part);
        if (status == OTP_NOT_FOUND) {
            return result;
        }
        if (status != OTP_OK) {
            (void)snprintf(d->why, sizeof(d->why), "%s", otp_status_text(status));
            return OTP_DELIVERY_IMPOSSIBLE;
        }
    }
    return result;
}

/* Each profile of the message as a message of its own, under the ids that they have. */
static enum otp_delivered send_parts(struct otp_delivery *d, struct otp_profiles *m)
{
    static const struct otp_command nobody = {.name = "send"};
    struct otp_profile_set one = {.messages = &m, .message_count = 1};
    struct otp_product_options options = {.mark_symbols = false};
    struct otp_gather g;
    struct otp_product p;
    enum otp_delivered result = OTP_DELIVERY_IMPOSSIBLE;

    (void)snprintf(d->why, sizeof(d->why), "%s", otp_status_text(OTP_NO_MEMORY));
    if (!otp_product_init(&p, &nobody, "part.otlp")) {
        return result;
    }
    if (otp_gather_init(&g, &one, OTP_GATHER_KEEP, false)) {
        enum otp_status status = otp_gather_tell(&g, &p, &options, false);
        if (status == OTP_OK) {
            result = send_each(d, &p);
        } else {
            (void)snprintf(d->why, sizeof(d->why), "%s", otp_status_text(status));
        }
    }
    otp_gather_fini(&g);
    otp_product_fini(&p);
    return result;
}

enum otp_delivered otp_delivery_send(struct otp_delivery *d, const struct otp_profile_set *set)
{
    enum otp_delivered result = OTP_DELIVERED;
    for (size_t i = 0; i < set->message_count && result == OTP_DELIVERED; i++) {
        struct otp_profiles *m = set->messages[i];
        result = m->size > d->request_max && m->profiles.count > 1 ? send_parts(d, m)
                                                                   : send_one(d, m->bytes, m->size);
    }
    return result;
}
