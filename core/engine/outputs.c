/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/counters.h"
#include "core/base/map.h"
#include "core/base/sys.h"
#include "core/base/utf8.h"
#include "core/encode/compress.h"
#include "core/encode/json.h"
#include "core/engine/peers.h"
#include "core/engine/state.h"
#include "core/engine/trouble.h"
#include "core/export/sink.h"
#include "core/resource/resource.h"

#define MESSAGE_MAX ((size_t)64 << 20)
#define KEPT_MAX_BYTES ((size_t)8 << 20)
#define QUEUE_SHARE 8U   /* of an output's queue in the memory limit: one part in so many */
#define WAITING_SHARE 2U /* of all that waits in the heap: one part in so many */
#define SLICE_NS UINT64_C(20000000) /* of one output, at the end of the process */
#define RETRY_NS UINT64_C(1000000000)
#define HUSH_NS UINT64_C(250000000) /* of a file, that long a failure is not worth a word */
#define NEVER UINT64_MAX
#define HOST_MAX 65
#define CAUSE_MAX 400U /* bytes of what is wrong, in a line that goes on */

/* A message that an output did not take yet. */
struct kept {
    struct kept *next;
    uint64_t flush;
    size_t len;
    unsigned char data[];
};

struct output {
    union {
        struct otp_sink base;
        struct otp_sink_file file;
        union otp_peer peer;
    } sink;
    bool has_peer;          /* which member of the union */
    bool is_served;         /* has the flush under way, or will not have it */
    enum otp_status unmade; /* why not yet */
    bool has_promised;      /* the log says that its profiles are kept */
    bool has_warned;        /* and that they may be lost with the next program */
    uint64_t failing_ns;    /* of a file: when it began to fail; 0: it does not */
    struct otp_line cause;  /* of the last failure, while the process ends; empty: none */
    size_t request_max;     /* bytes before compression; a larger message goes out in parts */
    struct kept *oldest;
    struct kept *newest;
    size_t kept_bytes;
    uint64_t displaced; /* messages that had no room, or gave way */
    uint64_t
        displaced_told;    /* of the sink's and of these, those that a profile that arrived tells */
    uint64_t dropped_seen; /* of the sink's own losses, already counted */
    uint64_t sent_seen;    /* of what it delivered, already known */
    struct otp_trouble trouble; /* with the delivery */
    struct otp_trouble refusal; /* by a receiver that is there */
};

static struct output outputs[OTP_CONF_OUTPUTS_MAX];
static size_t output_count;
static struct otp_heap *memory;
static char host[HOST_MAX];
static size_t host_len;
static bool is_ending; /* there is no later */

static const char will_try[] = "; the profile is kept and tried again";
static const char is_off[] = "; this output is off";

static bool is_failing(const struct output *o)
{
    return o->trouble.now != 0;
}

/* Why it fails; at which step, and of which file, is no news. */
static uint64_t failure_kind(const struct output *o)
{
    const struct otp_sink *s = &o->sink.base;
    /* Whether a peer is seen to close or to reset is chance. */
    bool is_dropped = s->error == EPIPE || s->error == ECONNRESET;
    int error = is_dropped ? ECONNRESET : s->error;
    const char *hint = is_dropped || s->hint == NULL ? "" : s->hint;
    return otp_trouble_kind(hint, (uint64_t)(unsigned)error);
}

/* What is wrong, with room for what becomes of it. */
static void describe_cut(const struct output *o, struct otp_line *line)
{
    otp_sink_describe(&o->sink.base, line);
    line->len = otp_utf8_cut(otp_text_make(line->text, line->len), CAUSE_MAX);
}

/* Says what is wrong, unless that is known, and what becomes of the profiles. */
static void say_failure(struct output *o, const char *outlook)
{
    uint64_t before; /* looks at it, not failures: not told */
    if (!otp_trouble_comes(&o->trouble, failure_kind(o), otp_sys_monotonic_ns(), &before)) {
        return;
    }
    struct otp_line line = {0};
    describe_cut(o, &line);
    otp_line_str(&line, outlook);
    o->has_promised = outlook == will_try;
    otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
}

