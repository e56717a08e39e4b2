/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An id of the tee stands for one id of each visitor behind it. Equal combinations get one id, so
 * that a teller that names things again and again costs no memory.
 */
#include "core/encode/tee.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/encode/pool.h"

#define WORK_MAX (SIZE_MAX / 2) /* the heap's limit is the one that counts */

enum kind { KIND_MAPPING, KIND_FRAME, KIND_STACK, KIND_ATTR, KIND_LINK, KINDS };

struct otp_tee {
    struct otp_visitor visitor; /* first: a visitor that is given back to us is the tee */
    struct otp_heap *heap;
    enum otp_status status; /* of the tee itself; sticky */
    size_t count;
    struct otp_visitor *behind[OTP_TEE_MAX];
    enum otp_status behind_status[OTP_TEE_MAX];
    struct otp_pool ids[KINDS]; /* head: uint32_t[count] */
    struct otp_buf work;
};

static struct otp_tee *tee_of(struct otp_visitor *v)
{
    return (struct otp_tee *)(void *)v;
}

/* What the teller is told: no error while anybody listens. */
static enum otp_status overall(const struct otp_tee *t)
{
    if (t->status != OTP_OK) {
        return t->status;
    }
    for (size_t i = 0; i < t->count; i++) {
        if (t->behind_status[i] == OTP_OK) {
            return OTP_OK;
        }
    }
    return t->behind_status[0];
}

static enum otp_status fail(struct otp_tee *t, enum otp_status status)
{
    t->status = status;
    return status;
}

/* Visitor i's id for id of the tee, which must exist. */
static uint32_t translate(const struct otp_tee *t, enum kind kind, uint32_t id, size_t i)
{
    const uint32_t *ids = otp_pool_head(&t->ids[kind], id);
    return ids[i];
}

static bool known(const struct otp_tee *t, enum kind kind, const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= t->ids[kind].count) {
            return false;
        }
    }
    return true;
}

/* Translates count ids for visitor i into the working space, which has room for them. */
static const uint32_t *translate_all(struct otp_tee *t, enum kind kind, const uint32_t *ids,
                                     size_t count, size_t i)
{
    uint32_t *to = (void *)t->work.data;
    for (size_t k = 0; k < count; k++) {
        to[k] = translate(t, kind, ids[k], i);
    }
    return to;
}

static bool make_room(struct otp_tee *t, size_t count)
{
    otp_buf_clear(&t->work);
    return count <= WORK_MAX / sizeof(uint32_t) &&
           otp_buf_reserve(&t->work, count * sizeof(uint32_t)) != NULL;
}

/* The tee's id for what the visitors gave; what a failed one gave is never used. */
static enum otp_status give_id(struct otp_tee *t, enum kind kind, const uint32_t ids[OTP_TEE_MAX],
                               uint32_t *out_id)
{
    enum otp_status status = otp_pool_intern(&t->ids[kind], ids, NULL, 0, out_id);
    if (status != OTP_OK) {
        return fail(t, status);
    }
    return overall(t);
}

