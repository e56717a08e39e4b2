/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/product.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/encode/compress.h"
#include "core/encode/json.h"
#include "tools/otelprof/args.h"

/* Bytes from which on the time for the usual level is felt. */
#define GZIP_LARGE ((size_t)8 << 20)
#define GZIP_LEVEL_LARGE 2
#define OUTPUT_MAX ((size_t)4 << 30)
#define TEXT_MAX ((size_t)1 << 30) /* nothing is cut */

/* .prof and .heap, which the library has no use for. */
static bool is_gperftools_name(struct otp_product *p, struct otp_text name)
{
    static const struct {
        const char *end;
        enum otp_compression compression;
    } packed[] = {
        {"", OTP_COMPRESSION_NONE}, {".gz", OTP_COMPRESSION_GZIP}, {".zst", OTP_COMPRESSION_ZSTD}};
    static const char *const ends[] = {
        [OTP_GPERFTOOLS_CPU] = ".prof", [OTP_GPERFTOOLS_HEAP] = ".heap"};
    char end[16];
    for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
        for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
            size_t len = (size_t)snprintf(end, sizeof(end), "%s%s", ends[k], packed[i].end);
            if (name.len >= len && memcmp(name.data + name.len - len, end, len) == 0) {
                p->kind = (enum otp_gperftools_kind)k;
                p->compression = packed[i].compression;
                p->is_gperftools = true;
                return true;
            }
        }
    }
    return false;
}

bool otp_product_init(struct otp_product *p, const struct otp_command *command, const char *path)
{
    memset(p, 0, sizeof(*p));
    p->path = path;
    otp_heap_init(&p->heap, SIZE_MAX / 2);
    otp_heap_prefer_huge(&p->heap);
    if (!is_gperftools_name(p, otp_text_of(path)) &&
        !otp_format_of_name(otp_text_of(path), &p->format, &p->compression)) {
        (void)otp_usage_error(command,
                              "the name \"%s\" says no format: .otlp, .jsonl, .pb, .otep239, .prof "
                              "or .heap, each with .gz, .zst or nothing behind it",
                              path);
        return false;
    }
    return true;
}

static void give_id(void *arg, uint8_t out_id[16])
{
    const struct otp_product *p = arg;
    memcpy(out_id, p->next_id, sizeof(p->next_id));
}

static enum otp_status open_otlp(struct otp_product *p, const struct otp_product_options *o)
{
    const struct otp_envelope_options *e = &o->envelope;
    const struct otp_otlp_options options = {
        .resource_attrs = e->resource_attrs,
        .resource_attr_count = e->resource_attr_count,
        .resource_schema_url = e->resource_schema_url,
        .scope_name = e->scope_name,
        .scope_version = e->scope_version,
        .scope_attrs = e->scope_attrs,
        .scope_attr_count = e->scope_attr_count,
        .scope_schema_url = e->scope_schema_url,
        .keep_empty = true,
        .keep_mappings = true,
        .refer = o->refer,
        .max_string_bytes = TEXT_MAX,
        .make_id = give_id,
        .make_id_arg = p,
    };
    OTP_TRY(otp_otlp_builder_create(&p->heap, &options, &p->otlp));
    p->visitor = otp_otlp_builder_visitor(p->otlp);
    return OTP_OK;
}

static enum otp_status open_pprof(struct otp_product *p, const struct otp_product_options *o)
{
    const struct otp_pprof_options options = {
        .scope_attrs = o->envelope.scope_attrs,
        .scope_attr_count = o->envelope.scope_attr_count,
        .resource_attrs = o->envelope.resource_attrs,
        .resource_attr_count = o->envelope.resource_attr_count,
        .scope_name = o->envelope.scope_name,
        .scope_version = o->envelope.scope_version,
        .default_type = o->default_type,
        .main_file = o->main_file,
        .timestamp_label = o->timestamp_label,
        .mark_symbols = o->mark_symbols,
        .keep_empty = true,
        .keep_mappings = true,
        .once = true,
        .max_string_bytes = TEXT_MAX,
    };
    OTP_TRY(otp_pprof_builder_create(&p->heap, &options, &p->pprof));
    p->visitor = otp_pprof_builder_visitor(p->pprof);
    return OTP_OK;
}

static enum otp_status open_otep239(struct otp_product *p, const struct otp_product_options *o)
{
    const struct otp_otep239_options options = {
        .envelope = o->envelope,
        .keep_empty = true,
        .keep_mappings = true,
        .max_string_bytes = TEXT_MAX,
        .make_id = give_id,
        .make_id_arg = p,
    };
    OTP_TRY(otp_otep239_builder_create(&p->heap, &options, &p->otep239));
    p->visitor = otp_otep239_builder_visitor(p->otep239);
    return OTP_OK;
}

static enum otp_status open_gperftools(struct otp_product *p, const struct otp_product_options *o)
{
    const struct otp_gperftools_options options = {
        .kind = p->kind,
        .main_file = o->main_file,
        .once = true,
        .max_string_bytes = TEXT_MAX,
    };
    OTP_TRY(otp_gperftools_builder_create(&p->heap, &options, &p->gperftools));
    p->visitor = otp_gperftools_builder_visitor(p->gperftools);
    return OTP_OK;
}

enum otp_status otp_product_open(struct otp_product *p, const struct otp_product_options *o)
{
    return p->is_gperftools                  ? open_gperftools(p, o)
           : p->format == OTP_FORMAT_PPROF   ? open_pprof(p, o)
           : p->format == OTP_FORMAT_OTEP239 ? open_otep239(p, o)
                                             : open_otlp(p, o);
}