/* What a file takes after a moment is not worth a word, and a process that ends then needs no
 * promise. */
static bool is_worth_a_word(struct output *o)
{
    uint64_t now = otp_sys_monotonic_ns();
    o->failing_ns = o->failing_ns == 0 ? now : o->failing_ns;
    return o->has_peer || now - o->failing_ns >= HUSH_NS;
}

/* At the end of the process there is one word on an output, when it is known what became of it: see
 * say_end. */
static void log_failure(struct output *o)
{
    if (is_ending) {
        o->cause.len = 0;
        describe_cut(o, &o->cause);
    } else if (o->sink.base.is_hopeless) {
        say_failure(o, is_off);
    } else if (is_worth_a_word(o)) {
        say_failure(o, will_try);
    }
}

static void log_success(struct output *o)
{
    uint64_t count;
    o->failing_ns = 0;
    o->has_warned = false;
    o->displaced_told = o->displaced + o->sink.base.displaced_messages;
    if (otp_trouble_ends(&o->trouble, &count)) {
        struct otp_line line = {0};
        otp_sink_describe(&o->sink.base, &line);
        otp_line_str(&line, ": profiles arrive again");
        otp_engine_log(OTP_LOG_WARN, line.text, line.len);
    }
}

/* Sequences of a name template that mean nothing stay in the name: worth a line. */
static void check_template(struct otp_text name)
{
    struct otp_text unknown = otp_template_unknown(name);
    if (unknown.len > 0) {
        struct otp_line line = {0};
        otp_line_str(&line, "OTELPROF_OUTPUT: \"");
        otp_line_bytes(&line, unknown.data, unknown.len);
        otp_line_str(&line, "\" means nothing (allowed: %e %p %h %t %n %%), it stays as it is");
        otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
    }
}

/* Another program may look for another format under such a name. */
static void check_extension(struct otp_text name)
{
    enum otp_format format;
    enum otp_compression compression;
    if (!otp_format_of_name(name, &format, &compression)) {
        struct otp_line line = {0};
        otp_line_str(&line, "OTELPROF_OUTPUT: the name of file ");
        otp_utf8_show(&line, name, OTP_SHOWN_TARGET_MAX);
        otp_line_str(&line, " does not end in .otlp, .jsonl, .pb or .otep239 (and .gz or .zst): it"
                            " is written as OTLP");
        otp_engine_log(OTP_LOG_WARN, line.text, line.len);
    }
}

static bool open_file(struct output *o, const struct otp_output *conf)
{
    struct otp_sink_file_options options = {
        .name = conf->text,
        .base_path = otp_text_make(otp_engine.cwd, otp_engine.cwd_len),
        .base_fd = AT_FDCWD,
        .program = otp_text_make(otp_engine.program, otp_engine.program_len),
        .host = otp_text_make(host, host_len),
        .start_ns = otp_engine.start_ns,
    };
    check_template(conf->text);
    check_extension(conf->text);
    otp_sink_file_init(&o->sink.file, &options);
    return true;
}

/* False, for the caller to pass on. */
static bool log_unusable(const struct output *o)
{
    struct otp_line line = {0};
    otp_sink_describe(&o->sink.base, &line);
    otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
    return false;
}

/* What may wait of one output. All together leave half of the heap to the flushes: what waits for a
 * peer that never comes must not keep new ones from being made. */
static size_t waiting_bytes(uint64_t most)
{
    uint64_t bytes = memory->limit_bytes / WAITING_SHARE / otp_engine.conf.output_count;
    return bytes < most ? (size_t)bytes : (size_t)most;
}

/* The share of the queue, of one output, in the memory limit. */
static size_t queue_bytes(void)
{
    uint64_t bytes = otp_engine.conf.memory_limit_bytes / QUEUE_SHARE;
    return waiting_bytes(bytes < MESSAGE_MAX ? bytes : MESSAGE_MAX);
}

