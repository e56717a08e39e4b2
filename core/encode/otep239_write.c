/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indices count from 0, so that an index that is left out means the first entry. Where that would
 * be wrong there is an empty entry to point to: the last mapping, the first link. Times are in
 * nanoseconds, like the container's range: the proposal's own example has both in one unit.
 */
#include "core/encode/otep239_write.h"

#include <string.h>

#include "proto/otep239.pb-c.h"

#include "core/base/profile_ids.h"
#include "core/encode/envelope.h"
#include "core/encode/pack.h"
#include "core/encode/slices.h"
#include "core/encode/value.h"

#define PB(name) Otep239__##name
#define PB_INIT(NAME) OTEP239__##NAME##__INIT

/* Fields of the messages that are put together here. */
enum {
    SCOPE_PROFILES_PROFILES = 2,
    CONTAINER_ID = 1,
    CONTAINER_START = 2,
    CONTAINER_END = 3,
    CONTAINER_ATTRIBUTES = 4,
    CONTAINER_DROPPED = 5,
    CONTAINER_FORMAT = 6,
    CONTAINER_PAYLOAD = 7,
    CONTAINER_PROFILE = 8,
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_LOCATION_INDICES = 15,
    PROFILE_ATTRIBUTE_TABLE = 16,
    PROFILE_ATTRIBUTE_UNITS = 17,
    PROFILE_LINK_TABLE = 18,
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2,
    ANY_VALUE_ARRAY = 5,
    ANY_VALUE_BYTES = 7,
    ARRAY_VALUES = 1
};

#define SEVERAL_UNITS UINT32_MAX

struct writer {
    const struct otp_pprof_plan *plan;
    const struct otp_dict *dict;
    const struct otp_otep239_frame *frame;
    const struct otp_group *group; /* the first of the container */
    struct otp_buf *out;
    struct otp_words words;
    struct otp_slices slices;
    struct otp_envelope_writer attrs;
    bool has_unmapped; /* a location is in no mapping, though there are mappings */
    /* Working space, as large as the longest one of each. */
    PB(Line) * lines;
    PB(Line) * *line_ptrs;
    uint64_t *numbers;
    uint32_t *units;  /* by key: unit + 1 of all attributes of it; SEVERAL_UNITS */
    uint32_t *places; /* by attribute: its place in the table, from 1; 0: not in it */
};

static uint32_t number(const struct writer *w, enum otp_plan_table table, uint32_t id)
{
    return otp_plan_number(&w->plan->base, table, id);
}

static uint32_t string(struct writer *w, uint32_t id)
{
    return otp_words_string(&w->words, id);
}

/* Attributes of a mapping or location that have fields of their own there. */
static bool has_field(const struct writer *w, uint32_t attr)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, attr);
    const uint32_t *key = w->frame->key;
    bool is_text = head->kind == OTP_ATTR_STRING;
    bool is_flag = head->kind == OTP_ATTR_BOOL && head->bits != 0;
    if (is_text && head->unit == 0 &&
        (head->key == key[OTP_PPROF_BUILD_ID_GNU] || head->key == key[OTP_PPROF_FRAME_TYPE])) {
        return head->text != 0;
    }
    return is_flag &&
           (head->key == key[OTP_PPROF_HAS_FUNCTIONS] ||
            head->key == key[OTP_PPROF_HAS_FILENAMES] ||
            head->key == key[OTP_PPROF_HAS_LINE_NUMBERS] ||
            head->key == key[OTP_PPROF_HAS_INLINE_FRAMES] || head->key == key[OTP_PPROF_IS_FOLDED]);
}

/* Places in the attribute table, into w->numbers; returns how many. */
static size_t put_list(struct writer *w, uint32_t list, bool all)
{
    struct otp_pool_tail ids = otp_pool_tail(&w->dict->lists, list);
    const uint32_t *id = ids.data;
    size_t count = 0;
    for (size_t i = 0; i < ids.len / sizeof(id[0]); i++) {
        if (all || !has_field(w, id[i])) {
            w->numbers[count++] = w->places[id[i]] - 1;
        }
    }
    return count;
}

