/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/otep239.h"

#include <string.h>

#include "core/encode/otep239_write.h"
#include "core/encode/pack.h"
#include "core/encode/pprof_plan.h"
#include "core/encode/store.h"

enum {
    DATA_RESOURCE_PROFILES = 1,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_PROFILES_SCOPE_PROFILES = 2,
    SCOPE_PROFILES_SCOPE = 1,
    SCHEMA_URL = 3 /* of ResourceProfiles and ScopeProfiles */
};

struct otp_otep239_builder {
    struct otp_heap *heap;
    struct otp_store store;
    struct otp_otep239_frame frame;
    struct otp_pprof_plan_options plan;
};

static enum otp_status keep_options(struct otp_otep239_builder *b,
                                    const struct otp_otep239_options *o)
{
    struct otp_dict *d = &b->store.dict;
    b->plan.with_times = true;
    b->plan.base.keep_empty = o->keep_empty;
    b->plan.base.keep_mappings = o->keep_mappings;
    b->plan.base.keep_attrs = o->keep_attrs;
    OTP_TRY(otp_words_keys(d, b->frame.key));
    OTP_TRY(otp_dict_string(d, otp_text_of("pprof.scope.default_sample_type"),
                            &b->frame.default_type_key));
    return otp_store_envelope(&b->store, &o->envelope);
}

enum otp_status otp_otep239_builder_create(struct otp_heap *heap,
                                           const struct otp_otep239_options *options,
                                           struct otp_otep239_builder **out_builder)
{
    *out_builder = NULL;
    struct otp_otep239_builder *b = otp_heap_calloc(heap, 1, sizeof(*b));
    if (b == NULL) {
        return OTP_NO_MEMORY;
    }
    const struct otp_store_options store_options = {
        .max_string_bytes = options->max_string_bytes,
        .make_id = options->make_id,
        .make_id_arg = options->make_id_arg,
    };
    b->heap = heap;
    enum otp_status status = otp_store_init(&b->store, heap, &store_options);
    if (status == OTP_OK) {
        status = keep_options(b, options);
    }
    if (status != OTP_OK) {
        otp_otep239_builder_destroy(b);
        return status;
    }
    *out_builder = b;
    return OTP_OK;
}

void otp_otep239_builder_destroy(struct otp_otep239_builder *b)
{
    if (b == NULL) {
        return;
    }
    otp_store_fini(&b->store);
    otp_heap_free(b->heap, b);
}

struct otp_visitor *otp_otep239_builder_visitor(struct otp_otep239_builder *b)
{
    return &b->store.visitor;
}

enum otp_status otp_otep239_builder_envelope(struct otp_otep239_builder *b,
                                             const struct otp_envelope_options *options)
{
    return otp_store_envelope(&b->store, options);
}

/* May both be columns of one container? */
static bool belong_together(const struct otp_group *a, const struct otp_group *b)
{
    return a->envelope == b->envelope && a->period_type.type == b->period_type.type &&
           a->period_type.unit == b->period_type.unit && a->period == b->period &&
           a->attrs == b->attrs && a->time_ns == b->time_ns && a->duration_ns == b->duration_ns &&
           a->dropped_attributes == b->dropped_attributes && b->payload == NULL;
}

static bool has_type(const struct otp_group *g, const struct otp_group_type *t)
{
    for (size_t i = 0; i < g->type_count; i++) {
        if (g->types[i].type == t->type && g->types[i].unit == t->unit) {
            return true;
        }
    }
    return false;
}

/* Does a type of b come in one of the groups from a on? Then it begins a container of its own. */
static bool repeats_type(const struct otp_group *a, const struct otp_group *b)
{
    for (; a != b; a = a->next) {
        for (size_t i = 0; i < b->type_count; i++) {
            if (has_type(a, &b->types[i])) {
                return true;
            }
        }
    }
    return false;
}

static const struct otp_group *end_of_container(const struct otp_group *first)
{
    const struct otp_group *g = first->next;
    while (g != NULL && belong_together(first, g) && !repeats_type(first, g)) {
        g = g->next;
    }
    return g;
}

/* Writing of one message. */
struct writing {
    struct otp_otep239_builder *b;
    struct otp_buf *out;
    struct otp_envelope_writer around;
    size_t containers;
};

static enum otp_status write_container(struct writing *w, const struct otp_group *first,
                                       const struct otp_group *end)
{
    struct otp_pprof_plan_options options = w->b->plan;
    struct otp_pprof_plan plan;
    options.base.first = first;
    options.base.end = end;
    enum otp_status status = otp_pprof_plan_init(&plan, &w->b->store, &options);
    if (status == OTP_OK) {
        status = otp_otep239_write(&plan, &w->b->frame, w->out);
        w->containers++;
    }
    otp_pprof_plan_fini(&plan);
    return status == OTP_NOT_FOUND ? OTP_OK : status;
}

/* The containers of one scope; *group is moved behind them. */
static enum otp_status write_scope(struct writing *w, const struct otp_group **group)
{
    size_t envelope = (*group)->envelope;
    const struct otp_envelope *e = &w->b->store.envelopes[envelope];
    size_t mark = otp_pack_open(w->out, RESOURCE_PROFILES_SCOPE_PROFILES);
    if (e->scope_name != 0 || e->scope_version != 0 || e->scope_attr_count > 0) {
        size_t scope = otp_pack_open(w->out, SCOPE_PROFILES_SCOPE);
        otp_envelope_write_scope(&w->around, e);
        otp_pack_close(w->out, scope);
    }
    while (*group != NULL && (*group)->envelope == envelope) {
        const struct otp_group *end = end_of_container(*group);
        OTP_TRY(write_container(w, *group, end));
        *group = end;
    }
    otp_envelope_write_text(&w->around, SCHEMA_URL, e->scope_schema_url);
    otp_pack_close(w->out, mark);
    return OTP_OK;
}

static enum otp_status write_resource(struct writing *w, const struct otp_group **group)
{
    const struct otp_envelope *all = w->b->store.envelopes;
    const struct otp_envelope *e = &all[(*group)->envelope];
    size_t mark = otp_pack_open(w->out, DATA_RESOURCE_PROFILES);
    size_t resource = otp_pack_open(w->out, RESOURCE_PROFILES_RESOURCE);
    otp_envelope_write_resource(&w->around, e);
    otp_pack_close(w->out, resource);
    do {
        OTP_TRY(write_scope(w, group));
    } while (*group != NULL && otp_envelope_same_resource(e, &all[(*group)->envelope]));
    otp_envelope_write_text(&w->around, SCHEMA_URL, e->resource_schema_url);
    otp_pack_close(w->out, mark);
    return OTP_OK;
}

static enum otp_status write_all(struct writing *w)
{
    const struct otp_group *group = w->b->store.groups;
    while (group != NULL) {
        OTP_TRY(write_resource(w, &group));
    }
    return w->containers == 0 ? OTP_NOT_FOUND : OTP_OK;
}

enum otp_status otp_otep239_builder_finish(struct otp_otep239_builder *b, struct otp_buf *out)
{
    struct writing w = {.b = b, .out = out, .around = {.dict = &b->store.dict, .out = out}};
    struct otp_finish finish;
    OTP_TRY(otp_store_begin_finish(&b->store, out, &finish));
    return otp_store_end_finish(&finish, out, write_all(&w));
}

void otp_otep239_builder_clear(struct otp_otep239_builder *b)
{
    otp_store_clear(&b->store);
}
