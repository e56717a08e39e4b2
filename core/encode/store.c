/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/store.h"

#include <string.h>

#include "core/base/sys.h"

static struct otp_store *store_of(struct otp_visitor *v)
{
    return (struct otp_store *)(void *)v;
}

static void random_id(void *arg, uint8_t out_id[16])
{
    (void)arg;
    otp_sys_random(out_id, 16);
    out_id[0] |= 0x80; /* never all zero, which means none */
}

static enum otp_status begin_profile(struct otp_visitor *v, const struct otp_visit_profile *p)
{
    struct otp_store *s = store_of(v);
    if (s->status != OTP_OK) {
        return s->status;
    }
    if (s->open != NULL) {
        s->status = OTP_INVALID;
        return s->status;
    }
    s->status = otp_group_create(&s->dict, p, &s->open);
    if (s->status != OTP_OK) {
        return s->status;
    }
    for (size_t i = 0; i < s->open->type_count; i++) {
        s->make_id(s->make_id_arg, s->open->types[i].id[0]);
        s->make_id(s->make_id_arg, s->open->types[i].id[1]);
    }
    s->open->envelope = s->envelope_count == 0 ? 0 : s->envelope_count - 1;
    *s->tail = s->open;
    s->tail = &s->open->next;
    s->group_count++;
    return OTP_OK;
}

/* The rest of a naming call: nothing happens any more once the visit has failed. */
#define NAMING_CALL(s, call)                                                                       \
    do {                                                                                           \
        *out_id = 0;                                                                               \
        if ((s)->status == OTP_OK) {                                                               \
            (s)->status = (call);                                                                  \
        }                                                                                          \
        return (s)->status;                                                                        \
    } while (0)

static enum otp_status mapping(struct otp_visitor *v, const struct otp_visit_mapping *m,
                               uint32_t *out_id)
{
    struct otp_store *s = store_of(v);
    NAMING_CALL(s, otp_dict_mapping(&s->dict, m, out_id));
}

static enum otp_status frame(struct otp_visitor *v, const struct otp_visit_frame *f,
                             uint32_t *out_id)
{
    struct otp_store *s = store_of(v);
    NAMING_CALL(s, otp_dict_frame(&s->dict, f, out_id));
}

static enum otp_status stack(struct otp_visitor *v, const uint32_t *frames, size_t count,
                             uint32_t *out_id)
{
    struct otp_store *s = store_of(v);
    NAMING_CALL(s, otp_dict_stack(&s->dict, frames, count, out_id));
}

static enum otp_status attr(struct otp_visitor *v, const struct otp_attr *a, uint32_t *out_id)
{
    struct otp_store *s = store_of(v);
    NAMING_CALL(s, otp_dict_attr(&s->dict, a, out_id));
}

static enum otp_status link(struct otp_visitor *v, const uint8_t trace_id[16],
                            const uint8_t span_id[8], uint32_t *out_id)
{
    struct otp_store *s = store_of(v);
    NAMING_CALL(s, otp_dict_link(&s->dict, trace_id, span_id, out_id));
}

static enum otp_status sample(struct otp_visitor *v, const struct otp_visit_sample *told)
{
    struct otp_store *s = store_of(v);
    if (s->status == OTP_OK) {
        s->status = s->open == NULL ? OTP_INVALID : otp_group_add(s->open, &s->dict, told);
    }
    return s->status;
}

static enum otp_status list(struct otp_visitor *v, const uint32_t *attrs, size_t count,
                            uint32_t *out_id)
{
    struct otp_store *s = store_of(v);
    NAMING_CALL(s, otp_dict_list(&s->dict, attrs, count, out_id));
}

static enum otp_status rows(struct otp_visitor *v, const struct otp_visit_rows *told)
{
    struct otp_store *s = store_of(v);
    if (s->status == OTP_OK) {
        s->status = s->open == NULL ? OTP_INVALID : otp_group_rows(s->open, &s->dict, told);
    }
    return s->status;
}

static enum otp_status end_profile(struct otp_visitor *v)
{
    struct otp_store *s = store_of(v);
    if (s->status == OTP_OK && s->open == NULL) {
        s->status = OTP_INVALID;
    }
    if (s->open != NULL) {
        enum otp_status closed = otp_group_close(s->open);
        s->status = s->status == OTP_OK ? closed : s->status;
    }
    s->open = NULL;
    return s->status;
}

enum otp_status otp_store_init(struct otp_store *s, struct otp_heap *heap,
                               const struct otp_store_options *options)
{
    const struct otp_visitor calls = {
        .begin_profile = begin_profile,
        .mapping = mapping,
        .frame = frame,
        .stack = stack,
        .attr = attr,
        .link = link,
        .sample = sample,
        .end_profile = end_profile,
        .list = list,
        .rows = rows,
    };
    size_t max_string = options->max_string_bytes;
    memset(s, 0, sizeof(*s));
    s->visitor = calls;
    s->tail = &s->groups;
    s->make_id = options->make_id != NULL ? options->make_id : random_id;
    s->make_id_arg = options->make_id_arg;
    return otp_dict_init(&s->dict, heap, max_string == 0 ? OTP_STORE_MAX_STRING : max_string);
}

enum otp_status otp_store_envelope(struct otp_store *s, const struct otp_envelope_options *o)
{
    if (s->status == OTP_OK && s->open != NULL) {
        s->status = OTP_INVALID;
    }
    if (s->status != OTP_OK) {
        return s->status;
    }
    size_t bytes = (s->envelope_count + 1) * sizeof(s->envelopes[0]);
    struct otp_envelope *to = otp_heap_realloc(s->dict.heap, s->envelopes, bytes);
    if (to == NULL) {
        s->status = OTP_NO_MEMORY;
        return s->status;
    }
    s->envelopes = to;
    s->status = otp_envelope_init(&to[s->envelope_count], &s->dict, o);
    s->envelope_count++;
    return s->status;
}

void otp_store_clear(struct otp_store *s)
{
    struct otp_group *g = s->groups;
    while (g != NULL) {
        struct otp_group *next = g->next;
        otp_group_destroy(g);
        g = next;
    }
    s->groups = NULL;
    s->tail = &s->groups;
    s->open = NULL;
    s->group_count = 0;
}

void otp_store_fini(struct otp_store *s)
{
    otp_store_clear(s);
    for (size_t i = 0; i < s->envelope_count; i++) {
        otp_envelope_fini(&s->envelopes[i], &s->dict);
    }
    otp_heap_free(s->dict.heap, s->envelopes);
    otp_dict_fini(&s->dict);
}

enum otp_status otp_store_begin_finish(const struct otp_store *s, const struct otp_buf *out,
                                       struct otp_finish *f)
{
    f->len = out->len;
    f->refused = out->heap->failures;
    if (s->status != OTP_OK) {
        return s->status;
    }
    if (s->open != NULL) {
        return OTP_INVALID;
    }
    return otp_buf_ok(out) ? OTP_OK : OTP_NO_MEMORY;
}

enum otp_status otp_store_end_finish(const struct otp_finish *f, struct otp_buf *out,
                                     enum otp_status status)
{
    if (status == OTP_OK && !otp_buf_ok(out)) {
        status = out->heap->failures != f->refused ? OTP_NO_MEMORY : OTP_TOO_LARGE;
    }
    if (status != OTP_OK) {
        out->len = f->len;
        out->failed = false;
    }
    return status;
}