/* ---- the attribute table: what samples, mappings and locations refer to ---- */

static void mark_list(struct writer *w, uint32_t list, bool all)
{
    struct otp_pool_tail ids = otp_pool_tail(&w->dict->lists, list);
    const uint32_t *id = ids.data;
    for (size_t i = 0; i < ids.len / sizeof(id[0]); i++) {
        if (all || !has_field(w, id[i])) {
            w->places[id[i]] = 1;
        }
    }
}

static void place_attributes(struct writer *w)
{
    const struct otp_dict *d = w->dict;
    uint32_t next = 1;
    for (uint32_t id = w->plan->zero_is_used ? 0 : 1; id < w->plan->rows.count; id++) {
        const struct otp_pprof_row *row = otp_pool_head(&w->plan->rows, id);
        mark_list(w, row->list, true);
    }
    for (uint32_t id = 1; id < d->mappings.count; id++) {
        const struct otp_dict_mapping *m = otp_pool_head(&d->mappings, id);
        if (number(w, OTP_PLAN_MAPPINGS, id) != 0) {
            mark_list(w, m->attrs, false);
        }
    }
    for (uint32_t id = 1; id < d->locations.count; id++) {
        const struct otp_dict_location *l = otp_pool_head(&d->locations, id);
        if (number(w, OTP_PLAN_LOCATIONS, id) != 0) {
            mark_list(w, l->attrs, false);
        }
    }
    for (uint32_t id = 1; id < d->attrs.count; id++) {
        if (w->places[id] != 0 || w->plan->base.options.keep_attrs) {
            w->places[id] = next++;
        }
    }
}

/* ---- numbers of strings: functions first, as the proposal's examples have it ---- */

static void name_functions(struct writer *w)
{
    static const size_t offsets[] = {offsetof(struct otp_dict_function, name),
                                     offsetof(struct otp_dict_function, system_name),
                                     offsetof(struct otp_dict_function, filename)};
    const struct otp_pool *functions = &w->dict->functions;
    for (size_t k = 0; k < OTP_ARRAY_LEN(offsets); k++) {
        for (uint32_t id = 1; id < functions->count; id++) {
            uint32_t text;
            memcpy(&text, (const char *)otp_pool_head(functions, id) + offsets[k], sizeof(text));
            if (number(w, OTP_PLAN_FUNCTIONS, id) != 0) {
                (void)string(w, text);
            }
        }
    }
}

static void name_strings(struct writer *w)
{
    const struct otp_pprof_column *columns = (const void *)w->plan->columns.data;
    const struct otp_pool *mappings = &w->dict->mappings;
    name_functions(w);
    for (uint32_t id = 1; id < mappings->count; id++) {
        const struct otp_dict_mapping *m = otp_pool_head(mappings, id);
        if (number(w, OTP_PLAN_MAPPINGS, id) != 0) {
            (void)string(w, m->filename);
        }
    }
    for (size_t i = 0; i < w->plan->column_count; i++) {
        (void)string(w, columns[i].type);
        (void)string(w, columns[i].unit);
    }
}

/* ---- types and samples ---- */

/* What is in use now has been added up since the start; all else since the last message. */
static PB(AggregationTemporality) temporality(const struct writer *w, uint32_t type)
{
    static const char prefix[] = "inuse";
    struct otp_text t = otp_dict_text(w->dict, type);
    if (type == 0) {
        return OTEP239__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_UNSPECIFIED;
    }
    return t.len >= sizeof(prefix) - 1 && memcmp(t.data, prefix, sizeof(prefix) - 1) == 0
               ? OTEP239__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_CUMULATIVE
               : OTEP239__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_DELTA;
}