/* What a receiver says of a message; its refusals end with the first one that it just takes. */
static void log_note(struct output *o)
{
    struct otp_line line;
    uint64_t count;
    bool has_sent = o->sink.base.sent_messages > o->sent_seen;
    bool is_refusal = o->sink.base.is_note_of_refusal;
    bool is_error = o->sink.base.is_note_of_error;
    o->sent_seen = o->sink.base.sent_messages;
    if (otp_sink_take_note(&o->sink.base, &line)) {
        if (!is_refusal) {
            otp_engine_log(is_error ? OTP_LOG_ERROR : OTP_LOG_WARN, line.text, line.len);
            return;
        }
        uint64_t kind = otp_hash_bytes(line.text, line.len, 0) | 1U;
        if (!otp_trouble_comes(&o->refusal, kind, otp_sys_monotonic_ns(), &count)) {
            return;
        }
        if (count > 0) {
            otp_line_str(&line, "; the same or the like before: ");
            otp_line_u64(&line, count);
        }
        otp_engine_log(is_error ? OTP_LOG_ERROR : OTP_LOG_WARN, line.text, line.len);
    } else if (has_sent && otp_trouble_ends(&o->refusal, &count)) {
        line.len = 0;
        otp_sink_describe(&o->sink.base, &line);
        otp_line_str(&line, ": profiles are taken as they are again; not so before: ");
        otp_line_u64(&line, count);
        otp_engine_log(OTP_LOG_WARN, line.text, line.len);
    }
}

static bool open_peer(struct output *o, const struct otp_output *c)
{
    const struct otp_conf *conf = &otp_engine.conf;
    struct otp_peer_setup setup = {
        .conf = conf,
        .base_path = otp_text_make(otp_engine.cwd, otp_engine.cwd_len),
        .service = conf->service_name,
        .heap = memory,
        .queue_bytes = queue_bytes(),
    };
    if (setup.service.len == 0) {
        setup.service = otp_text_make(otp_engine.program, otp_engine.program_len);
    }
    o->has_peer = true;
    o->request_max = otp_peer_request_max(c, &setup);
    bool is_open = otp_peer_open(&o->sink.peer, c, &setup) == OTP_OK;
    log_note(o);
    return is_open || log_unusable(o);
}

static bool open_one(struct output *o, const struct otp_output *c)
{
    o->request_max = SIZE_MAX;
    if (otp_peer_is(c->kind)) {
        return open_peer(o, c);
    }
    return c->kind == OTP_OUTPUT_FILE && open_file(o, c);
}

/* Says now what would fail later: a host may have closed its stderr by the time of the first flush.
 */
static void check(struct output *o)
{
    if (otp_sink_check(&o->sink.base) != OTP_OK) {
        say_failure(o, o->sink.base.is_hopeless ? is_off : "");
    }
}

void otp_outputs_open(struct otp_heap *heap)
{
    const struct otp_conf *conf = &otp_engine.conf;
    memory = heap;
    output_count = 0;
    is_ending = false;
    memset(outputs, 0, sizeof(outputs));
    host_len = otp_resource_host(host, sizeof(host));
    for (size_t i = 0; i < conf->output_count; i++) {
        const struct otp_output *c = &conf->outputs[i];
        if (open_one(&outputs[output_count], c)) {
            check(&outputs[output_count++]);
        }
    }
}

uint64_t otp_outputs_jitter_ns(uint64_t interval_ns)
{
    uint64_t noise = 0;
    for (size_t i = 0; i < output_count; i++) {
        if (outputs[i].has_peer) {
            otp_sys_random(&noise, sizeof(noise));
        }
    }
    return noise % interval_ns;
}

static void drop_oldest(struct output *o)
{
    struct kept *k = o->oldest;
    o->oldest = k->next;
    o->newest = o->oldest == NULL ? NULL : o->newest;
    o->kept_bytes -= k->len;
    otp_heap_free(memory, k);
}

static void count_displaced(struct output *o)
{
    o->displaced++;
    otp_count(OTP_COUNT_EXPORT, OTP_OF_BOTH, 1);
}

static void keep(struct output *o, const struct otp_message *m)
{
    while (o->oldest != NULL && o->kept_bytes + m->len > waiting_bytes(KEPT_MAX_BYTES)) {
        drop_oldest(o);
        count_displaced(o);
    }
    struct kept *k = m->len > KEPT_MAX_BYTES ? NULL : otp_heap_alloc(memory, sizeof(*k) + m->len);
    if (k == NULL) {
        count_displaced(o);
        return;
    }
    k->next = NULL;
    k->flush = m->flush;
    k->len = m->len;
    memcpy(k->data, m->data, m->len);
    if (o->newest != NULL) {
        o->newest->next = k;
    } else {
        o->oldest = k;
    }
    o->newest = k;
    o->kept_bytes += k->len;
}

