/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/backlog.h"

#include <string.h>

#include "core/base/sys.h"
#include "core/export/retry.h"

#define SECOND_NS UINT64_C(1000000000)
#define WAIT_MAX_NS (3600 * SECOND_NS)
#define SPOOL_FIRST_NS (10 * SECOND_NS) /* then the first look for what others have left */
#define SPOOL_LOOK_NS (30 * SECOND_NS)  /* an empty spool is looked at again */

void otp_backlog_init(struct otp_backlog *b, struct otp_sink *sink,
                      const struct otp_backlog_options *options)
{
    memset(b, 0, sizeof(*b));
    b->sink = sink;
    b->options = *options;
    b->queue.heap = options->heap;
    for (size_t i = 0; i < OTP_BACKLOG_TAKEN_MAX; i++) {
        b->taken[i].fd = OTP_FD_NONE;
    }
}

/* ---- the spool ---- */

/* Says once what is wrong with the spool. */
static void note_spool(struct otp_backlog *b, const char *what)
{
    struct otp_line *note = &b->sink->note;
    if (b->is_spool_failing) {
        return;
    }
    b->is_spool_failing = true;
    if (b->sink->is_note_of_error && !b->sink->is_note_of_refusal && note->len > 0) {
        otp_line_str(note, "; "); /* behind what else is wrong with the settings */
    } else {
        note->len = 0;
        b->sink->is_note_of_refusal = false;
    }
    b->sink->is_note_of_error = true;
    otp_line_str(note, "the folder of OTELPROF_SPOOL cannot be ");
    otp_line_str(note, what);
    otp_line_str(note, ": ");
    otp_line_str(note, otp_errno_text(b->spool.error));
}

void otp_backlog_open_spool(struct otp_backlog *b, const struct otp_backlog_spool *where)
{
    static const char *const endings[] = {"", ".gz", ".zst"};
    struct otp_line identity = {0};
    struct otp_line extension = {0};
    struct otp_spool_options o = {.folder = where->folder, .base_path = where->base_path};

    if (where->folder.len == 0) {
        return;
    }
    otp_line_bytes(&identity, where->service.data, where->service.len);
    otp_line_str(&identity, "\n");
    otp_line_bytes(&identity, where->destination.data, where->destination.len);
    otp_line_str(&extension, b->sink->format == OTP_FORMAT_JSONL ? ".jsonl" : ".otlp");
    otp_line_str(&extension, endings[b->sink->compression]);
    o.identity = otp_text_make(identity.text, identity.len);
    o.extension = otp_text_make(extension.text, extension.len);
    b->has_spool = otp_spool_init(&b->spool, &o);
    b->spool_ns = otp_sys_monotonic_ns() + otp_retry_pause_ns(1, SPOOL_FIRST_NS, SPOOL_FIRST_NS);
    if (!b->has_spool) {
        note_spool(b, "used");
    }
}

static void release(struct otp_backlog *b, struct otp_queue_item *item)
{
    if (item != NULL && item->file != NULL) {
        otp_spool_release(item->file);
    }
    otp_queue_free_item(&b->queue, item);
}

/* Into the spool; false: it does not take it. What came from there stays there. */
static bool shed(struct otp_backlog *b, struct otp_queue_item *item)
{
    if (item->file == NULL &&
        (!b->has_spool || otp_spool_put(&b->spool, item->bytes, item->len) != OTP_OK)) {
        if (b->has_spool) {
            note_spool(b, "written to");
        }
        return false;
    }
    b->is_spool_failing = item->file == NULL ? false : b->is_spool_failing;
    release(b, item);
    b->sink->dropped_messages += b->spool.dropped - b->spool_dropped_seen;
    b->spool_dropped_seen = b->spool.dropped;
    return true;
}

bool otp_backlog_rescue(struct otp_backlog *b)
{
    while (b->queue.first != NULL) {
        struct otp_queue_item *item = otp_queue_take_first(&b->queue);
        if (!shed(b, item)) {
            otp_queue_prepend(&b->queue, item);
            return false;
        }
    }
    return true;
}

static struct otp_spooled *free_place(struct otp_backlog *b)
{
    for (size_t i = 0; i < OTP_BACKLOG_TAKEN_MAX; i++) {
        if (b->taken[i].fd.fd < 0) {
            return &b->taken[i];
        }
    }
    return NULL;
}

bool otp_backlog_has_next(struct otp_backlog *b)
{
    uint64_t now = otp_sys_monotonic_ns();
    if (b->queue.first != NULL) {
        return true;
    }
    struct otp_spooled *place = free_place(b);
    if (!b->has_spool || now < b->spool_ns || now < b->retry_ns || place == NULL) {
        return false;
    }
    struct otp_queue_item *item = otp_spool_take(&b->spool, &b->queue, place);
    if (item == NULL) {
        b->spool_ns = now + otp_retry_pause_ns(1, SPOOL_LOOK_NS, SPOOL_LOOK_NS);
        return false;
    }
    otp_queue_prepend(&b->queue, item);
    return true;
}