static void write_types(struct writer *w)
{
    const struct otp_pprof_column *columns = (const void *)w->plan->columns.data;
    for (size_t i = 0; i < w->plan->column_count; i++) {
        PB(ValueType) t = PB_INIT(VALUE_TYPE);
        t.type = string(w, columns[i].type);
        t.unit = string(w, columns[i].unit);
        t.aggregation_temporality = temporality(w, columns[i].type);
        otp_pack_message(w->out, PROFILE_SAMPLE_TYPE, &t.base);
    }
}

static void write_sample(struct writer *w, uint32_t id)
{
    const struct otp_pprof_row *row = otp_pool_head(&w->plan->rows, id);
    int64_t values[OTP_PPROF_COLUMNS_MAX];
    uint64_t time = row->time_ns;
    PB(Sample) s = PB_INIT(SAMPLE);
    memcpy(values, otp_pprof_plan_values(w->plan, id), w->plan->column_count * sizeof(values[0]));
    s.n_value = w->plan->column_count;
    s.value = values;
    s.locations_length = otp_pool_tail(&w->dict->stacks, row->stack).len / sizeof(uint32_t);
    s.locations_start_index =
        s.locations_length == 0 ? 0 : otp_slices_start(&w->slices, row->stack);
    s.n_attributes = put_list(w, row->list, true);
    s.attributes = w->numbers;
    s.link = number(w, OTP_PLAN_LINKS, row->link);
    s.n_timestamps = time != 0;
    s.timestamps = &time;
    otp_pack_message(w->out, PROFILE_SAMPLE, &s.base);
}

/* ---- tables ---- */

static void write_mapping(struct writer *w, uint32_t id)
{
    const struct otp_dict_mapping *head = otp_pool_head(&w->dict->mappings, id);
    PB(Mapping) m = PB_INIT(MAPPING);
    m.memory_start = head->start;
    m.memory_limit = head->limit;
    m.file_offset = head->file_offset;
    m.filename = string(w, head->filename);
    m.build_id = string(w, otp_words_text(&w->words, head->attrs, OTP_PPROF_BUILD_ID_GNU));
    m.has_functions = otp_words_is_true(&w->words, head->attrs, OTP_PPROF_HAS_FUNCTIONS);
    m.has_filenames = otp_words_is_true(&w->words, head->attrs, OTP_PPROF_HAS_FILENAMES);
    m.has_line_numbers = otp_words_is_true(&w->words, head->attrs, OTP_PPROF_HAS_LINE_NUMBERS);
    m.has_inline_frames = otp_words_is_true(&w->words, head->attrs, OTP_PPROF_HAS_INLINE_FRAMES);
    m.n_attributes = put_list(w, head->attrs, false);
    m.attributes = w->numbers;
    otp_pack_message(w->out, PROFILE_MAPPING, &m.base);
}

static uint64_t mapping_index(struct writer *w, uint32_t mapping)
{
    uint32_t n = number(w, OTP_PLAN_MAPPINGS, mapping);
    uint32_t count = w->plan->base.count[OTP_PLAN_MAPPINGS] - 1;
    if (n == 0 && count > 0) {
        w->has_unmapped = true;
        return count; /* the empty one behind the others */
    }
    return n == 0 ? 0 : n - 1;
}

/* Lines without a function are left out: there is no number that means none. */
static size_t fill_lines(const struct writer *w, struct otp_pool_tail tail)
{
    static const PB(Line) empty_line = PB_INIT(LINE);
    const struct otp_dict_line *lines = tail.data;
    size_t count = 0;
    for (size_t i = 0; i < tail.len / sizeof(lines[0]); i++) {
        if (lines[i].function != 0) {
            w->lines[count] = empty_line;
            w->lines[count].function_index = number(w, OTP_PLAN_FUNCTIONS, lines[i].function) - 1;
            w->lines[count].line = lines[i].line;
            w->lines[count].column = lines[i].column;
            count++;
        }
    }
    return count;
}

