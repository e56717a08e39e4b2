/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for the tables of the dictionary, but those on equal and on unused entries. */
#include <inttypes.h>
#include <string.h>

#include "core/base/annot.h"
#include "tools/otelprof/check.h"

static void check_mapping(struct otp_check *c, int32_t i)
{
    static const char *const ids[] = {"process.executable.build_id.gnu",
                                      "process.executable.build_id.go",
                                      "process.executable.build_id.htlhash"};
    const struct otp_mapping *m = otp_profiles_mapping(c->m, i);
    bool has_id = false;

    if (i == 0) {
        return;
    }
    otp_check_index(c, OTP_TABLE_STRING, m->filename, "filename_strindex");
    otp_check_list(c, m->attrs);
    if (!(m->start == 0 && m->limit == 0) && m->start >= m->limit) {
        otp_check_report(c, NULL, "memory_start 0x%" PRIx64 " is not below memory_limit 0x%" PRIx64,
                         m->start, m->limit);
    }
    for (size_t k = 0; k < OTP_ARRAY_LEN(ids); k++) {
        const struct otp_value *v = otp_profiles_find_attr(c->m, m->attrs, ids[k]);
        has_id = has_id || otp_profiles_value_text(c->m, v).len > 0;
    }
    /* OTEP 0239 has no entry 0 for "none": one of its own that says nothing stands for it. */
    uint32_t attr_count;
    (void)otp_profiles_list(c->m, m->attrs, &attr_count);
    bool is_none = m->limit == 0 && m->filename == 0 && attr_count == 0;
    if (c->strict && !has_id && !is_none) {
        otp_check_report(c, "attribute_indices", "there is no build id among them");
    }
}

static void check_line(struct otp_check *c, const struct otp_source_line *l)
{
    otp_check_index(c, OTP_TABLE_FUNCTION, l->function, "function_index");
    if (l->line < 0) {
        otp_check_report(c, "line", "%" PRId64 " is negative", l->line);
    }
    if (l->column < 0) {
        otp_check_report(c, "column", "%" PRId64 " is negative", l->column);
    }
}

static void check_address(struct otp_check *c, const struct otp_location *l)
{
    const struct otp_mapping *m = otp_profiles_mapping(c->m, l->mapping);
    bool is_unset = l->address == 0 && l->lines.count > 0; /* named without an address */

    if (l->mapping == 0 || m->limit == 0 || is_unset) {
        return;
    }
    if (l->address < m->start || l->address >= m->limit) {
        otp_check_report(c, "address",
                         "0x%" PRIx64 " is outside mapping %d, 0x%" PRIx64 " to 0x%" PRIx64,
                         l->address, (int)l->mapping, m->start, m->limit);
    }
}

static void check_location(struct otp_check *c, int32_t i)
{
    const struct otp_location *l = otp_profiles_location(c->m, i);

    if (otp_check_index(c, OTP_TABLE_MAPPING, l->mapping, "mapping_index") && c->strict) {
        check_address(c, l);
    }
    otp_check_list(c, l->attrs);
    for (uint32_t k = 0; k < l->lines.count; k++) {
        otp_place_enter(&c->place, "lines", k);
        check_line(c, otp_profiles_line(c->m, l->lines.first + k));
        otp_place_leave(&c->place);
    }
}

static void check_function(struct otp_check *c, int32_t i)
{
    const struct otp_function *f = otp_profiles_function(c->m, i);

    otp_check_index(c, OTP_TABLE_STRING, f->name, "name_strindex");
    otp_check_index(c, OTP_TABLE_STRING, f->system_name, "system_name_strindex");
    otp_check_index(c, OTP_TABLE_STRING, f->filename, "filename_strindex");
    if (f->start_line < 0) {
        otp_check_report(c, "start_line", "%" PRId64 " is negative", f->start_line);
    }
    if (c->strict && i > 0 && f->name == 0 && f->system_name == 0 && f->filename == 0) {
        otp_check_report(c, NULL, "it has no name, system name or file name");
    }
}

static bool all_zero(const struct otp_profiles *m, struct otp_piece p)
{
    for (uint32_t i = 0; i < p.len; i++) {
        if (m->bytes[p.off + i] != 0) {
            return false;
        }
    }
    return true;
}

static void check_id(struct otp_check *c, struct otp_piece id, uint32_t want, const char *field)
{
    if (id.len == 0 && !otp_check_has_tables(c)) {
        return; /* a link that says nothing, which OTEP-0239 may have anywhere in its table */
    }
    if (id.len != want) {
        otp_check_report(c, field, "it has %u bytes, not %u", (unsigned)id.len, (unsigned)want);
    } else if (c->strict && all_zero(c->m, id)) {
        otp_check_report(c, field, "it is all zero");
    }
}

