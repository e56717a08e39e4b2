/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: the field numbers of opentelemetry-proto 1.3 to 1.11.
 *   Sample   1.10  stack 1, attributes 2, link 3, values 4, timestamps 5
 *            1.8/9 stack 1, values 2, attributes 3, link 4, timestamps 5
 *   Profile  1.9   period 6, profile_id 7, dropped 8, format 9, payload 10, attributes 11
 *            1.8   period 6, comments 7, profile_id 8, dropped 9, format 10, payload 11, attributes
 * 12 before 1.8: stacks are slices of location_indices, tables are elsewhere or have other entries
 * Lists are packed (length-delimited), so one sample with attributes, link or values nearly always
 * tells; of writers that do not pack lists of one number, that a sample has a value.
 */
#include "core/decode/otlp_version.h"

#include <stdlib.h>
#include <string.h>

#define OLD "written in the layout of opentelemetry-proto 1.7 or older"
#define READABLE "; readable are 1.4 to 1.11"

struct finding {
    bool is_1_8;    /* a Profile has the numbers of 1.8 */
    bool is_1_9;    /* a Sample has the numbers of 1.9 */
    bool is_1_10;   /* a Sample has the numbers of 1.10 */
    bool maybe_1_9; /* a Sample without any value if it were 1.10 */
    bool doubtful;  /* a Sample that fits both, but its attributes may tell */
    bool unclear;   /* a Sample that fits both */
    bool has_stacks;
    bool is_1_3;     /* a container with a start as fixed64 where samples are */
    const char *old; /* reason for being older than 1.8 */
    const uint8_t *old_at;
};

static void note_old(struct finding *found, const struct otp_field *f, const char *reason)
{
    if (found->old == NULL) {
        found->old = reason;
        found->old_at = f->at;
    }
}

/* What a sample shows: for fields 2 to 5 the wire type, and the number of items of 2 and 5. */
struct sample_shape {
    bool is_list[6];
    bool is_number[6];
    uint64_t count[6];
};

/*
 * Field 4 is a single number: a link of 1.9, or of 1.10 a value that is not packed. Without
 * timestamps and anything in 2 it is a value, as 1.9 would have none; with timestamps there are as
 * many values, or one link.
 */
static void judge_number_4(const struct sample_shape *s, struct finding *found)
{
    bool is_even = s->count[4] == s->count[5];

    if (s->count[2] > 0 && (s->is_number[3] || s->count[5] == 0)) {
        found->doubtful = true; /* nothing is packed: value (and attribute) and link, or attribute
                                   (and link) and value */
    } else if (s->is_number[3] || s->count[5] == 0 || (is_even && s->count[4] > 1)) {
        found->is_1_10 = true;
    } else if (is_even) {
        found->unclear = true;
    } else {
        found->is_1_9 = true;
    }
}

/* Neither a list in 3 nor anything in 4: there are writers that do not pack lists of one. */
static void judge_without_4(const struct sample_shape *s, struct finding *found)
{
    if (s->count[2] == 0) {
        /* Without a link there is nothing that the versions have at different places. */
        found->is_1_10 = found->is_1_10 || (s->is_number[3] && s->count[5] > 0);
    } else if (s->count[5] == 0) {
        found->maybe_1_9 = true; /* as 1.10 there would be no value */
    } else if (s->count[2] == s->count[5] && !s->is_number[3]) {
        found->doubtful = true;
    } else {
        found->is_1_10 = true; /* as 1.9: fewer values than timestamps, or an attribute alone */
    }
}

static void judge_sample(const struct sample_shape *s, struct finding *found)
{
    if (s->is_list[3] || (s->is_number[4] && s->is_list[2])) {
        found->is_1_9 = true;
    } else if (s->is_list[4]) {
        found->is_1_10 = true;
    } else if (s->is_number[4]) {
        judge_number_4(s, found);
    } else {
        judge_without_4(s, found);
    }
}