static void write_location(struct writer *w, uint32_t id)
{
    const struct otp_dict_location *head = otp_pool_head(&w->dict->locations, id);
    PB(Location) l = PB_INIT(LOCATION);
    l.mapping_index = mapping_index(w, head->mapping);
    l.address = head->address;
    l.n_line = fill_lines(w, otp_pool_tail(&w->dict->locations, id));
    l.line = w->line_ptrs;
    l.is_folded = otp_words_is_true(&w->words, head->attrs, OTP_PPROF_IS_FOLDED);
    l.type_index = string(w, otp_words_text(&w->words, head->attrs, OTP_PPROF_FRAME_TYPE));
    l.n_attributes = put_list(w, head->attrs, false);
    l.attributes = w->numbers;
    otp_pack_message(w->out, PROFILE_LOCATION, &l.base);
}

static void write_function(struct writer *w, uint32_t id)
{
    const struct otp_dict_function *head = otp_pool_head(&w->dict->functions, id);
    PB(Function) f = PB_INIT(FUNCTION);
    f.name = string(w, head->name);
    f.system_name = string(w, head->system_name);
    f.filename = string(w, head->filename);
    f.start_line = head->start_line;
    otp_pack_message(w->out, PROFILE_FUNCTION, &f.base);
}

/* Calls write for each entry of a table that is needed. */
static void write_table(struct writer *w, enum otp_plan_table table, uint32_t count,
                        void (*write)(struct writer *w, uint32_t id))
{
    for (uint32_t id = 1; id < count; id++) {
        if (number(w, table, id) != 0) {
            write(w, id);
        }
    }
}

static void for_each_attr(struct writer *w, void (*act)(struct writer *w, uint32_t id))
{
    for (uint32_t id = 1; id < w->dict->attrs.count; id++) {
        if (w->places[id] != 0) {
            act(w, id);
        }
    }
}

/*
 * Locations come after mappings in the message, but only they tell whether the empty mapping is
 * needed; so they are looked at before.
 */
static void write_mappings(struct writer *w)
{
    const struct otp_pool *locations = &w->dict->locations;
    write_table(w, OTP_PLAN_MAPPINGS, w->dict->mappings.count, write_mapping);
    for (uint32_t id = 1; id < locations->count; id++) {
        const struct otp_dict_location *l = otp_pool_head(locations, id);
        if (number(w, OTP_PLAN_LOCATIONS, id) != 0) {
            (void)mapping_index(w, l->mapping);
        }
    }
    if (w->has_unmapped) {
        otp_pack_bytes(w->out, PROFILE_MAPPING, "", 0);
    }
}

static void write_location_indices(struct writer *w)
{
    size_t mark = otp_pack_open(w->out, PROFILE_LOCATION_INDICES);
    bool any = false;
    for (size_t i = 0; i < w->slices.count; i++) {
        uint32_t id = w->slices.order[i];
        struct otp_pool_tail tail = otp_pool_tail(&w->dict->stacks, id);
        const uint32_t *frames = tail.data;
        for (size_t k = 0; w->slices.host[id] == id && k < tail.len / sizeof(frames[0]); k++) {
            otp_pack_varint(w->out, number(w, OTP_PLAN_LOCATIONS, frames[k]) - 1);
            any = true;
        }
    }
    otp_pack_close(w->out, mark);
    if (!any && otp_buf_ok(w->out)) {
        w->out->len = mark - 2; /* tag and length of an empty list */
    }
}

static void write_attribute(struct writer *w, uint32_t id)
{
    otp_envelope_write_attrs(&w->attrs, PROFILE_ATTRIBUTE_TABLE, &id, 1);
}

/* Numbers have units, and lists with a whole number in them; readers give a key's unit to no
 * others. */
static bool may_have_unit(const struct writer *w, uint32_t id)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, id);
    struct otp_pool_tail tail = otp_pool_tail(&w->dict->attrs, id);
    struct otp_attr item;
    size_t pos = 0;
    if (head->kind != OTP_ATTR_LIST) {
        return head->kind == OTP_ATTR_INT || head->kind == OTP_ATTR_DOUBLE;
    }
    while (otp_value_next_item(tail.data, tail.len, &pos, &item)) {
        if (item.kind == OTP_ATTR_INT) {
            return true;
        }
    }
    return false;
}