/* ---- the queue ---- */

bool otp_backlog_make_room(struct otp_backlog *b, size_t len, bool is_under_way)
{
    struct otp_queue *q = &b->queue;
    while (q->first != NULL && q->bytes + len > b->options.queue_bytes) {
        if (is_under_way && q->first->next == NULL) {
            return false;
        }
        struct otp_queue_item *item =
            is_under_way ? otp_queue_take_second(q) : otp_queue_take_first(q);
        if (!shed(b, item)) {
            b->sink->displaced_messages++;
            otp_backlog_drop(b, item);
        }
    }
    return true;
}

bool otp_backlog_append(struct otp_backlog *b, const struct otp_message *m)
{
    struct otp_queue_item *item = otp_queue_new_item(&b->queue, m->len);
    if (item == NULL) {
        return false;
    }
    memcpy(item->bytes, m->data, m->len);
    otp_queue_append(&b->queue, item);
    return true;
}

void otp_backlog_settle(struct otp_backlog *b, bool is_idle)
{
    if (is_idle && b->failures > 0 && b->retry_ns > otp_sys_monotonic_ns()) {
        (void)otp_backlog_rescue(b);
    }
}

struct otp_queue_item *otp_backlog_take(struct otp_backlog *b)
{
    return otp_queue_take_first(&b->queue);
}

void otp_backlog_put_back(struct otp_backlog *b, struct otp_queue_item *item)
{
    otp_queue_prepend(&b->queue, item);
}

void otp_backlog_finish(struct otp_backlog *b, struct otp_queue_item *item)
{
    if (item != NULL && item->file != NULL && !otp_spool_done(&b->spool, item->file)) {
        b->has_spool = false;
        note_spool(b, "emptied");
    }
    otp_queue_free_item(&b->queue, item);
}

void otp_backlog_drop(struct otp_backlog *b, struct otp_queue_item *item)
{
    b->sink->dropped_messages++;
    b->sink->dropped_bytes += item->len;
    otp_backlog_finish(b, item);
}

/* ---- attempts ---- */

void otp_backlog_succeeded(struct otp_backlog *b)
{
    b->failures = 0;
    b->retry_ns = 0;
    b->told_ns = 0;
    b->spool_ns = 0;
}

void otp_backlog_failed(struct otp_backlog *b, bool is_told, uint64_t wait_ns)
{
    uint64_t now = otp_sys_monotonic_ns();
    b->failures++;
    b->retry_ns =
        now + otp_retry_pause_ns(b->failures, b->options.backoff_min_ns, b->options.backoff_max_ns);
    b->told_ns = 0;
    if (is_told) {
        /* All clients were told the same: a tenth more by chance spreads them. */
        uint64_t wait = wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS;
        b->told_ns = now + wait + otp_retry_pause_ns(1, wait / 10 + 1, wait / 10 + 1);
    }
    b->retry_ns = b->retry_ns > b->told_ns ? b->retry_ns : b->told_ns;
    b->spool_ns = b->retry_ns;
    (void)otp_backlog_rescue(b);
}

void otp_backlog_hurry(struct otp_backlog *b, uint64_t pause_ns)
{
    uint64_t soon = otp_sys_monotonic_ns() + pause_ns;
    soon = soon > b->told_ns ? soon : b->told_ns;
    b->retry_ns = b->retry_ns < soon ? b->retry_ns : soon;
}

uint64_t otp_backlog_wake_ns(const struct otp_backlog *b)
{
    if (b->queue.first != NULL) {
        return b->retry_ns;
    }
    uint64_t look = b->spool_ns > b->retry_ns ? b->spool_ns : b->retry_ns;
    return b->has_spool ? look : UINT64_MAX;
}

void otp_backlog_publish(struct otp_backlog *b)
{
    b->sink->queued_messages = b->queue.count;
    b->sink->queued_bytes = b->queue.bytes;
}

void otp_backlog_close(struct otp_backlog *b)
{
    while (!otp_backlog_rescue(b)) {
        otp_backlog_drop(b, otp_queue_take_first(&b->queue));
    }
    otp_backlog_publish(b);
}

void otp_backlog_abandon(struct otp_backlog *b)
{
    for (size_t i = 0; i < OTP_BACKLOG_TAKEN_MAX; i++) {
        otp_spool_release(&b->taken[i]);
    }
    b->queue = (struct otp_queue){.heap = b->queue.heap};
    otp_backlog_publish(b);
}