static void check_link(struct otp_check *c, int32_t i)
{
    const struct otp_link *l = otp_profiles_link(c->m, i);

    if (i > 0) {
        check_id(c, l->trace_id, 16, "trace_id");
        check_id(c, l->span_id, 8, "span_id");
    }
}

static void check_attribute(struct otp_check *c, int32_t i)
{
    const struct otp_attribute *a = otp_profiles_attribute(c->m, i);

    otp_check_index(c, OTP_TABLE_STRING, a->key, "key_strindex");
    otp_check_index(c, OTP_TABLE_STRING, a->unit, "unit_strindex");
    if (a->value.kind == OTP_VALUE_STRINDEX) {
        otp_check_index(c, OTP_TABLE_STRING, (int32_t)a->value.of.number,
                        "value.string_value_strindex");
    }
}

static void check_stack(struct otp_check *c, int32_t i)
{
    const struct otp_slice *stack = otp_profiles_stack(c->m, i);
    const int32_t *frames = otp_profiles_frames(c->m, stack);

    for (uint32_t k = 0; k < stack->count; k++) {
        if (frames[k] < 0 || (uint32_t)frames[k] >= c->m->table[OTP_TABLE_LOCATION].count) {
            otp_place_enter(&c->place, "location_indices", k);
            otp_check_index(c, OTP_TABLE_LOCATION, frames[k], NULL);
            otp_place_leave(&c->place);
        }
    }
}

static void (*const checks[OTP_TABLES])(struct otp_check *c, int32_t i) = {
    [OTP_TABLE_MAPPING] = check_mapping,     [OTP_TABLE_LOCATION] = check_location,
    [OTP_TABLE_FUNCTION] = check_function,   [OTP_TABLE_LINK] = check_link,
    [OTP_TABLE_ATTRIBUTE] = check_attribute, [OTP_TABLE_STACK] = check_stack,
};

/* Is entry 0 the zero value: all fields unset, none unknown? */
static bool zero_is_zero(const struct otp_profiles *m, enum otp_table table)
{
    static const struct otp_mapping no_mapping;
    static const struct otp_function no_function;
    const struct otp_location *l;

    switch (table) {
    case OTP_TABLE_MAPPING:
        return memcmp(otp_profiles_mapping(m, 0), &no_mapping, sizeof(no_mapping)) == 0;
    case OTP_TABLE_LOCATION:
        l = otp_profiles_location(m, 0);
        return l->address == 0 && l->mapping == 0 && l->attrs == 0 && l->lines.count == 0;
    case OTP_TABLE_FUNCTION:
        return memcmp(otp_profiles_function(m, 0), &no_function, sizeof(no_function)) == 0;
    case OTP_TABLE_LINK:
        return otp_profiles_link(m, 0)->trace_id.len == 0 &&
               otp_profiles_link(m, 0)->span_id.len == 0;
    case OTP_TABLE_STRING:
        return otp_profiles_string(m, 0).len == 0;
    case OTP_TABLE_ATTRIBUTE:
        return otp_profiles_attribute(m, 0)->key == 0 && otp_profiles_attribute(m, 0)->unit == 0 &&
               otp_profiles_attribute(m, 0)->value.kind == OTP_VALUE_NONE;
    case OTP_TABLE_STACK:
        return otp_profiles_stack(m, 0)->count == 0;
    case OTP_TABLES:
    default:
        return false;
    }
}

static void check_table(struct otp_check *c, enum otp_table table)
{
    uint32_t count = c->m->table[table].count;

    if (count == 0) {
        if (c->m->has_dictionary) {
            otp_check_report(c, otp_check_tables[table], "it is empty; entry 0 has to be there");
        }
        return;
    }
    otp_place_enter(&c->place, otp_check_tables[table], 0);
    if (!zero_is_zero(c->m, table) ||
        (c->m->zero_has_unknown[table] && table != OTP_TABLE_ATTRIBUTE)) {
        otp_check_report(c, NULL, "it is not the zero value");
    }
    otp_place_leave(&c->place);
    for (uint32_t i = 0; i < count && checks[table] != NULL; i++) {
        otp_place_enter(&c->place, otp_check_tables[table], i);
        checks[table](c, (int32_t)i);
        otp_place_leave(&c->place);
    }
}

void otp_check_dictionary(struct otp_check *c)
{
    memset(&c->place, 0, sizeof(c->place));
    otp_place_enter(&c->place, "dictionary", OTP_PLACE_ONE);
    for (int t = OTP_TABLE_MAPPING; t < OTP_TABLES; t++) {
        check_table(c, (enum otp_table)t);
    }
    otp_place_leave(&c->place);
}