/* True when the sink took it (delivered, or queued in the sink). */
static bool offer(struct output *o, const struct otp_message *m, uint64_t deadline_ns)
{
    enum otp_status status = otp_sink_put(&o->sink.base, m, deadline_ns);
    if (status == OTP_OK && !o->sink.base.is_unsure) {
        log_success(o);
    }
    return status == OTP_OK || status == OTP_AGAIN;
}

static bool offer_kept(struct output *o, uint64_t deadline_ns)
{
    while (o->oldest != NULL) {
        struct otp_message m = {
            .data = o->oldest->data, .len = o->oldest->len, .flush = o->oldest->flush};
        if (!offer(o, &m, deadline_ns)) {
            log_failure(o);
            return false;
        }
        drop_oldest(o);
    }
    return true;
}

/* The message in an output's compression. out is used when it differs from in. */
static enum otp_status compressed(enum otp_compression wanted, struct otp_message *m,
                                  struct otp_buf *out)
{
    enum otp_status status = OTP_OK;
    if (wanted == OTP_COMPRESSION_GZIP) {
        status = otp_gzip(memory, m->data, m->len, OTP_GZIP_LEVEL, out);
    } else if (wanted == OTP_COMPRESSION_ZSTD) {
        status = otp_zstd(memory, m->data, m->len, OTP_ZSTD_LEVEL, out);
    } else {
        return OTP_OK;
    }
    m->data = out->data;
    m->len = out->len;
    return status;
}

/* The format of the messages that an output's bytes are made of. */
static enum otp_format source_of(const struct output *o)
{
    enum otp_format format = o->sink.base.format;
    return format == OTP_FORMAT_JSONL ? OTP_FORMAT_OTLP : format;
}

unsigned otp_outputs_formats(void)
{
    unsigned formats = 0;
    for (size_t i = 0; i < output_count; i++) {
        formats |= 1U << source_of(&outputs[i]);
    }
    return formats == 0 ? 1U << OTP_FORMAT_OTLP : formats;
}

void otp_outputs_begin_flush(void)
{
    for (size_t i = 0; i < output_count; i++) {
        outputs[i].is_served = false;
    }
}

unsigned otp_outputs_waiting(void)
{
    unsigned formats = 0;
    for (size_t i = 0; i < output_count; i++) {
        formats |= outputs[i].is_served ? 0 : 1U << source_of(&outputs[i]);
    }
    return formats;
}

/* The message in the output's encoding. */
static enum otp_status as_text(enum otp_format wanted, struct otp_message *m, struct otp_buf *out)
{
    if (wanted != OTP_FORMAT_JSONL) {
        return OTP_OK;
    }
    enum otp_status status = otp_json_profiles(otp_text_make(m->data, m->len), out);
    m->data = out->data;
    m->len = out->len;
    return status;
}

/* A profile is lost before the sink has seen it. */
static void say_unmade(struct output *o, enum otp_status status)
{
    uint64_t before;
    uint64_t kind = otp_trouble_kind("unmade", (uint64_t)status);
    otp_count(OTP_COUNT_EXPORT, OTP_OF_BOTH, 1);
    if (otp_trouble_comes(&o->refusal, kind, otp_sys_monotonic_ns(), &before)) {
        struct otp_line line = {0};
        otp_line_str(&line, status == OTP_TOO_LARGE
                                ? "a profile is lost, it is larger than 64 MiB: "
                                : "a profile is lost, it needs more than OTELPROF_MEMORY_LIMIT: ");
        otp_sink_describe(&o->sink.base, &line);
        otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
    }
}

void otp_outputs_give_up(void)
{
    for (size_t i = 0; i < output_count; i++) {
        if (!outputs[i].is_served) {
            outputs[i].is_served = true;
            say_unmade(&outputs[i], outputs[i].unmade);
        }
    }
}