/* A key has one unit here: where its attributes differ it has none. */
static void note_unit(struct writer *w, uint32_t id)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, id);
    if (!may_have_unit(w, id)) {
        return;
    }
    uint32_t *unit = &w->units[head->key];
    *unit = *unit == 0 || *unit == head->unit + 1 ? head->unit + 1 : SEVERAL_UNITS;
}

static bool has_unit(const struct writer *w, uint32_t id)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, id);
    return head->unit != 0 && may_have_unit(w, id) && w->units[head->key] == head->unit + 1;
}

static void name_unit(struct writer *w, uint32_t id)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, id);
    if (has_unit(w, id)) {
        (void)string(w, head->key);
        (void)string(w, head->unit);
    }
}

static void write_unit(struct writer *w, uint32_t id)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, id);
    PB(AttributeUnit) u = PB_INIT(ATTRIBUTE_UNIT);
    if (has_unit(w, id)) {
        u.attribute_key = string(w, head->key);
        u.unit = string(w, head->unit);
        otp_pack_message(w->out, PROFILE_ATTRIBUTE_UNITS, &u.base);
        w->units[head->key] = SEVERAL_UNITS; /* said */
    }
}

static void write_link(struct writer *w, uint32_t id)
{
    struct otp_dict_link head;
    PB(Link) l = PB_INIT(LINK);
    memcpy(&head, otp_pool_head(&w->dict->links, id), sizeof(head));
    l.trace_id.data = head.trace_id;
    l.trace_id.len = sizeof(head.trace_id);
    l.span_id.data = head.span_id;
    l.span_id.len = sizeof(head.span_id);
    otp_pack_message(w->out, PROFILE_LINK_TABLE, &l.base);
}

/* ---- profile ---- */

/* The scope's default type, where the profile has it. */
static uint32_t default_type(struct writer *w)
{
    const struct otp_store *store = w->plan->base.store;
    const struct otp_envelope *e = &store->envelopes[w->group->envelope];
    for (size_t i = 0; i < e->scope_attr_count; i++) {
        const struct otp_dict_attr *a = otp_pool_head(&w->dict->attrs, e->scope_attrs[i]);
        if (a->key == w->frame->default_type_key && a->kind == OTP_ATTR_STRING) {
            return string(w, a->text);
        }
    }
    return 0;
}

/* The fields between the string table and the list of locations. */
static void fill_rest(struct writer *w, PB(Profile) * p, PB(ValueType) * period_type)
{
    const struct otp_group *g = w->group;
    p->drop_frames = string(w, otp_words_text(&w->words, g->attrs, OTP_PPROF_DROP_FRAMES));
    p->keep_frames = string(w, otp_words_text(&w->words, g->attrs, OTP_PPROF_KEEP_FRAMES));
    p->default_sample_type = default_type(w);
    otp_words_add_comments(&w->words, g->attrs);
    p->n_comment = w->words.comment_count;
    p->comment = w->words.comments;
    if (g->period_type.type != 0 || g->period_type.unit != 0 || g->period != 0) {
        period_type->type = string(w, g->period_type.type);
        period_type->unit = string(w, g->period_type.unit);
        p->period_type = period_type;
        p->period = g->period;
    }
}