bool otp_product_has_envelopes(const struct otp_product *p)
{
    return p->format != OTP_FORMAT_PPROF && !p->is_gperftools;
}

enum otp_status otp_product_envelope(struct otp_product *p, const struct otp_envelope_options *o)
{
    return p->otlp != NULL      ? otp_otlp_builder_envelope(p->otlp, o)
           : p->otep239 != NULL ? otp_otep239_builder_envelope(p->otep239, o)
                                : OTP_INVALID;
}

static enum otp_status finish(struct otp_product *p, struct otp_buf *out)
{
    return p->gperftools != NULL ? otp_gperftools_builder_finish(p->gperftools, out, &p->losses)
           : p->pprof != NULL    ? otp_pprof_builder_finish(p->pprof, out)
           : p->otep239 != NULL  ? otp_otep239_builder_finish(p->otep239, out)
                                 : otp_otlp_builder_finish(p->otlp, out);
}

/* Replaces a message in out by the same as a line of JSON. */
static enum otp_status to_json(struct otp_product *p, struct otp_buf *out)
{
    struct otp_buf line;
    otp_buf_init(&line, &p->heap, OUTPUT_MAX);
    enum otp_status status =
        otp_json_profiles(otp_text_make((const char *)out->data, out->len), &line);
    otp_buf_fini(out);
    *out = line;
    return status;
}

/* Replaces the content of out by its compressed form. */
static enum otp_status compress(struct otp_product *p, struct otp_buf *out)
{
    struct otp_buf packed;
    if (p->compression == OTP_COMPRESSION_NONE) {
        return OTP_OK;
    }
    int level = out->len < GZIP_LARGE ? OTP_GZIP_LEVEL : GZIP_LEVEL_LARGE;
    otp_buf_init(&packed, &p->heap, OUTPUT_MAX);
    enum otp_status status = p->compression == OTP_COMPRESSION_GZIP
                                 ? otp_gzip(&p->heap, out->data, out->len, level, &packed)
                                 : otp_zstd(&p->heap, out->data, out->len, OTP_ZSTD_LEVEL, &packed);
    otp_buf_fini(out);
    *out = packed;
    return status;
}

static bool put_bytes(void *to, struct otp_buf *out)
{
    bool ok = fwrite(out->data, 1, out->len, to) == out->len;
    otp_buf_clear(out);
    return ok;
}

/* The content of the file; JSON that is not packed comes piece by piece, since it is several times
 * as large as the message. */
static enum otp_status put_content(struct otp_product *p, FILE *to)
{
    struct otp_buf line;
    if (p->format != OTP_FORMAT_JSONL || p->compression != OTP_COMPRESSION_NONE) {
        return put_bytes(to, &p->out) ? OTP_OK : OTP_IO;
    }
    otp_buf_init(&line, &p->heap, OUTPUT_MAX);
    enum otp_status status = otp_json_profiles_drained(
        otp_text_make((const char *)p->out.data, p->out.len), &line, put_bytes, to);
    otp_buf_fini(&line);
    return status;
}

/* OTP_IO: errno says why. */
static enum otp_status write_new(struct otp_product *p, const char *path)
{
    FILE *to = fopen(path, "wxe");
    if (to == NULL) {
        return OTP_IO;
    }
    enum otp_status status = put_content(p, to);
    int error = errno;
    if (fclose(to) != 0 && status == OTP_OK) {
        status = OTP_IO;
        error = errno;
    }
    if (status != OTP_OK) {
        (void)unlink(path); /* there is nothing more to do about it */
    }
    errno = error;
    return status;
}

/* Under another name first, so that nobody sees half a file. */
static enum otp_status write_file(struct otp_product *p)
{
    size_t room = strlen(p->path) + 32;
    char *temporary = malloc(room);
    if (temporary == NULL) {
        return OTP_NO_MEMORY;
    }
    (void)snprintf(temporary, room, "%s.%ld.new", p->path, (long)getpid());
    enum otp_status status = write_new(p, temporary);
    if (status == OTP_OK && rename(temporary, p->path) != 0) {
        int error = errno;
        (void)unlink(temporary);
        errno = error;
        status = OTP_IO;
    }
    free(temporary);
    return status;
}

static void destroy_builders(struct otp_product *p)
{
    otp_otlp_builder_destroy(p->otlp);
    otp_pprof_builder_destroy(p->pprof);
    otp_otep239_builder_destroy(p->otep239);
    otp_gperftools_builder_destroy(p->gperftools);
    p->otlp = NULL;
    p->pprof = NULL;
    p->otep239 = NULL;
    p->gperftools = NULL;
    p->visitor = NULL;
}

enum otp_status otp_product_finish(struct otp_product *p)
{
    otp_buf_init(&p->out, &p->heap, OUTPUT_MAX);
    enum otp_status status = finish(p, &p->out);
    destroy_builders(p);
    return status;
}

int otp_product_write(struct otp_product *p, const struct otp_command *command)
{
    enum otp_status status = OTP_OK;
    if (p->format == OTP_FORMAT_JSONL && p->compression != OTP_COMPRESSION_NONE) {
        status = to_json(p, &p->out);
    }
    status = status == OTP_OK ? compress(p, &p->out) : status;
    status = status == OTP_OK ? write_file(p) : status;
    otp_buf_fini(&p->out);
    if (status != OTP_OK) {
        (void)fprintf(stderr, "otelprof %s: %s: %s\n", command->name, p->path,
                      status == OTP_IO ? strerror(errno) : otp_status_text(status));
        return OTP_EXIT_INPUT;
    }
    return OTP_EXIT_OK;
}

void otp_product_fini(struct otp_product *p)
{
    destroy_builders(p);
    otp_heap_reset(&p->heap);
}
