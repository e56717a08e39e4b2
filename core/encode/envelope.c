/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/envelope.h"

#include <string.h>

#include "core/encode/pack.h"
#include "core/encode/value.h"

enum {
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    SCOPE_ATTRIBUTES = 3,
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2,
    KEY_VALUE_KEY_STRINDEX = 3,
    ANY_VALUE_STRINDEX = 8
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
        a.unit = otp_text_of(NULL);
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

enum otp_status otp_envelope_init(struct otp_envelope *e, struct otp_dict *d,
                                  const struct otp_envelope_options *o)
{
    memset(e, 0, sizeof(*e));
    OTP_TRY(keep_attrs(d, o->resource_attrs, o->resource_attr_count, &e->resource_attrs,
                       &e->resource_attr_count));
    OTP_TRY(
        keep_attrs(d, o->scope_attrs, o->scope_attr_count, &e->scope_attrs, &e->scope_attr_count));
    OTP_TRY(otp_dict_string(d, o->resource_schema_url, &e->resource_schema_url));
    OTP_TRY(otp_dict_string(d, o->scope_name, &e->scope_name));
    OTP_TRY(otp_dict_string(d, o->scope_version, &e->scope_version));
    return otp_dict_string(d, o->scope_schema_url, &e->scope_schema_url);
}

void otp_envelope_fini(struct otp_envelope *e, struct otp_dict *d)
{
    otp_heap_free(d->heap, e->resource_attrs);
    otp_heap_free(d->heap, e->scope_attrs);
    memset(e, 0, sizeof(*e));
}

bool otp_envelope_same_resource(const struct otp_envelope *a, const struct otp_envelope *b)
{
    size_t count = a->resource_attr_count;
    return count == b->resource_attr_count && a->resource_schema_url == b->resource_schema_url &&
           (count == 0 ||
            memcmp(a->resource_attrs, b->resource_attrs, count * sizeof(uint32_t)) == 0);
}

void otp_envelope_write_value(const struct otp_envelope_writer *w, uint32_t field, uint32_t attr)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, attr);
    struct otp_pool_tail tail = otp_pool_tail(&w->dict->attrs, attr);
    if (tail.len > 0) {
        otp_pack_bytes(w->out, field, tail.data, tail.len);
        return;
    }
    const struct otp_value_limits limits = {.heap = w->dict->heap,
                                            .max_string = w->dict->max_string};
    struct otp_attr scalar = {.kind = (enum otp_attr_kind)head->kind,
                              .string = otp_dict_text(w->dict, head->text),
                              .number = (int64_t)head->bits};
    memcpy(&scalar.real, &head->bits, sizeof(scalar.real));
    size_t mark = otp_pack_open(w->out, field);
    if (w->number != NULL && head->kind == OTP_ATTR_STRING) {
        otp_pack_uint(w->out, ANY_VALUE_STRINDEX, w->number(w->number_arg, head->text));
    } else {
        (void)otp_value_encode(&limits, &scalar, w->out); /* fails only as the buffer does */
    }
    otp_pack_close(w->out, mark);
}

void otp_envelope_write_attrs(const struct otp_envelope_writer *w, uint32_t field,
                              const uint32_t *attrs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, attrs[i]);
        struct otp_text key = otp_dict_text(w->dict, head->key);
        size_t mark = otp_pack_open(w->out, field);
        if (w->number == NULL) {
            otp_pack_bytes(w->out, KEY_VALUE_KEY, key.data, key.len);
        }
        otp_envelope_write_value(w, KEY_VALUE_VALUE, attrs[i]);
        if (w->number != NULL) {
            otp_pack_uint(w->out, KEY_VALUE_KEY_STRINDEX, w->number(w->number_arg, head->key));
        }
        otp_pack_close(w->out, mark);
    }
}

void otp_envelope_write_text(const struct otp_envelope_writer *w, uint32_t field, uint32_t string)
{
    if (string != 0) {
        struct otp_text t = otp_dict_text(w->dict, string);
        otp_pack_bytes(w->out, field, t.data, t.len);
    }
}

void otp_envelope_write_resource(const struct otp_envelope_writer *w, const struct otp_envelope *e)
{
    otp_envelope_write_attrs(w, RESOURCE_ATTRIBUTES, e->resource_attrs, e->resource_attr_count);
}

void otp_envelope_write_scope(const struct otp_envelope_writer *w, const struct otp_envelope *e)
{
    otp_envelope_write_text(w, SCOPE_NAME, e->scope_name);
    otp_envelope_write_text(w, SCOPE_VERSION, e->scope_version);
    otp_envelope_write_attrs(w, SCOPE_ATTRIBUTES, e->scope_attrs, e->scope_attr_count);
}