static void write_profile(struct writer *w)
{
    PB(Profile) rest = PB_INIT(PROFILE);
    PB(ValueType) period_type = PB_INIT(VALUE_TYPE);
    size_t mark = otp_pack_open(w->out, CONTAINER_PROFILE);
    place_attributes(w);
    name_strings(w);
    write_types(w);
    for (uint32_t id = w->plan->zero_is_used ? 0 : 1; id < w->plan->rows.count; id++) {
        write_sample(w, id);
    }
    write_mappings(w);
    write_table(w, OTP_PLAN_LOCATIONS, w->dict->locations.count, write_location);
    write_table(w, OTP_PLAN_FUNCTIONS, w->dict->functions.count, write_function);
    fill_rest(w, &rest, &period_type);
    for_each_attr(w, note_unit);
    for_each_attr(w, name_unit);
    for (uint32_t i = 0; i < w->words.strings.count; i++) {
        struct otp_pool_tail t = otp_pool_tail(&w->words.strings, i);
        otp_pack_bytes(w->out, PROFILE_STRING_TABLE, t.data, t.len);
    }
    otp_pack_fields(w->out, &rest.base);
    write_location_indices(w);
    for_each_attr(w, write_attribute);
    for_each_attr(w, write_unit);
    if (w->plan->base.count[OTP_PLAN_LINKS] > 1) {
        otp_pack_bytes(w->out, PROFILE_LINK_TABLE, "", 0); /* 0: no link */
        write_table(w, OTP_PLAN_LINKS, w->dict->links.count, write_link);
    }
    otp_pack_close(w->out, mark);
}

/* ---- container ---- */

/* Attributes of the profile that have fields in it. */
static bool is_profile_field(const struct writer *w, uint32_t attr)
{
    const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, attr);
    const uint32_t *key = w->frame->key;
    bool is_text = head->kind == OTP_ATTR_STRING;
    return (is_text &&
            (head->key == key[OTP_PPROF_DROP_FRAMES] || head->key == key[OTP_PPROF_KEEP_FRAMES])) ||
           ((is_text || head->kind == OTP_ATTR_LIST) && head->key == key[OTP_PPROF_COMMENT]);
}

static void write_container_attrs(struct writer *w)
{
    struct otp_pool_tail ids = otp_pool_tail(&w->dict->lists, w->group->attrs);
    const uint32_t *id = ids.data;
    for (size_t i = 0; i < ids.len / sizeof(id[0]); i++) {
        if (!is_profile_field(w, id[i])) {
            otp_envelope_write_attrs(&w->attrs, CONTAINER_ATTRIBUTES, &id[i], 1);
        }
    }
}

static const uint8_t no_id[16];

/* The profile's id, NULL when it has none. */
static const uint8_t *id_of(const struct otp_plan_profile *p)
{
    const uint8_t *id = p->group->types[p->type].id[p->timed];
    return memcmp(id, no_id, sizeof(no_id)) == 0 ? NULL : id;
}

/* The id of the first profile that is in a column. */
static const uint8_t *id_of_column(const struct writer *w, size_t column)
{
    const struct otp_pprof_column *c =
        (const struct otp_pprof_column *)(const void *)w->plan->columns.data + column;
    for (size_t i = 0; i < w->plan->base.profile_count; i++) {
        const struct otp_plan_profile *p = &w->plan->base.profiles[i];
        const struct otp_group_type *t = &p->group->types[p->type];
        if (t->type == c->type && t->unit == c->unit) {
            return id_of(p);
        }
    }
    return NULL;
}

/* A container has one id: those of its columns behind the first are an attribute, in their order.
 */
static void write_other_ids(struct writer *w)
{
    bool has_any = false;
    for (size_t i = 1; i < w->plan->column_count; i++) {
        has_any = has_any || id_of_column(w, i) != NULL;
    }
    if (!has_any) {
        return;
    }
    size_t attribute = otp_pack_open(w->out, CONTAINER_ATTRIBUTES);
    otp_pack_bytes(w->out, KEY_VALUE_KEY, OTP_PROFILE_IDS_KEY, sizeof(OTP_PROFILE_IDS_KEY) - 1);
    size_t value = otp_pack_open(w->out, KEY_VALUE_VALUE);
    size_t array = otp_pack_open(w->out, ANY_VALUE_ARRAY);
    for (size_t i = 1; i < w->plan->column_count; i++) {
        const uint8_t *id = id_of_column(w, i);
        size_t item = otp_pack_open(w->out, ARRAY_VALUES);
        otp_pack_bytes(w->out, ANY_VALUE_BYTES, id == NULL ? no_id : id,
                       id == NULL ? 0 : sizeof(no_id));
        otp_pack_close(w->out, item);
    }
    otp_pack_close(w->out, array);
    otp_pack_close(w->out, value);
    otp_pack_close(w->out, attribute);
}

