/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/pprof.h"

#include <string.h>

#include "core/base/fmt.h"
#include "core/encode/origin.h"
#include "core/encode/pprof_plan.h"
#include "core/encode/pprof_write.h"
#include "core/encode/store.h"

struct otp_pprof_builder {
    struct otp_heap *heap;
    struct otp_store store;
    struct otp_pprof_frame frame;
    struct otp_pprof_plan_options plan;
};

static bool is_key(const struct otp_attr *a, const char *key)
{
    return a->key.len == strlen(key) && memcmp(a->key.data, key, a->key.len) == 0;
}

/* A list of places, one for each type; anything else is not kept. */
static void keep_order(struct otp_pprof_frame *f, const struct otp_attr *a)
{
    f->has_order = a->kind == OTP_ATTR_LIST && a->item_count <= OTP_PPROF_COLUMNS_MAX;
    f->order_count = f->has_order ? a->item_count : 0;
    for (size_t i = 0; i < f->order_count; i++) {
        int64_t place = a->items[i].kind == OTP_ATTR_INT ? a->items[i].number : -1;
        f->has_order = f->has_order && place >= 0 && place < OTP_PPROF_COLUMNS_MAX;
        f->order[i] = (uint32_t)place;
    }
}

/* The comment with the process, when the resource tells it. */
static enum otp_status keep_origin(struct otp_pprof_builder *b, const struct otp_pprof_options *o)
{
    char pid[OTP_FMT_NUMBER_MAX];
    struct otp_origin origin;
    struct otp_buf line;
    otp_origin_of(o->resource_attrs, o->resource_attr_count, pid, &origin);
    if (!otp_origin_is_known(&origin)) {
        return OTP_OK;
    }
    origin.field[OTP_ORIGIN_SCOPE_NAME] = o->scope_name;
    origin.field[OTP_ORIGIN_SCOPE_VERSION] = o->scope_version;
    otp_buf_init(&line, b->heap, SIZE_MAX / 2);
    enum otp_status status = OTP_NO_MEMORY;
    if (otp_origin_write(&origin, &line)) {
        status = otp_dict_string(&b->store.dict, otp_text_make((const char *)line.data, line.len),
                                 &b->frame.origin);
    }
    otp_buf_fini(&line);
    return status;
}

static enum otp_status keep_options(struct otp_pprof_builder *b, const struct otp_pprof_options *o)
{
    struct otp_dict *d = &b->store.dict;
    struct otp_pprof_frame *f = &b->frame;
    OTP_TRY(otp_words_keys(d, f->key));
    OTP_TRY(otp_dict_string(d, otp_text_of("trace_id"), &f->trace_id));
    OTP_TRY(otp_dict_string(d, otp_text_of("span_id"), &f->span_id));
    for (size_t i = 0; i < o->scope_attr_count; i++) {
        const struct otp_attr *a = &o->scope_attrs[i];
        if (is_key(a, "pprof.scope.sample_type_order")) {
            keep_order(f, a);
        } else if (is_key(a, "pprof.scope.default_sample_type") && a->kind == OTP_ATTR_STRING) {
            OTP_TRY(otp_dict_string(d, a->string, &f->default_type));
        }
    }
    OTP_TRY(otp_dict_string(d, o->default_type, &f->usual_type));
    OTP_TRY(otp_dict_string(d, o->main_file, &f->main_file));
    OTP_TRY(otp_dict_string(d, o->timestamp_label, &f->timestamp_label));
    OTP_TRY(keep_origin(b, o));
    f->mark_symbols = o->mark_symbols;
    b->plan.with_times = f->timestamp_label != 0;
    b->plan.base.keep_empty = o->keep_empty;
    b->plan.base.keep_mappings = o->keep_mappings;
    b->plan.base.once = o->once;
    return OTP_OK;
}

enum otp_status otp_pprof_builder_create(struct otp_heap *heap,
                                         const struct otp_pprof_options *options,
                                         struct otp_pprof_builder **out_builder)
{
    *out_builder = NULL;
    struct otp_pprof_builder *b = otp_heap_calloc(heap, 1, sizeof(*b));
    if (b == NULL) {
        return OTP_NO_MEMORY;
    }
    const struct otp_store_options store_options = {.max_string_bytes = options->max_string_bytes};
    b->heap = heap;
    enum otp_status status = otp_store_init(&b->store, heap, &store_options);
    if (status == OTP_OK) {
        status = keep_options(b, options);
    }
    if (status != OTP_OK) {
        otp_pprof_builder_destroy(b);
        return status;
    }
    *out_builder = b;
    return OTP_OK;
}

void otp_pprof_builder_destroy(struct otp_pprof_builder *b)
{
    if (b == NULL) {
        return;
    }
    otp_store_fini(&b->store);
    otp_heap_free(b->heap, b);
}

struct otp_visitor *otp_pprof_builder_visitor(struct otp_pprof_builder *b)
{
    return &b->store.visitor;
}

enum otp_status otp_pprof_builder_finish(struct otp_pprof_builder *b, struct otp_buf *out)
{
    struct otp_finish finish;
    struct otp_pprof_plan plan;
    OTP_TRY(otp_store_begin_finish(&b->store, out, &finish));
    enum otp_status status = otp_pprof_plan_init(&plan, &b->store, &b->plan);
    if (status == OTP_OK) {
        status = otp_pprof_write(&plan, &b->frame, out);
    }
    otp_pprof_plan_fini(&plan);
    return otp_store_end_finish(&finish, out, status);
}

void otp_pprof_builder_clear(struct otp_pprof_builder *b)
{
    otp_store_clear(&b->store);
}