/* Other than OTP_OK: it cannot be made as the output wants it, which has not seen it. */
static enum otp_status put(struct output *o, const struct otp_message *message,
                           uint64_t deadline_ns)
{
    struct otp_message m = *message;
    struct otp_buf text;
    struct otp_buf out;
    if (o->sink.base.is_hopeless) {
        otp_count(OTP_COUNT_EXPORT, OTP_OF_BOTH, 1);
        return OTP_OK;
    }
    otp_buf_init(&text, memory, MESSAGE_MAX);
    otp_buf_init(&out, memory, MESSAGE_MAX);
    enum otp_status status = as_text(o->sink.base.format, &m, &text);
    status = status == OTP_OK ? compressed(o->sink.base.compression, &m, &out) : status;
    if (status == OTP_OK && (!offer_kept(o, deadline_ns) || !offer(o, &m, deadline_ns))) {
        log_failure(o);
        if (o->sink.base.is_hopeless) {
            otp_count(OTP_COUNT_EXPORT, OTP_OF_BOTH, 1);
        } else {
            keep(o, &m);
        }
    }
    otp_buf_fini(&out);
    otp_buf_fini(&text);
    return status;
}

bool otp_outputs_put(enum otp_format format, const struct otp_message *message)
{
    bool is_short = false;
    for (size_t i = 0; i < output_count; i++) {
        struct output *o = &outputs[i];
        if (source_of(o) == format && !o->is_served) {
            o->unmade = message->len > o->request_max ? OTP_OK : put(o, message, 0);
            o->is_served = o->unmade == OTP_OK;
            is_short = is_short || !o->is_served;
        }
    }
    return !is_short;
}

bool otp_outputs_want_parts(enum otp_format format, size_t len)
{
    for (size_t i = 0; i < output_count; i++) {
        if (source_of(&outputs[i]) == format && len > outputs[i].request_max) {
            return true;
        }
    }
    return false;
}

void otp_outputs_put_part(const struct otp_message *part, size_t whole_len)
{
    for (size_t i = 0; i < output_count; i++) {
        if (whole_len > outputs[i].request_max) {
            enum otp_status status = put(&outputs[i], part, 0);
            if (status != OTP_OK) {
                say_unmade(&outputs[i], status);
            }
        }
    }
}

/* One output's turn; returns when it wants the next one. */
static uint64_t pump_one(struct output *o, uint64_t deadline_ns, bool is_last)
{
    struct otp_sink *s = &o->sink.base;
    uint64_t wake = NEVER;
    if (o->oldest != NULL && !offer_kept(o, deadline_ns)) {
        wake = otp_sys_monotonic_ns() + RETRY_NS;
    }
    bool is_behind = otp_sink_pump(s, deadline_ns, is_last) != OTP_OK || o->has_peer;
    if (is_behind && s->failed_step != NULL) {
        log_failure(o);
    } else if (s->failed_step == NULL && o->oldest == NULL && !s->is_unsure) {
        log_success(o);
    }
    log_note(o);
    if (s->dropped_messages > o->dropped_seen) {
        otp_count(OTP_COUNT_EXPORT, OTP_OF_BOTH, s->dropped_messages - o->dropped_seen);
        o->dropped_seen = s->dropped_messages;
    }
    return s->wake_ns < wake ? s->wake_ns : wake;
}

/* Messages of an output that wait. */
static uint64_t waiting(const struct output *o)
{
    uint64_t count = o->sink.base.queued_messages;
    for (const struct kept *k = o->oldest; k != NULL; k = k->next) {
        count++;
    }
    return count;
}

uint64_t otp_outputs_queued(uint64_t *out_bytes)
{
    uint64_t count = 0;
    *out_bytes = 0;
    for (size_t i = 0; i < output_count; i++) {
        count += waiting(&outputs[i]);
        *out_bytes += outputs[i].sink.base.queued_bytes + outputs[i].kept_bytes;
    }
    return count;
}

/* What a file did not take it will not take a moment later either: only peers are waited for, and
 * of them those that may be asked again in time. */
