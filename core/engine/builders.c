/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/builders.h"

#include <string.h>

#include "core/base/sys.h"
#include "core/base/version.h"
#include "core/capture/ids.h"
#include "core/encode/otep239.h"
#include "core/encode/otlp.h"
#include "core/encode/pprof.h"
#include "core/encode/tee.h"

static struct otp_otlp_builder *otlp;
static struct otp_pprof_builder *pprof;
static struct otp_otep239_builder *otep239;
static struct otp_tee *tee;
static struct otp_visitor *visitor; /* NULL: not open */

/* Ids asked for since the last flush, of the profiles of one builder. */
struct id_source {
    uint32_t count;
    bool has_timestamps;
};
static struct id_source otlp_ids;
static struct id_source otep239_ids;

/*
 * Two for each type, of its sums and of its observations: those that the profile will have are
 * known to the program already. What is live now is a sum in any case.
 */
static void make_id(void *arg, uint8_t out_id[16])
{
    struct id_source *s = arg;
    uint32_t type = s->count / 2; /* those behind are of samples taken at earlier rates */
    bool is_seen = s->count % 2 == 1;
    s->count++;
    if (type < OTP_IDS_TYPES && is_seen == (s->has_timestamps && type < OTP_IDS_TYPES - 2)) {
        otp_ids_at(type, out_id);
    } else {
        otp_sys_random(out_id, 16);
        out_id[0] |= 0x80;
    }
}

static void begin_ids(struct id_source *s, const struct otp_builders_options *options)
{
    *s = (struct id_source){.has_timestamps = options->has_timestamps};
}

static bool open_otlp(struct otp_heap *heap, const struct otp_builders_options *options)
{
    const struct otp_otlp_options o = {
        .resource_attrs = options->resource_attrs,
        .resource_attr_count = options->resource_attr_count,
        .scope_name = otp_text_of("libotelprof"),
        .scope_version = otp_text_of(OTP_VERSION),
        .fold_counts = options->has_timestamps,
        .compact = true,
        .make_id = make_id,
        .make_id_arg = &otlp_ids,
    };
    begin_ids(&otlp_ids, options);
    return otp_otlp_builder_create(heap, &o, &otlp) == OTP_OK;
}

/* pprof's first mapping is the main program. */
static struct otp_text main_file(const struct otp_builders_options *options)
{
    static const char key[] = "process.executable.path";
    for (size_t i = 0; i < options->resource_attr_count; i++) {
        const struct otp_attr *a = &options->resource_attrs[i];
        if (a->key.len == sizeof(key) - 1 && memcmp(a->key.data, key, a->key.len) == 0) {
            return a->string;
        }
    }
    return otp_text_of(NULL);
}

static bool open_pprof(struct otp_heap *heap, const struct otp_builders_options *options)
{
    const struct otp_pprof_options o = {
        .resource_attrs = options->resource_attrs,
        .resource_attr_count = options->resource_attr_count,
        .scope_name = otp_text_of("libotelprof"),
        .scope_version = otp_text_of(OTP_VERSION),
        .default_type = otp_text_of("cpu"),
        .main_file = main_file(options),
        .timestamp_label = otp_text_of(options->has_timestamps ? "end_timestamp_ns" : NULL),
        .mark_symbols = true,
    };
    return otp_pprof_builder_create(heap, &o, &pprof) == OTP_OK;
}

static bool open_otep239(struct otp_heap *heap, const struct otp_builders_options *options)
{
    const struct otp_otep239_options o = {
        .envelope = {.resource_attrs = options->resource_attrs,
                     .resource_attr_count = options->resource_attr_count,
                     .scope_name = otp_text_of("libotelprof"),
                     .scope_version = otp_text_of(OTP_VERSION)},
        .make_id = make_id,
        .make_id_arg = &otep239_ids,
    };
    begin_ids(&otep239_ids, options);
    return otp_otep239_builder_create(heap, &o, &otep239) == OTP_OK;
}

static bool join(struct otp_heap *heap, struct otp_visitor *const *visitors, size_t count)
{
    if (count == 1) {
        visitor = visitors[0];
        return true;
    }
    if (count == 0 || otp_tee_create(heap, visitors, count, &tee) != OTP_OK) {
        return false;
    }
    visitor = otp_tee_visitor(tee);
    return true;
}

bool otp_builders_open(struct otp_heap *heap, const struct otp_builders_options *options)
{
    struct otp_visitor *visitors[OTP_TEE_MAX];
    size_t count = 0;
    bool ok = true;
    otp_builders_close();
    if ((options->formats & 1U << OTP_FORMAT_OTLP) != 0) {
        ok = open_otlp(heap, options);
        visitors[count++] = ok ? otp_otlp_builder_visitor(otlp) : NULL;
    }
    if (ok && (options->formats & 1U << OTP_FORMAT_PPROF) != 0) {
        ok = open_pprof(heap, options);
        visitors[count++] = ok ? otp_pprof_builder_visitor(pprof) : NULL;
    }
    if (ok && (options->formats & 1U << OTP_FORMAT_OTEP239) != 0) {
        ok = open_otep239(heap, options);
        visitors[count++] = ok ? otp_otep239_builder_visitor(otep239) : NULL;
    }
    if (!ok || !join(heap, visitors, count)) {
        otp_builders_close();
        return false;
    }
    return true;
}

void otp_builders_close(void)
{
    otp_tee_destroy(tee);
    otp_otlp_builder_destroy(otlp);
    otp_pprof_builder_destroy(pprof);
    otp_otep239_builder_destroy(otep239);
    otp_builders_forget();
}

void otp_builders_forget(void)
{
    tee = NULL;
    otlp = NULL;
    pprof = NULL;
    otep239 = NULL;
    visitor = NULL;
}

bool otp_builders_are_open(void)
{
    return visitor != NULL;
}

struct otp_visitor *otp_builders_visitor(void)
{
    return visitor;
}

enum otp_status otp_builders_finish(enum otp_format format, struct otp_buf *out)
{
    switch (format) {
    case OTP_FORMAT_OTLP:
        return otlp == NULL ? OTP_NOT_FOUND : otp_otlp_builder_finish(otlp, out);
    case OTP_FORMAT_PPROF:
        return pprof == NULL ? OTP_NOT_FOUND : otp_pprof_builder_finish(pprof, out);
    case OTP_FORMAT_OTEP239:
        return otep239 == NULL ? OTP_NOT_FOUND : otp_otep239_builder_finish(otep239, out);
    case OTP_FORMAT_JSONL:
    default:
        return OTP_NOT_FOUND;
    }
}

enum otp_status otp_builders_finish_part(size_t number, struct otp_buf *out)
{
    return otlp == NULL ? OTP_NOT_FOUND : otp_otlp_builder_finish_part(otlp, number, out);
}

void otp_builders_clear(void)
{
    otlp_ids.count = 0;
    otep239_ids.count = 0;
    if (otlp != NULL) {
        otp_otlp_builder_clear(otlp);
    }
    if (pprof != NULL) {
        otp_pprof_builder_clear(pprof);
    }
    if (otep239 != NULL) {
        otp_otep239_builder_clear(otep239);
    }
}