static void look_at_sample(struct otp_wire w, struct finding *found)
{
    struct sample_shape s;
    struct otp_field f = {.at = w.pos};

    memset(&s, 0, sizeof(s));
    while (otp_wire_next(&w, &f)) {
        if (f.number < 2 || f.number > 5) {
            continue;
        }
        if (f.type == OTP_WIRE_LEN) {
            s.is_list[f.number] = f.len > 0;
            s.count[f.number] += f.number == 5 ? f.len / 8 : otp_wire_count_varints(f.data, f.len);
        } else {
            s.is_number[f.number] = true;
            s.count[f.number]++;
        }
    }
    if (s.is_number[2] && s.is_list[3] && !found->has_stacks) {
        note_old(found, &f, OLD " (samples are slices of location_indices)" READABLE);
        return;
    }
    judge_sample(&s, found);
}

/* Fields of a Profile whose wire type no version after 1.7 has at that number. */
static bool is_old_profile_field(const struct otp_field *f)
{
    bool is_list = f->type == OTP_WIRE_LEN;
    return (f->number == 2 && f->type == OTP_WIRE_I64) || (f->number == 3 && is_list) ||
           (f->number == 5 && f->type == OTP_WIRE_VARINT) || (f->number == 6 && is_list);
}

static bool is_1_8_profile_field(const struct otp_field *f)
{
    bool is_list = f->type == OTP_WIRE_LEN;
    return (f->number == 8 && is_list) || (f->number == 9 && f->type == OTP_WIRE_VARINT) ||
           (f->number == 12 && is_list);
}

/* Steps over samples of less than 128 bytes, of which nothing more is to be learned. */
static void skip_samples(struct otp_wire *w)
{
    const uint8_t tag = 2 << 3 | OTP_WIRE_LEN;

    while (w->end - w->pos >= 2 && w->pos[0] == tag && w->pos[1] < 0x80 &&
           w->pos[1] <= w->end - w->pos - 2) {
        w->pos += 2 + w->pos[1];
    }
}

static bool next_to_look_at(struct otp_wire *w, const struct finding *found, struct otp_field *f)
{
    if (found->is_1_9 || found->is_1_10) {
        skip_samples(w);
    }
    return otp_wire_next(w, f);
}

static void look_at_profile(struct otp_wire w, struct finding *found)
{
    struct otp_field f;
    uint32_t types = 0;

    while (next_to_look_at(&w, found, &f)) {
        found->is_1_3 = found->is_1_3 || (f.number == 2 && f.type == OTP_WIRE_I64);
        if (is_old_profile_field(&f)) {
            note_old(found, &f, OLD " (Profile is laid out differently)" READABLE);
        } else if (is_1_8_profile_field(&f)) {
            found->is_1_8 = true;
        } else if (f.number == 1 && f.type == OTP_WIRE_LEN && ++types > 1) {
            note_old(found, &f, OLD " (a Profile has several sample types)" READABLE);
        } else if (f.number == 2 && f.type == OTP_WIRE_LEN && !found->is_1_9 && !found->is_1_10) {
            look_at_sample(otp_wire_nested(&w, &f), found);
        }
    }
}

/* Calls look for each message in field `number` of the message w. */
static void for_each(struct otp_wire w, uint32_t number,
                     void (*look)(struct otp_wire w, struct finding *found), struct finding *found)
{
    struct otp_field f;
    while (otp_wire_next(&w, &f)) {
        if (f.number == number && f.type == OTP_WIRE_LEN) {
            look(otp_wire_nested(&w, &f), found);
        }
    }
}

static void look_at_scope(struct otp_wire w, struct finding *found)
{
    for_each(w, 2, look_at_profile, found);
}

static void look_at_resource(struct otp_wire w, struct finding *found)
{
    for_each(w, 2, look_at_scope, found);
}

/* An attribute of 1.7 has its key in place, as a string; later ones have a number there. */
static void look_at_attribute(struct otp_wire w, struct finding *found)
{
    struct otp_field f;
    while (found->old == NULL && otp_wire_next(&w, &f)) {
        if (f.number == 1 && f.type == OTP_WIRE_LEN) {
            note_old(found, &f, OLD " (attribute keys are not in the string table)" READABLE);
        }
    }
}