static bool has_queued(uint64_t deadline_ns)
{
    for (size_t i = 0; i < output_count; i++) {
        const struct otp_sink *s = &outputs[i].sink.base;
        bool is_unsure =
            s->unconfirmed_messages > 0 && (otp_engine.conf.spool.len > 0 || s->is_unsure);
        if ((s->queued_messages > 0 && s->told_ns < deadline_ns) || is_unsure) {
            return true;
        }
    }
    return false;
}

/* "; what was kept is lost: 5 profiles", "; the profile is lost", "; 5 profiles are lost". */
static void add_loss(const struct output *o, uint64_t lost, const char *condition,
                     struct otp_line *line)
{
    otp_line_str(line, "; ");
    if (o->has_promised) {
        otp_line_str(line, "what was kept is lost");
        otp_line_str(line, condition);
        otp_line_str(line, ": ");
        otp_line_u64(line, lost);
        otp_line_str(line, lost == 1 ? " profile" : " profiles");
        return;
    }
    if (lost == 1) {
        otp_line_str(line, "the profile is lost");
    } else {
        otp_line_u64(line, lost);
        otp_line_str(line, " profiles are lost");
    }
    otp_line_str(line, condition);
}

/* What is lost when nothing is tried any more: what waits, and what had no room before that. */
static uint64_t loss(const struct output *o)
{
    const struct otp_sink *s = &o->sink.base;
    uint64_t left = waiting(o) + (s->is_unsure ? s->unconfirmed_messages : 0);
    uint64_t displaced = o->displaced + s->displaced_messages - o->displaced_told;
    return left == 0 ? 0 : left + displaced;
}

/* The last word on an output, unless its trouble has been said and no promise is to be taken back.
 */
static void say_end(struct output *o)
{
    struct otp_line line = {0};
    uint64_t lost = loss(o);
    bool is_said = is_failing(o) && (lost == 0 || !o->has_promised);
    if (is_said || (lost == 0 && o->sink.base.failed_step == NULL)) {
        return;
    }
    o->has_promised = o->has_promised && is_failing(o);
    if (o->cause.len > 0) {
        line = o->cause; /* not that the time is up */
    } else {
        describe_cut(o, &line);
    }
    if (lost > 0) {
        add_loss(o, lost, "", &line);
    }
    otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
}

/* Another program is about to take over, and with it everything goes that waits in memory. */
static void say_next(struct output *o)
{
    static const char condition[] = " unless the program goes on";
    struct otp_line line = {0};
    uint64_t lost = loss(o);
    bool is_said = is_failing(o) && !o->has_promised;
    if (lost == 0 || o->has_warned || is_said) {
        return;
    }
    o->has_warned = true;
    if (!is_failing(o)) {
        uint64_t before;
        o->has_promised = false;
        (void)otp_trouble_comes(&o->trouble, failure_kind(o), otp_sys_monotonic_ns(), &before);
    }
    describe_cut(o, &line);
    add_loss(o, lost, condition, &line);
    o->has_promised = true;
    otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
}

/* The time is up: into the spool with what is left, or a word about it. */
static void end_one(struct output *o)
{
    (void)otp_sink_rescue(&o->sink.base);
    if (is_ending) {
        say_end(o);
    } else {
        say_next(o);
    }
    log_note(o);
}

void otp_outputs_end(void)
{
    is_ending = true;
}

/*
 * While the process runs nothing is waited for: the rings must be emptied in time. At its end the
 * outputs get the time in slices, so that one that hangs does not take it from the others.
 */
uint64_t otp_outputs_pump(uint64_t deadline_ns, bool is_last)
{
    uint64_t wake;
    uint64_t now;
    do {
        now = otp_sys_monotonic_ns();
        uint64_t slice = now + SLICE_NS < deadline_ns ? now + SLICE_NS : deadline_ns;
        wake = NEVER;
        for (size_t i = 0; i < output_count; i++) {
            uint64_t next = pump_one(&outputs[i], is_last ? slice : 0, is_last);
            wake = next < wake ? next : wake;
        }
    } while (is_last && now < deadline_ns && has_queued(deadline_ns));
    for (size_t i = 0; i < output_count && is_last; i++) {
        end_one(&outputs[i]);
    }
    return wake;
}
