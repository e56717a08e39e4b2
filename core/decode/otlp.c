/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope of OTLP Profiles: resources and scopes. Unknown fields are
 * skipped, singular fields that come twice are merged, lists may be packed or not: as protobuf asks
 * of readers.
 */
#include "core/decode/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "core/decode/profiles.h"
#include "core/decode/otlp_parts.h"
#include "core/decode/otlp_version.h"

/* Fields of Resource (attributes 1, dropped 2) and InstrumentationScope (attributes 3, dropped 4).
 */
struct attributed {
    uint32_t attrs_field;
    struct otp_slice *attrs;
    uint32_t *dropped;
    struct otp_scope *scope; /* NULL: a resource */
};

static bool attributed_field(struct otp_decoder *d, struct otp_wire *w, const struct otp_field *f,
                             const struct attributed *a)
{
    if (f->number == a->attrs_field && OTP_EXPECT(d, f, OTP_WIRE_LEN)) {
        otp_place_enter(&d->place, "attributes", a->attrs->count++);
        bool ok = otp_decode_keyvalue(d, otp_wire_nested(w, f));
        otp_place_leave(&d->place);
        return ok;
    }
    if (f->number == a->attrs_field + 1 && OTP_EXPECT(d, f, OTP_WIRE_VARINT)) {
        *a->dropped = (uint32_t)f->value;
    } else if (f->number > a->attrs_field + 1 && (a->scope != NULL || f->number != 3)) {
        (void)otp_decoder_unknown(d, f); /* 3 of Resource: entity references, of no use here */
    } else if (a->scope != NULL && f->number < 3) {
        otp_decoder_string_field(d, f, f->number == 1 ? &a->scope->name : &a->scope->version);
    }
    return true;
}

static bool decode_attributed(struct otp_decoder *d, struct otp_wire w, const struct attributed *a)
{
    struct otp_field f;

    if (a->attrs->count == 0) {
        a->attrs->first = d->m->keyvalues.count;
    } else if (a->attrs->first + a->attrs->count != d->m->keyvalues.count) {
        return otp_wire_fail(&w, w.pos, "a resource or scope is written in several pieces");
    }
    otp_place_enter(&d->place, a->scope != NULL ? "scope" : "resource", OTP_PLACE_ONE);
    while (otp_wire_next(&w, &f)) {
        if (!attributed_field(d, &w, &f, a)) {
            return false;
        }
    }
    otp_place_leave(&d->place);
    return otp_wire_ok(&w);
}

static bool scope_field(struct otp_decoder *d, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_scope *s = (struct otp_scope *)d->m->scopes.items + (d->m->scopes.count - 1);
    struct attributed a = {
        .attrs_field = 3, .attrs = &s->attrs, .scope = s, .dropped = &s->dropped_attributes};

    if (f->number > 3) {
        return otp_decoder_unknown(d, f);
    }
    if (!OTP_EXPECT(d, f, OTP_WIRE_LEN)) {
        return true;
    }
    if (f->number == 1) {
        s->is_set = true;
        return decode_attributed(d, otp_wire_nested(w, f), &a);
    }
    if (f->number == 3) {
        s->schema_url = otp_decoder_string(d, f);
        return true;
    }
    otp_place_enter(&d->place, "profiles", s->profiles.count++);
    bool ok = otp_decode_profile(d, otp_wire_nested(w, f), f);
    otp_place_leave(&d->place);
    return ok;
}

static bool decode_scope(struct otp_decoder *d, struct otp_wire w, const struct otp_field *at)
{
    struct otp_scope *s = otp_vec_push(&d->m->scopes);
    struct otp_field f;

    if (s == NULL) {
        return otp_decoder_no_room(d, at);
    }
    s->resource = d->m->resources.count - 1;
    s->profiles.first = d->m->profiles.count;
    while (otp_wire_next(&w, &f)) {
        if (!scope_field(d, &w, &f)) {
            return false;
        }
    }
    return otp_wire_ok(&w);
}

static bool resource_field(struct otp_decoder *d, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_profiles_resource *r =
        (struct otp_profiles_resource *)d->m->resources.items + (d->m->resources.count - 1);
    struct attributed a = {.attrs_field = 1, .attrs = &r->attrs, .dropped = &r->dropped_attributes};

    if (f->number > 3) {
        return otp_decoder_unknown(d, f);
    }
    if (!OTP_EXPECT(d, f, OTP_WIRE_LEN)) {
        return true;
    }
    if (f->number == 1) {
        r->is_set = true;
        return decode_attributed(d, otp_wire_nested(w, f), &a);
    }
    if (f->number == 3) {
        r->schema_url = otp_decoder_string(d, f);
        return true;
    }
    otp_place_enter(&d->place, "scope_profiles", r->scopes.count++);
    bool ok = decode_scope(d, otp_wire_nested(w, f), f);
    otp_place_leave(&d->place);
    return ok;
}