static void look_at_dictionary(struct otp_wire w, struct finding *found)
{
    struct otp_field f;
    while (otp_wire_next(&w, &f)) {
        if (f.number == OTP_TABLE_STACK) {
            found->has_stacks = true;
        } else if (f.number == OTP_TABLE_ATTRIBUTE && f.type == OTP_WIRE_LEN) {
            look_at_attribute(otp_wire_nested(&w, &f), found);
        }
    }
}

static void look_at_all(struct otp_wire w, struct finding *found)
{
    struct otp_wire top = w;
    struct otp_field f;

    while (otp_wire_next(&top, &f)) {
        if (f.number >= 3 && f.number <= 8 && f.type == OTP_WIRE_LEN) {
            note_old(found, &f, OLD " (tables are not in a dictionary)" READABLE);
        }
    }
    for_each(w, 2, look_at_dictionary, found);
    for_each(w, 1, look_at_resource, found);
}

static enum otp_wire_version version_of(const struct finding *found)
{
    return found->is_1_8                       ? OTP_PROTO_1_8
           : found->is_1_10                    ? OTP_PROTO_1_10
           : found->is_1_9 || found->maybe_1_9 ? OTP_PROTO_1_9
                                               : OTP_PROTO_1_10;
}

void otp_otlp_version_find(const void *data, size_t len, struct otp_otlp_version *out_version)
{
    struct otp_wire_fault ignored = {.reason = NULL};
    struct finding found = {.old = NULL};
    struct otp_wire w;

    memset(out_version, 0, sizeof(*out_version));
    otp_wire_init(&w, data, len, &ignored);
    look_at_all(w, &found);
    if (found.old != NULL) {
        out_version->fault = (struct otp_wire_fault){.reason = found.old, .at = found.old_at};
        out_version->is_old = !found.is_1_3 && ignored.reason == NULL;
    } else if (found.is_1_8 && found.is_1_10) {
        out_version->fault.reason = "profiles are numbered as in proto 1.8, samples as in 1.10";
        out_version->fault.at = data;
    } else if (found.unclear && !found.is_1_8 && !found.is_1_9 && !found.is_1_10) {
        out_version->fault = (struct otp_wire_fault){.reason = OTP_OTLP_UNCLEAR, .at = data};
    }
    out_version->version = version_of(&found);
    out_version->is_doubtful = found.doubtful && !found.is_1_10 && !found.is_1_9 && !found.is_1_8;
}

/* For each attribute: OTHER_USE, or the number of the last list of a sample that had it. */
#define OTHER_USE UINT32_MAX

static void mark_list(const struct otp_profiles *m, uint32_t list, uint32_t *marks)
{
    uint32_t count;
    const int32_t *items = otp_profiles_list(m, list, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (items[i] > 0 && (uint32_t)items[i] < m->table[OTP_TABLE_ATTRIBUTE].count) {
            marks[items[i]] = OTHER_USE;
        }
    }
}

static bool list_fits(const struct otp_profiles *m, uint32_t list, uint32_t number, uint32_t *marks)
{
    uint32_t count;
    const int32_t *items = otp_profiles_list(m, list, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (items[i] <= 0 || (uint32_t)items[i] >= m->table[OTP_TABLE_ATTRIBUTE].count ||
            marks[items[i]] == OTHER_USE || marks[items[i]] == number) {
            return false;
        }
        marks[items[i]] = number;
    }
    return true;
}

bool otp_otlp_version_fits(const struct otp_profiles *m)
{
    uint32_t *marks = calloc((size_t)m->table[OTP_TABLE_ATTRIBUTE].count + 1, sizeof(marks[0]));
    bool fits = marks != NULL;
    uint32_t last = 0;

    if (marks == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < m->table[OTP_TABLE_MAPPING].count; i++) {
        mark_list(m, otp_profiles_mapping(m, (int32_t)i)->attrs, marks);
    }
    for (uint32_t i = 0; i < m->table[OTP_TABLE_LOCATION].count; i++) {
        mark_list(m, otp_profiles_location(m, (int32_t)i)->attrs, marks);
    }
    for (uint32_t i = 0; i < m->samples.count && fits; i++) {
        uint32_t list = otp_profiles_sample(m, i)->attrs;
        fits = list == last || list_fits(m, list, i + 1, marks);
        last = list;
    }
    free(marks);
    return fits;
}
