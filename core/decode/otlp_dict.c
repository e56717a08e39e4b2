/* SPDX-License-Identifier: Apache-2.0 */
/* The seven tables of ProfilesDictionary. */
#include "core/decode/meter.h"
#include "core/decode/otlp_parts.h"

/* Where the decoder is inside one entry of a table. */
struct entry {
    struct otp_decoder *d;
    void *item; /* in the table; valid until the next entry is added */
    bool attrs_seen;
};

typedef bool (*entry_field)(struct entry *e, struct otp_wire *w, const struct otp_field *f);

/* Puts a number into one of the entry's fields; false: it has another wire type. */
static void set_i32(struct entry *e, const struct otp_field *f, int32_t *to)
{
    if (OTP_EXPECT(e->d, f, OTP_WIRE_VARINT)) {
        *to = otp_field_i32(f);
    }
}

static void set_u64(struct entry *e, const struct otp_field *f, uint64_t *to)
{
    if (OTP_EXPECT(e->d, f, OTP_WIRE_VARINT)) {
        *to = f->value;
    }
}

static void set_i64(struct entry *e, const struct otp_field *f, int64_t *to)
{
    if (OTP_EXPECT(e->d, f, OTP_WIRE_VARINT)) {
        *to = (int64_t)f->value;
    }
}

static bool mapping_field(struct entry *e, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_mapping *m = e->item;

    (void)w;
    switch (f->number) {
    case 1:
        set_u64(e, f, &m->start);
        return true;
    case 2:
        set_u64(e, f, &m->limit);
        return true;
    case 3:
        set_u64(e, f, &m->file_offset);
        return true;
    case 4:
        set_i32(e, f, &m->filename);
        return true;
    case 5:
        return otp_decoder_varints(e->d, f, &e->d->attrs);
    default:
        return otp_decoder_unknown(e->d, f);
    }
}

static bool line_fields(struct otp_decoder *d, struct otp_wire w, struct otp_source_line *line)
{
    struct entry e = {.d = d};
    struct otp_field f;

    while (otp_wire_next(&w, &f)) {
        if (f.number == 1) {
            set_i32(&e, &f, &line->function);
        } else if (f.number == 2) {
            set_i64(&e, &f, &line->line);
        } else if (f.number == 3) {
            set_i64(&e, &f, &line->column);
        } else {
            (void)otp_decoder_unknown(d, &f);
        }
    }
    return otp_wire_ok(&w);
}

static bool add_line(struct entry *e, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_location *l = e->item;
    struct otp_source_line *line = otp_vec_push(&e->d->m->lines);

    if (line == NULL) {
        return otp_decoder_no_room(e->d, f);
    }
    otp_place_enter(&e->d->place, "lines", l->lines.count++);
    bool ok = line_fields(e->d, otp_wire_nested(w, f), line);
    otp_place_leave(&e->d->place);
    return ok;
}

static bool location_field(struct entry *e, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_location *l = e->item;

    switch (f->number) {
    case 1:
        set_i32(e, f, &l->mapping);
        return true;
    case 2:
        set_u64(e, f, &l->address);
        return true;
    case 3:
        return !OTP_EXPECT(e->d, f, OTP_WIRE_LEN) || add_line(e, w, f);
    case 4:
        return otp_decoder_varints(e->d, f, &e->d->attrs);
    default:
        return otp_decoder_unknown(e->d, f);
    }
}

static bool function_field(struct entry *e, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_function *fn = e->item;

    (void)w;
    switch (f->number) {
    case 1:
        set_i32(e, f, &fn->name);
        return true;
    case 2:
        set_i32(e, f, &fn->system_name);
        return true;
    case 3:
        set_i32(e, f, &fn->filename);
        return true;
    case 4:
        set_i64(e, f, &fn->start_line);
        return true;
    default:
        return otp_decoder_unknown(e->d, f);
    }
}

static bool link_field(struct entry *e, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_link *l = e->item;

    (void)w;
    if (f->number > 2) {
        return otp_decoder_unknown(e->d, f);
    }
    if (OTP_EXPECT(e->d, f, OTP_WIRE_LEN)) {
        *(f->number == 1 ? &l->trace_id : &l->span_id) = otp_decoder_piece(e->d, f);
    }
    return true;
}