static bool decode_resource(struct otp_decoder *d, struct otp_wire w, const struct otp_field *at)
{
    struct otp_profiles_resource *r = otp_vec_push(&d->m->resources);
    struct otp_field f;

    if (r == NULL) {
        return otp_decoder_no_room(d, at);
    }
    r->scopes.first = d->m->scopes.count;
    while (otp_wire_next(&w, &f)) {
        if (!resource_field(d, &w, &f)) {
            return false;
        }
    }
    return otp_wire_ok(&w);
}

static bool decode_all(struct otp_decoder *d)
{
    struct otp_wire w;
    struct otp_field f;
    bool ok = true;

    otp_wire_init(&w, d->m->bytes, d->m->size, &d->fault);
    while (ok && otp_wire_next(&w, &f)) {
        if (f.number > 2) {
            (void)otp_decoder_unknown(d, &f);
        } else if (OTP_EXPECT(d, &f, OTP_WIRE_LEN)) {
            bool is_resource = f.number == 1;
            otp_place_enter(&d->place, is_resource ? "resource_profiles" : "dictionary",
                            is_resource ? d->m->resources.count : OTP_PLACE_ONE);
            ok = is_resource ? decode_resource(d, otp_wire_nested(&w, &f), &f)
                             : otp_decode_dictionary(d, otp_wire_nested(&w, &f));
            otp_place_leave(&d->place);
        }
    }
    return ok && otp_wire_ok(&w);
}

static void decoder_init(struct otp_decoder *d, struct otp_profiles *m, bool with_notes)
{
    memset(d, 0, sizeof(*d));
    d->m = m;
    d->with_notes = with_notes;
    otp_vec_init(&d->attrs, &m->budget, sizeof(int32_t));
    otp_vec_init(&d->profile_attrs, &m->budget, sizeof(int32_t));
    otp_vec_init(&d->values, &m->budget, sizeof(int64_t));
    otp_vec_init(&d->timestamps, &m->budget, sizeof(int64_t));
}

/* known, rows: NULL if there are none. */
static enum otp_status decode(struct otp_decoder *d, const struct otp_otlp_version *known,
                              struct otp_rows *rows, struct otp_wire_fault *out_fault)
{
    struct otp_profiles *m = d->m;

    m->version = known == NULL ? OTP_PROTO_1_10 : known->version;
    d->lists = calloc(OTP_DECODER_LISTS, sizeof(d->lists[0]));
    if (d->lists == NULL) {
        *out_fault = (struct otp_wire_fault){.reason = "no memory", .at = m->bytes};
        return OTP_NO_MEMORY;
    }
    bool ok = decode_all(d) && (rows == NULL || otp_decode_rows(d, rows));
    if (ok && known != NULL && known->is_doubtful && !otp_otlp_version_fits(m)) {
        ok = false;
        d->fault.reason = OTP_OTLP_UNCLEAR;
        d->fault.at = m->bytes;
    }
    free(d->lists);
    otp_vec_fini(&d->attrs);
    otp_vec_fini(&d->profile_attrs);
    otp_vec_fini(&d->values);
    otp_vec_fini(&d->timestamps);
    if (!ok) {
        *out_fault = d->fault;
        return OTP_MALFORMED;
    }
    otp_profiles_trim(m);
    return OTP_OK;
}

enum otp_status otp_otlp_decode(struct otp_profiles *m, bool with_notes, bool is_consumed,
                                const struct otp_otlp_version *known,
                                struct otp_wire_fault *out_fault)
{
    struct otp_decoder d;

    if (known != NULL && known->fault.reason != NULL) {
        *out_fault = known->fault;
        return OTP_UNSUPPORTED;
    }
    decoder_init(&d, m, with_notes);
    d.is_consumed = is_consumed;
    return decode(&d, known, NULL, out_fault);
}

enum otp_status otp_otlp_decode_rows(struct otp_profiles *m, bool with_notes, struct otp_rows *rows,
                                     struct otp_wire_fault *out_fault)
{
    struct otp_decoder d;

    decoder_init(&d, m, with_notes);
    return decode(&d, NULL, rows, out_fault);
}