/* Calls call (which uses v, i and ids) for each visitor that has not failed. */
#define FOR_EACH(t, call)                                                                          \
    do {                                                                                           \
        for (size_t i = 0; i < (t)->count; i++) {                                                  \
            if ((t)->behind_status[i] == OTP_OK) {                                                 \
                struct otp_visitor *b = (t)->behind[i];                                            \
                (t)->behind_status[i] = (call);                                                    \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static enum otp_status begin_profile(struct otp_visitor *v, const struct otp_visit_profile *p)
{
    struct otp_tee *t = tee_of(v);
    if (t->status == OTP_OK) {
        FOR_EACH(t, b->begin_profile(b, p));
    }
    return overall(t);
}

static enum otp_status mapping(struct otp_visitor *v, const struct otp_visit_mapping *m,
                               uint32_t *out_id)
{
    struct otp_tee *t = tee_of(v);
    uint32_t ids[OTP_TEE_MAX] = {0};
    *out_id = 0;
    if (t->status != OTP_OK) {
        return t->status;
    }
    FOR_EACH(t, b->mapping(b, m, &ids[i]));
    return give_id(t, KIND_MAPPING, ids, out_id);
}

static enum otp_status frame(struct otp_visitor *v, const struct otp_visit_frame *f,
                             uint32_t *out_id)
{
    struct otp_tee *t = tee_of(v);
    struct otp_visit_frame told = *f;
    uint32_t ids[OTP_TEE_MAX] = {0};
    *out_id = 0;
    if (t->status != OTP_OK) {
        return t->status;
    }
    if (!known(t, KIND_MAPPING, &f->mapping, 1)) {
        return fail(t, OTP_INVALID);
    }
    FOR_EACH(
        t, (told.mapping = translate(t, KIND_MAPPING, f->mapping, i), b->frame(b, &told, &ids[i])));
    return give_id(t, KIND_FRAME, ids, out_id);
}

static enum otp_status stack(struct otp_visitor *v, const uint32_t *frames, size_t count,
                             uint32_t *out_id)
{
    struct otp_tee *t = tee_of(v);
    uint32_t ids[OTP_TEE_MAX] = {0};
    *out_id = 0;
    if (t->status != OTP_OK) {
        return t->status;
    }
    if (!known(t, KIND_FRAME, frames, count)) {
        return fail(t, OTP_INVALID);
    }
    if (!make_room(t, count)) {
        return fail(t, OTP_NO_MEMORY);
    }
    FOR_EACH(t, b->stack(b, translate_all(t, KIND_FRAME, frames, count, i), count, &ids[i]));
    return give_id(t, KIND_STACK, ids, out_id);
}

static enum otp_status attr(struct otp_visitor *v, const struct otp_attr *a, uint32_t *out_id)
{
    struct otp_tee *t = tee_of(v);
    uint32_t ids[OTP_TEE_MAX] = {0};
    *out_id = 0;
    if (t->status != OTP_OK) {
        return t->status;
    }
    FOR_EACH(t, b->attr(b, a, &ids[i]));
    return give_id(t, KIND_ATTR, ids, out_id);
}

static enum otp_status link(struct otp_visitor *v, const uint8_t trace_id[16],
                            const uint8_t span_id[8], uint32_t *out_id)
{
    struct otp_tee *t = tee_of(v);
    uint32_t ids[OTP_TEE_MAX] = {0};
    *out_id = 0;
    if (t->status != OTP_OK) {
        return t->status;
    }
    FOR_EACH(t, b->link(b, trace_id, span_id, &ids[i]));
    return give_id(t, KIND_LINK, ids, out_id);
}

static enum otp_status pass_sample(struct otp_tee *t, struct otp_visitor *b,
                                   const struct otp_visit_sample *s, size_t i)
{
    struct otp_visit_sample told = *s;
    told.stack = translate(t, KIND_STACK, s->stack, i);
    told.link = translate(t, KIND_LINK, s->link, i);
    told.attrs = translate_all(t, KIND_ATTR, s->attrs, s->attr_count, i);
    return b->sample(b, &told);
}

static enum otp_status sample(struct otp_visitor *v, const struct otp_visit_sample *s)
{
    struct otp_tee *t = tee_of(v);
    if (t->status != OTP_OK) {
        return t->status;
    }
    if (!known(t, KIND_STACK, &s->stack, 1) || !known(t, KIND_LINK, &s->link, 1) ||
        !known(t, KIND_ATTR, s->attrs, s->attr_count)) {
        return fail(t, OTP_INVALID);
    }
    if (!make_room(t, s->attr_count)) {
        return fail(t, OTP_NO_MEMORY);
    }
    FOR_EACH(t, pass_sample(t, b, s, i));
    return overall(t);
}

static enum otp_status end_profile(struct otp_visitor *v)
{
    struct otp_tee *t = tee_of(v);
    if (t->status == OTP_OK) {
        FOR_EACH(t, b->end_profile(b));
    }
    return overall(t);
}

static enum otp_status init_pools(struct otp_tee *t)
{
    for (size_t k = 0; k < KINDS; k++) {
        OTP_TRY(otp_pool_init(&t->ids[k], t->heap, NULL, t->count * sizeof(uint32_t)));
    }
    return OTP_OK;
}

enum otp_status otp_tee_create(struct otp_heap *heap, struct otp_visitor *const *visitors,
                               size_t count, struct otp_tee **out_tee)
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
    };
    *out_tee = NULL;
    if (count == 0 || count > OTP_TEE_MAX) {
        return OTP_INVALID;
    }
    struct otp_tee *t = otp_heap_calloc(heap, 1, sizeof(*t));
    if (t == NULL) {
        return OTP_NO_MEMORY;
    }
    t->visitor = calls;
    t->heap = heap;
    t->count = count;
    otp_buf_init(&t->work, heap, WORK_MAX);
    memcpy(t->behind, visitors, count * sizeof(visitors[0]));
    enum otp_status status = init_pools(t);
    if (status != OTP_OK) {
        otp_tee_destroy(t);
        return status;
    }
    *out_tee = t;
    return OTP_OK;
}

void otp_tee_destroy(struct otp_tee *t)
{
    if (t == NULL) {
        return;
    }
    for (size_t k = 0; k < KINDS; k++) {
        otp_pool_fini(&t->ids[k]);
    }
    otp_buf_fini(&t->work);
    otp_heap_free(t->heap, t);
}

struct otp_visitor *otp_tee_visitor(struct otp_tee *t)
{
    return &t->visitor;
}

enum otp_status otp_tee_status(const struct otp_tee *t, size_t idx)
{
    return idx < t->count ? t->behind_status[idx] : OTP_INVALID;
}