static bool attribute_field(struct entry *e, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_attribute *a = e->item;

    switch (f->number) {
    case 1:
        set_i32(e, f, &a->key);
        return true;
    case 2:
        return !OTP_EXPECT(e->d, f, OTP_WIRE_LEN) ||
               otp_decode_value(e->d, otp_wire_nested(w, f), &a->value);
    case 3:
        set_i32(e, f, &a->unit);
        return true;
    default:
        return otp_decoder_unknown(e->d, f);
    }
}

static bool stack_field(struct entry *e, struct otp_wire *w, const struct otp_field *f)
{
    struct otp_slice *stack = e->item;

    (void)w;
    if (f->number != 1) {
        return otp_decoder_unknown(e->d, f);
    }
    if (!otp_decoder_varints(e->d, f, &e->d->m->frames)) {
        return false;
    }
    stack->count = e->d->m->frames.count - stack->first;
    return true;
}

static const struct {
    const char *name;
    entry_field field;
} tables[OTP_TABLES] = {
    [OTP_TABLE_MAPPING] = {"mapping_table", mapping_field},
    [OTP_TABLE_LOCATION] = {"location_table", location_field},
    [OTP_TABLE_FUNCTION] = {"function_table", function_field},
    [OTP_TABLE_LINK] = {"link_table", link_field},
    [OTP_TABLE_STRING] = {"string_table", NULL},
    [OTP_TABLE_ATTRIBUTE] = {"attribute_table", attribute_field},
    [OTP_TABLE_STACK] = {"stack_table", stack_field},
};

/* Where an entry's own arrays begin. */
static void begin_entry(struct entry *e, uint32_t table)
{
    if (table == OTP_TABLE_LOCATION) {
        struct otp_location *l = e->item;
        l->lines.first = e->d->m->lines.count;
    } else if (table == OTP_TABLE_STACK) {
        struct otp_slice *stack = e->item;
        stack->first = e->d->m->frames.count;
    }
}

static bool end_entry(struct entry *e, uint32_t table, const struct otp_field *f)
{
    if (table == OTP_TABLE_LOCATION) {
        struct otp_location *l = e->item;
        return otp_decoder_take_list(e->d, f, &l->attrs);
    }
    if (table == OTP_TABLE_MAPPING) {
        struct otp_mapping *m = e->item;
        return otp_decoder_take_list(e->d, f, &m->attrs);
    }
    return true;
}

static bool decode_entry(struct otp_decoder *d, struct otp_wire *parent,
                         const struct otp_field *in_table)
{
    struct otp_vec *table = &d->m->table[in_table->number];
    struct entry e = {.d = d, .item = otp_vec_push(table)};
    struct otp_wire w = otp_wire_nested(parent, in_table);
    struct otp_field f;

    if (e.item == NULL) {
        return otp_decoder_no_room(d, in_table);
    }
    uint64_t notes = d->m->note_count;
    begin_entry(&e, in_table->number);
    while (otp_wire_next(&w, &f)) {
        if (!tables[in_table->number].field(&e, &w, &f)) {
            return false;
        }
    }
    if (table->count == 1 && d->m->note_count != notes) {
        d->m->zero_has_unknown[in_table->number] = true;
    }
    return otp_wire_ok(&w) && end_entry(&e, in_table->number, in_table);
}

static bool add_string(struct otp_decoder *d, const struct otp_field *f)
{
    struct otp_piece piece = otp_decoder_string(d, f);
    return otp_vec_append(&d->m->table[OTP_TABLE_STRING], &piece, 1) || otp_decoder_no_room(d, f);
}

bool otp_decode_dictionary(struct otp_decoder *d, struct otp_wire w)
{
    struct otp_field f;

    d->m->has_dictionary = true;
    while (otp_wire_next(&w, &f)) {
        if (f.number >= OTP_TABLES) {
            (void)otp_decoder_unknown(d, &f);
            continue;
        }
        if (!OTP_EXPECT(d, &f, OTP_WIRE_LEN)) {
            continue;
        }
        otp_meter_at("reading", d->m->bytes, f.at, d->m->bytes + d->m->size,
                     d->m->table[f.number].count);
        otp_place_enter(&d->place, tables[f.number].name, d->m->table[f.number].count);
        bool ok = f.number == OTP_TABLE_STRING ? add_string(d, &f) : decode_entry(d, &w, &f);
        otp_place_leave(&d->place);
        if (!ok) {
            return false;
        }
    }
    return otp_wire_ok(&w);
}
