/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof info for other programs. */
#include <stdio.h>

#include "tools/otelprof/info.h"
#include "tools/otelprof/show.h"

static void put_piece(struct otp_jsonout *j, const char *key, const struct otp_profiles *m,
                      struct otp_piece p)
{
    otp_jsonout_text(j, key, otp_profiles_text(m, p));
}

static void put_keyvalues(struct otp_jsonout *j, const struct otp_profiles *m,
                          struct otp_slice attrs)
{
    otp_jsonout_object(j, "attributes");
    for (uint32_t i = 0; i < attrs.count; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(m, attrs.first + i);
        otp_jsonout_key(j, otp_profiles_key(m, kv));
        otp_jsonout_value(j, NULL, m, &kv->value);
    }
    otp_jsonout_close(j);
}

/* The attributes of a profile that state losses, or the others. */
static void put_attributes(struct otp_jsonout *j, const struct otp_profiles *m,
                           const struct otp_profile *p, bool of_losses)
{
    struct otp_info_attribute a;

    otp_jsonout_object(j, of_losses ? "lost" : "attributes");
    for (uint32_t at = 0; otp_info_next(m, p->attrs, &at, &a);) {
        if (a.is_loss == of_losses) {
            otp_jsonout_key(j, a.key);
            otp_jsonout_value(j, NULL, m, a.value);
        }
    }
    otp_jsonout_close(j);
}

static void put_profile(struct otp_jsonout *j, const struct otp_profiles *m,
                        const struct otp_profile *p)
{
    struct otp_info_sums s = otp_info_sum_up(m, p);

    otp_jsonout_object(j, NULL);
    otp_jsonout_text(j, "type", otp_profiles_string(m, p->sample_type.type));
    otp_jsonout_text(j, "unit", otp_profiles_string(m, p->sample_type.unit));
    otp_jsonout_uint(j, "samples", p->samples.count);
    otp_jsonout_uint(j, "timestamps", s.timestamps);
    otp_jsonout_int(j, "total", s.total);
    otp_jsonout_text(j, "period_type", otp_profiles_string(m, p->period_type.type));
    otp_jsonout_text(j, "period_unit", otp_profiles_string(m, p->period_type.unit));
    otp_jsonout_int(j, "period", p->period);
    otp_jsonout_uint(j, "time_unix_nano", p->time_ns);
    otp_jsonout_uint(j, "duration_nano", p->duration_ns);
    otp_jsonout_hex(j, "profile_id", otp_profiles_text(m, p->profile_id));
    put_attributes(j, m, p, false);
    put_attributes(j, m, p, true);
    otp_jsonout_uint(j, "dropped_attributes", p->dropped_attributes);
    if (p->payload.len > 0) {
        otp_jsonout_row(j, "original_payload");
        put_piece(j, "format", m, p->payload_format);
        otp_jsonout_uint(j, "bytes", p->payload.len);
        otp_jsonout_close(j);
    }
    otp_jsonout_close(j);
}

static void put_scope(struct otp_jsonout *j, const struct otp_profiles *m,
                      const struct otp_scope *s)
{
    otp_jsonout_object(j, NULL);
    put_piece(j, "name", m, s->name);
    put_piece(j, "version", m, s->version);
    put_keyvalues(j, m, s->attrs);
    otp_jsonout_list(j, "profiles");
    for (uint32_t i = 0; i < s->profiles.count; i++) {
        put_profile(j, m, otp_profiles_profile(m, s->profiles.first + i));
    }
    otp_jsonout_close(j);
    otp_jsonout_close(j);
}

static void put_resources(struct otp_jsonout *j, const struct otp_profiles *m)
{
    otp_jsonout_list(j, "resources");
    for (uint32_t i = 0; i < m->resources.count; i++) {
        const struct otp_profiles_resource *r = otp_profiles_resource(m, i);
        otp_jsonout_object(j, NULL);
        put_keyvalues(j, m, r->attrs);
        otp_jsonout_list(j, "scopes");
        for (uint32_t k = 0; k < r->scopes.count; k++) {
            put_scope(j, m, otp_profiles_scope(m, r->scopes.first + k));
        }
        otp_jsonout_close(j);
        otp_jsonout_close(j);
    }
    otp_jsonout_close(j);
}

static bool put_known(struct otp_jsonout *j, const struct otp_profiles *m)
{
    struct otp_info_known known;
    bool ok = otp_info_known_init(&known, m);

    otp_jsonout_row(j, "links");
    otp_jsonout_uint(j, "samples", known.linked);
    otp_jsonout_uint(j, "spans", known.spans);
    otp_jsonout_uint(j, "traces", known.traces);
    otp_jsonout_close(j);
    otp_jsonout_row(j, "labels");
    for (size_t i = 0; i < known.label_count; i++) {
        otp_jsonout_key(j, known.labels[i].key);
        otp_jsonout_uint(j, NULL, known.labels[i].values);
    }
    otp_jsonout_close(j);
    otp_info_known_fini(&known);
    return ok;
}

static bool put_message(struct otp_jsonout *j, const struct otp_profiles *m)
{
    otp_jsonout_object(j, NULL);
    otp_jsonout_uint(j, "offset", m->off);
    otp_jsonout_uint(j, "bytes", m->size);
    put_resources(j, m);
    otp_jsonout_row(j, "tables");
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        otp_jsonout_uint(j, otp_table_names[t], m->table[t].count);
    }
    otp_jsonout_close(j);
    bool ok = put_known(j, m);
    otp_jsonout_close(j);
    return ok;
}

static void open_file(struct otp_jsonout *j, const struct otp_profiles *m)
{
    const struct otp_blob *b = m->blob;

    otp_jsonout_object(j, NULL);
    otp_jsonout_string(j, "file", b->name);
    otp_jsonout_string(j, "format", b->format);
    otp_jsonout_string(j, "proto",
                       m->source == OTP_SOURCE_OTLP ? otp_info_version(m->version) : NULL);
    otp_jsonout_string(j, "packing", b->packing);
    otp_jsonout_uint(j, "bytes", b->file_size);
    otp_jsonout_uint(j, "unpacked_bytes", b->size);
    otp_jsonout_list(j, "messages");
}

bool otp_info_json(const struct otp_profile_set *set)
{
    struct otp_jsonout j;
    bool ok = true;

    otp_jsonout_begin(&j, stdout);
    otp_jsonout_list(&j, "files");
    for (size_t i = 0; i < set->message_count; i++) {
        const struct otp_profiles *m = set->messages[i];
        if (m->number == 0) {
            open_file(&j, m);
        }
        ok = put_message(&j, m) && ok;
        if (i + 1 == set->message_count || set->messages[i + 1]->number == 0) {
            otp_jsonout_close(&j);
            otp_jsonout_close(&j);
        }
    }
    otp_jsonout_close(&j);
    otp_jsonout_end(&j);
    return ok;
}