static void write_container(struct writer *w)
{
    const struct otp_group *g = w->group;
    const uint8_t *id = id_of(&w->plan->base.profiles[0]);
    struct otp_plan_range range = otp_plan_range_of(w->plan->base.store, g->envelope);
    size_t mark = otp_pack_open(w->out, SCOPE_PROFILES_PROFILES);
    if (id != NULL) {
        otp_pack_bytes(w->out, CONTAINER_ID, id, sizeof(no_id));
    }
    if (range.time_ns != 0) {
        otp_pack_fixed64(w->out, CONTAINER_START, range.time_ns);
    }
    if (range.time_ns + range.duration_ns != 0) {
        otp_pack_fixed64(w->out, CONTAINER_END, range.time_ns + range.duration_ns);
    }
    write_container_attrs(w);
    write_other_ids(w);
    if (g->dropped_attributes != 0) {
        otp_pack_uint(w->out, CONTAINER_DROPPED, g->dropped_attributes);
    }
    if (g->payload != NULL) {
        otp_pack_bytes(w->out, CONTAINER_FORMAT, g->payload_format, strlen(g->payload_format));
        otp_pack_bytes(w->out, CONTAINER_PAYLOAD, g->payload, g->payload_len);
    }
    write_profile(w);
    otp_pack_close(w->out, mark);
}

static bool make_space(struct writer *w)
{
    const struct otp_dict *d = w->dict;
    size_t lines = d->locations.longest_tail / sizeof(struct otp_dict_line);
    size_t list = d->lists.longest_tail / sizeof(uint32_t);
    w->lines = otp_heap_calloc(d->heap, lines, sizeof(w->lines[0]));
    w->line_ptrs = otp_heap_calloc(d->heap, lines, sizeof(w->line_ptrs[0]));
    w->numbers = otp_heap_calloc(d->heap, list, sizeof(w->numbers[0]));
    w->places = otp_heap_calloc(d->heap, d->attrs.count, sizeof(w->places[0]));
    w->units = otp_heap_calloc(d->heap, d->strings.count, sizeof(w->units[0]));
    if (w->lines == NULL || w->line_ptrs == NULL || w->numbers == NULL || w->places == NULL ||
        w->units == NULL) {
        return false;
    }
    for (size_t i = 0; i < lines; i++) {
        w->line_ptrs[i] = &w->lines[i];
    }
    return true;
}

enum otp_status otp_otep239_write(const struct otp_pprof_plan *plan,
                                  const struct otp_otep239_frame *frame, struct otp_buf *out)
{
    struct writer w = {.plan = plan,
                       .dict = &plan->base.store->dict,
                       .frame = frame,
                       .group = plan->base.profiles[0].group,
                       .out = out};
    w.attrs = (struct otp_envelope_writer){.dict = w.dict, .out = out};
    enum otp_status status = otp_words_init(&w.words, w.dict, frame->key);
    enum otp_status laid =
        otp_slices_init(&w.slices, &w.dict->stacks, plan->base.number[OTP_PLAN_STACKS]);
    status = status == OTP_OK ? laid : status;
    if (status == OTP_OK && !make_space(&w)) {
        status = OTP_NO_MEMORY;
    }
    if (status == OTP_OK) {
        write_container(&w);
        status = w.words.status;
    }
    otp_words_fini(&w.words);
    otp_slices_fini(&w.slices);
    otp_heap_free(w.dict->heap, w.lines);
    otp_heap_free(w.dict->heap, w.line_ptrs);
    otp_heap_free(w.dict->heap, w.numbers);
    otp_heap_free(w.dict->heap, w.places);
    otp_heap_free(w.dict->heap, w.units);
    return status;
}
