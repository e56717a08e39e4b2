/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/otlp.h"

#include <string.h>

#include "core/encode/otlp_plan.h"
#include "core/encode/otlp_write.h"
#include "core/encode/store.h"

struct otp_otlp_builder {
    struct otp_heap *heap;
    struct otp_store store;
    struct otp_otlp_frame frame;
    uint32_t *resource_attrs;
    uint32_t *scope_attrs;
    struct otp_plan_options plan;
};

/* Interns attributes into an array of their own: told order, the last value of equal keys. */
static enum otp_status keep_attrs(struct otp_dict *d, const struct otp_attr *attrs, size_t count,
                                  uint32_t **out_ids, size_t *out_count)
{
    uint32_t *ids = otp_heap_calloc(d->heap, count, sizeof(ids[0]));
    size_t kept = 0;
    *out_ids = ids;
    *out_count = 0;
    if (ids == NULL) {
        return OTP_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct otp_attr a = attrs[i];
        a.unit = otp_text_of(NULL); /* has no place there */
        uint32_t id;
        OTP_TRY(otp_dict_attr(d, &a, &id));
        const struct otp_dict_attr *head = otp_pool_head(&d->attrs, id);
        size_t at = 0;
        while (at < kept) {
            const struct otp_dict_attr *before = otp_pool_head(&d->attrs, ids[at]);
            if (before->key == head->key) {
                break;
            }
            at++;
        }
        if (id != 0) {
            ids[at] = id;
            kept = at == kept ? kept + 1 : kept;
        }
    }
    *out_count = kept;
    return OTP_OK;
}

static enum otp_status keep_options(struct otp_otlp_builder *b, const struct otp_otlp_options *o)
{
    struct otp_dict *d = &b->store.dict;
    struct otp_otlp_frame *f = &b->frame;
    OTP_TRY(keep_attrs(d, o->resource_attrs, o->resource_attr_count, &b->resource_attrs,
                       &f->resource_attr_count));
    OTP_TRY(
        keep_attrs(d, o->scope_attrs, o->scope_attr_count, &b->scope_attrs, &f->scope_attr_count));
    OTP_TRY(otp_dict_string(d, o->resource_schema_url, &f->resource_schema_url));
    OTP_TRY(otp_dict_string(d, o->scope_name, &f->scope_name));
    OTP_TRY(otp_dict_string(d, o->scope_version, &f->scope_version));
    OTP_TRY(otp_dict_string(d, o->scope_schema_url, &f->scope_schema_url));
    f->resource_attrs = b->resource_attrs;
    f->scope_attrs = b->scope_attrs;
    f->zero_link = o->link0 == OTP_LINK0_ZEROS;
    f->keep_ones = o->keep_ones;
    b->plan.fold_counts = o->fold_counts;
    b->plan.keep_empty = o->keep_empty;
    b->plan.keep_mappings = o->keep_mappings;
    return OTP_OK;
}

enum otp_status otp_otlp_builder_create(struct otp_heap *heap,
                                        const struct otp_otlp_options *options,
                                        struct otp_otlp_builder **out_builder)
{
    *out_builder = NULL;
    struct otp_otlp_builder *b = otp_heap_calloc(heap, 1, sizeof(*b));
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
        otp_otlp_builder_destroy(b);
        return status;
    }
    *out_builder = b;
    return OTP_OK;
}

void otp_otlp_builder_destroy(struct otp_otlp_builder *b)
{
    if (b == NULL) {
        return;
    }
    otp_store_fini(&b->store);
    otp_heap_free(b->heap, b->resource_attrs);
    otp_heap_free(b->heap, b->scope_attrs);
    otp_heap_free(b->heap, b);
}

struct otp_visitor *otp_otlp_builder_visitor(struct otp_otlp_builder *b)
{
    return &b->store.visitor;
}

enum otp_status otp_otlp_builder_finish(struct otp_otlp_builder *b, struct otp_buf *out)
{
    struct otp_finish finish;
    struct otp_plan plan;
    OTP_TRY(otp_store_begin_finish(&b->store, out, &finish));
    enum otp_status status = otp_plan_init(&plan, &b->store, &b->plan);
    if (status == OTP_OK) {
        status = otp_otlp_write(&plan, &b->frame, out);
    }
    otp_plan_fini(&plan);
    return otp_store_end_finish(&finish, out, status);
}

void otp_otlp_builder_clear(struct otp_otlp_builder *b)
{
    otp_store_clear(&b->store);
}
