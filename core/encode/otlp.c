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
    struct otp_plan_options plan;
};

static enum otp_status keep_options(struct otp_otlp_builder *b, const struct otp_otlp_options *o)
{
    const struct otp_envelope_options envelope = {
        .resource_attrs = o->resource_attrs,
        .resource_attr_count = o->resource_attr_count,
        .resource_schema_url = o->resource_schema_url,
        .scope_name = o->scope_name,
        .scope_version = o->scope_version,
        .scope_attrs = o->scope_attrs,
        .scope_attr_count = o->scope_attr_count,
        .scope_schema_url = o->scope_schema_url,
    };
    b->frame.zero_link = o->link0 == OTP_LINK0_ZEROS;
    b->frame.keep_ones = o->keep_ones;
    b->plan.fold_counts = o->fold_counts;
    b->plan.keep_empty = o->keep_empty;
    b->plan.keep_mappings = o->keep_mappings;
    b->plan.compact = o->compact;
    b->plan.refer = o->refer;
    return otp_store_envelope(&b->store, &envelope);
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
    otp_heap_free(b->heap, b);
}

struct otp_visitor *otp_otlp_builder_visitor(struct otp_otlp_builder *b)
{
    return &b->store.visitor;
}

enum otp_status otp_otlp_builder_envelope(struct otp_otlp_builder *b,
                                          const struct otp_envelope_options *options)
{
    return otp_store_envelope(&b->store, options);
}

static enum otp_status finish(struct otp_otlp_builder *b, size_t only, struct otp_buf *out)
{
    struct otp_finish end;
    struct otp_plan plan;
    struct otp_plan_options options = b->plan;
    options.only = only;
    OTP_TRY(otp_store_begin_finish(&b->store, out, &end));
    enum otp_status status = otp_plan_init(&plan, &b->store, &options);
    if (status == OTP_OK) {
        status = otp_otlp_write(&plan, &b->frame, out);
    }
    otp_plan_fini(&plan);
    return otp_store_end_finish(&end, out, status);
}

enum otp_status otp_otlp_builder_finish(struct otp_otlp_builder *b, struct otp_buf *out)
{
    return finish(b, 0, out);
}

enum otp_status otp_otlp_builder_finish_part(struct otp_otlp_builder *b, size_t number,
                                             struct otp_buf *out)
{
    return number == 0 ? OTP_INVALID : finish(b, number, out);
}

void otp_otlp_builder_clear(struct otp_otlp_builder *b)
{
    otp_store_clear(&b->store);
}
