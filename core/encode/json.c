/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk keeps its place on a stack of its own. A message whose fields do not stand in the order
 * of their numbers is visited once per field of its schema, because elements of one array may lie
 * apart in the bytes but not in the text. Samples, of which there are millions, have a way of their
 * own when they are of the usual kind.
 */
#include "core/encode/json.h"

#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"
#include "core/base/reader.h"
#include "core/base/utf8.h"
#include "core/encode/decimal.h"

#define DEPTH_MAX 40U /* messages inside each other; attribute values nest */
#define VARINT_BYTES_MAX 10U

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

enum kind {
    KIND_MESSAGE,
    KIND_STRING,
    KIND_HEX,
    KIND_BASE64,
    KIND_INT32, /* a JSON number */
    KIND_UINT32,
    KIND_INT64, /* a JSON string */
    KIND_UINT64,
    KIND_BOOL,
    KIND_DOUBLE,
};

struct schema;

struct field {
    const char *name;
    uint32_t number;
    enum kind kind;
    bool is_repeated;
    const struct schema *schema; /* of a message */
};

struct schema {
    const struct field *fields;
    size_t count;
};

#define SCHEMA(name)                                                                               \
    {                                                                                              \
        .fields = name##_fields, .count = OTP_ARRAY_LEN(name##_fields)                             \
    }
#define ONE(name, number, kind)                                                                    \
    {                                                                                              \
        name, number, KIND_##kind, false, NULL                                                     \
    }
#define MANY(name, number, kind)                                                                   \
    {                                                                                              \
        name, number, KIND_##kind, true, NULL                                                      \
    }
#define MESSAGE(name, number, of)                                                                  \
    {                                                                                              \
        name, number, KIND_MESSAGE, false, &(of)                                                   \
    }
#define MESSAGES(name, number, of)                                                                 \
    {                                                                                              \
        name, number, KIND_MESSAGE, true, &(of)                                                    \
    }

/* A value holds lists of values: the two schemas know each other. */
static const struct schema value_schema;
static const struct schema keyvalue_schema;

static const struct field array_fields[] = {MESSAGES("values", 1, value_schema)};
static const struct schema array_schema = SCHEMA(array);
static const struct field kvlist_fields[] = {MESSAGES("values", 1, keyvalue_schema)};
static const struct schema kvlist_schema = SCHEMA(kvlist);
static const struct field value_fields[] = {
    ONE("stringValue", 1, STRING),
    ONE("boolValue", 2, BOOL),
    ONE("intValue", 3, INT64),
    ONE("doubleValue", 4, DOUBLE),
    MESSAGE("arrayValue", 5, array_schema),
    MESSAGE("kvlistValue", 6, kvlist_schema),
    ONE("bytesValue", 7, BASE64),
    ONE("stringValueStrindex", 8, INT32),
};
static const struct schema value_schema = SCHEMA(value);
static const struct field keyvalue_fields[] = {
    ONE("key", 1, STRING),
    MESSAGE("value", 2, value_schema),
    ONE("keyStrindex", 3, INT32),
};
static const struct schema keyvalue_schema = SCHEMA(keyvalue);

static const struct field entity_fields[] = {
    ONE("schemaUrl", 1, STRING),
    ONE("type", 2, STRING),
    MANY("idKeys", 3, STRING),
    MANY("descriptionKeys", 4, STRING),
};
static const struct schema entity_schema = SCHEMA(entity);
static const struct field resource_fields[] = {
    MESSAGES("attributes", 1, keyvalue_schema),
    ONE("droppedAttributesCount", 2, UINT32),
    MESSAGES("entityRefs", 3, entity_schema),
};
static const struct schema resource_schema = SCHEMA(resource);
static const struct field scope_fields[] = {
    ONE("name", 1, STRING),
    ONE("version", 2, STRING),
    MESSAGES("attributes", 3, keyvalue_schema),
    ONE("droppedAttributesCount", 4, UINT32),
};
static const struct schema scope_schema = SCHEMA(scope);

static const struct field value_type_fields[] = {
    ONE("typeStrindex", 1, INT32),
    ONE("unitStrindex", 2, INT32),
};
static const struct schema value_type_schema = SCHEMA(value_type);
static const struct field sample_fields[] = {
    ONE("stackIndex", 1, INT32), MANY("attributeIndices", 2, INT32),    ONE("linkIndex", 3, INT32),
    MANY("values", 4, INT64),    MANY("timestampsUnixNano", 5, UINT64),
};
static const struct schema sample_schema = SCHEMA(sample);
static const struct field profile_fields[] = {
    MESSAGE("sampleType", 1, value_type_schema),
    MESSAGES("samples", 2, sample_schema),
    ONE("timeUnixNano", 3, UINT64),
    ONE("durationNano", 4, UINT64),
    MESSAGE("periodType", 5, value_type_schema),
    ONE("period", 6, INT64),
    ONE("profileId", 7, HEX),
    ONE("droppedAttributesCount", 8, UINT32),
    ONE("originalPayloadFormat", 9, STRING),
    ONE("originalPayload", 10, BASE64),
    MANY("attributeIndices", 11, INT32),
};
static const struct schema profile_schema = SCHEMA(profile);
static const struct field scope_profiles_fields[] = {
    MESSAGE("scope", 1, scope_schema),
    MESSAGES("profiles", 2, profile_schema),
    ONE("schemaUrl", 3, STRING),
};
static const struct schema scope_profiles_schema = SCHEMA(scope_profiles);
static const struct field resource_profiles_fields[] = {
    MESSAGE("resource", 1, resource_schema),
    MESSAGES("scopeProfiles", 2, scope_profiles_schema),
    ONE("schemaUrl", 3, STRING),
};
static const struct schema resource_profiles_schema = SCHEMA(resource_profiles);

static const struct field mapping_fields[] = {
    ONE("memoryStart", 1, UINT64),      ONE("memoryLimit", 2, UINT64),
    ONE("fileOffset", 3, UINT64),       ONE("filenameStrindex", 4, INT32),
    MANY("attributeIndices", 5, INT32),
};
static const struct schema mapping_schema = SCHEMA(mapping);
static const struct field line_fields[] = {
    ONE("functionIndex", 1, INT32),
    ONE("line", 2, INT64),
    ONE("column", 3, INT64),
};
static const struct schema line_schema = SCHEMA(line);
static const struct field location_fields[] = {
    ONE("mappingIndex", 1, INT32),
    ONE("address", 2, UINT64),
    MESSAGES("lines", 3, line_schema),
    MANY("attributeIndices", 4, INT32),
};
static const struct schema location_schema = SCHEMA(location);
static const struct field function_fields[] = {
    ONE("nameStrindex", 1, INT32),
    ONE("systemNameStrindex", 2, INT32),
    ONE("filenameStrindex", 3, INT32),
    ONE("startLine", 4, INT64),
};
static const struct schema function_schema = SCHEMA(function);
static const struct field link_fields[] = {ONE("traceId", 1, HEX), ONE("spanId", 2, HEX)};
static const struct schema link_schema = SCHEMA(link);
static const struct field attribute_fields[] = {
    ONE("keyStrindex", 1, INT32),
    MESSAGE("value", 2, value_schema),
    ONE("unitStrindex", 3, INT32),
};
static const struct schema attribute_schema = SCHEMA(attribute);
static const struct field stack_fields[] = {MANY("locationIndices", 1, INT32)};
static const struct schema stack_schema = SCHEMA(stack);
static const struct field dictionary_fields[] = {
    MESSAGES("mappingTable", 1, mapping_schema),
    MESSAGES("locationTable", 2, location_schema),
    MESSAGES("functionTable", 3, function_schema),
    MESSAGES("linkTable", 4, link_schema),
    MANY("stringTable", 5, STRING),
    MESSAGES("attributeTable", 6, attribute_schema),
    MESSAGES("stackTable", 7, stack_schema),
};
static const struct schema dictionary_schema = SCHEMA(dictionary);
static const struct field data_fields[] = {
    MESSAGES("resourceProfiles", 1, resource_profiles_schema),
    MESSAGE("dictionary", 2, dictionary_schema),
};
static const struct schema data_schema = SCHEMA(data);

/* ---- the wire ---- */

/* One field as it stands in the bytes. */
struct item {
    uint64_t number;
    unsigned wire;
    uint64_t value;       /* of a varint or a fixed-size field */
    struct otp_text text; /* of a field with a length */
};

static bool read_varint(struct otp_reader *r, uint64_t *out)
{
    if (OTP_LIKELY(r->pos < r->len && r->data[r->pos] < 0x80)) {
        *out = r->data[r->pos++];
        return true;
    }
    *out = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
        uint8_t byte = otp_reader_u8(r);
        *out |= (uint64_t)(byte & 0x7fU) << (7 * i);
        if (byte < 0x80) {
            return !r->failed;
        }
    }
    r->failed = true;
    return false;
}

/* The next field; false at the end, or when the reader has failed. */
static bool next_item(struct otp_reader *r, struct item *it)
{
    uint64_t key;
    if (otp_reader_left(r) == 0 || !read_varint(r, &key)) {
        return false;
    }
    *it = (struct item){.number = key >> 3, .wire = key & 7};
    switch (it->wire) {
    case WIRE_VARINT:
        (void)read_varint(r, &it->value);
        break;
    case WIRE_FIXED64:
        it->value = otp_reader_u64_le(r);
        break;
    case WIRE_FIXED32:
        it->value = otp_reader_u32_le(r);
        break;
    case WIRE_BYTES:
        (void)read_varint(r, &it->value);
        it->text.data = otp_reader_bytes(r, it->value);
        it->text.len = it->text.data == NULL ? 0 : (size_t)it->value;
        break;
    default:
        r->failed = true;
        break;
    }
    return !r->failed;
}

/* ---- the text ---- */

static void put_string(struct otp_buf *out, struct otp_text t)
{
    size_t run = 0;
    (void)otp_buf_add_byte(out, '"');
    for (size_t pos = 0; pos < t.len;) {
        unsigned char c = (unsigned char)t.data[pos];
        unsigned len = otp_utf8_step(t.data + pos, t.len - pos);
        if (c >= ' ' && c != '"' && c != '\\' && len > 0) {
            pos += len;
            continue;
        }
        (void)otp_buf_add(out, t.data + run, pos - run);
        if (len == 0) {
            (void)otp_buf_add_str(out, "\xef\xbf\xbd"); /* U+FFFD */
        } else if (c == '"' || c == '\\') {
            (void)otp_buf_add_byte(out, '\\');
            (void)otp_buf_add_byte(out, c);
        } else {
            (void)otp_buf_add_str(out, "\\u");
            (void)otp_buf_add_hex(out, c, 4);
        }
        run = ++pos;
    }
    (void)otp_buf_add(out, t.data + run, t.len - run);
    (void)otp_buf_add_byte(out, '"');
}

static void put_hex(struct otp_buf *out, struct otp_text t)
{
    (void)otp_buf_add_byte(out, '"');
    for (size_t i = 0; i < t.len; i++) {
        (void)otp_buf_add_hex(out, (unsigned char)t.data[i], 2);
    }
    (void)otp_buf_add_byte(out, '"');
}

static void put_base64(struct otp_buf *out, struct otp_text t)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (void)otp_buf_add_byte(out, '"');
    for (size_t i = 0; i < t.len; i += 3) {
        size_t left = t.len - i;
        uint32_t v = (uint32_t)(unsigned char)t.data[i] << 16;
        v |= left > 1 ? (uint32_t)(unsigned char)t.data[i + 1] << 8 : 0;
        v |= left > 2 ? (uint32_t)(unsigned char)t.data[i + 2] : 0;
        char four[4] = {letters[v >> 18], letters[v >> 12 & 63], letters[v >> 6 & 63],
                        letters[v & 63]};
        four[2] = left > 1 ? four[2] : '=';
        four[3] = left > 2 ? four[3] : '=';
        (void)otp_buf_add(out, four, sizeof(four));
    }
    (void)otp_buf_add_byte(out, '"');
}

static void put_double(struct otp_buf *out, uint64_t bits)
{
    char text[OTP_DECIMAL_MAX];
    double v;
    memcpy(&v, &bits, sizeof(v));
    size_t len = otp_decimal(text, v);
    bool is_word = text[len - 1] == 'N' || text[len - 1] == 'y'; /* NaN, Infinity: not in JSON */
    (void)otp_buf_add_str(out, is_word ? "\"" : "");
    (void)otp_buf_add(out, text, len);
    (void)otp_buf_add_str(out, is_word ? "\"" : "");
}

static void put_number(struct otp_buf *out, enum kind kind, uint64_t v)
{
    switch (kind) {
    case KIND_INT32:
        (void)otp_buf_add_i64(out, (int32_t)(uint32_t)v);
        break;
    case KIND_UINT32:
        (void)otp_buf_add_u64(out, (uint32_t)v);
        break;
    case KIND_INT64:
    case KIND_UINT64:
        (void)otp_buf_add_byte(out, '"');
        (void)(kind == KIND_INT64 ? otp_buf_add_i64(out, (int64_t)v) : otp_buf_add_u64(out, v));
        (void)otp_buf_add_byte(out, '"');
        break;
    case KIND_DOUBLE:
        put_double(out, v);
        break;
    case KIND_BOOL:
    case KIND_MESSAGE:
    case KIND_STRING:
    case KIND_HEX:
    case KIND_BASE64:
    default:
        (void)otp_buf_add_str(out, v != 0 ? "true" : "false");
        break;
    }
}

/* ---- samples as they usually are ---- */

#define QUICK_NUMBERS 16U   /* attributes and values of a quick sample */
#define QUICK_TEXT 1024U    /* room for its text, whatever the numbers are */
#define QUICK_NUMBER_MAX 24 /* a number with its quotes and comma */

_Static_assert(QUICK_TEXT > (2 * QUICK_NUMBERS + 2) * QUICK_NUMBER_MAX + 80, "all of it fits");

/* Tags of Sample's fields, lists packed, and of a sample in its profile. */
enum { TAG_STACK = 0x08, TAG_ATTRS = 0x12, TAG_LINK = 0x18, TAG_VALUES = 0x22, TAG_SAMPLE = 0x12 };

#define PUT_WORDS(to, words) (memcpy((to), (words), sizeof(words) - 1), (to) + sizeof(words) - 1)

/* Sample text on its way: what is read, up to end, and where the text goes. */
struct quick {
    const uint8_t *at;
    const uint8_t *end;
    char *to;
};

/* Reads a number; false: it is not all there. */
OTP_INLINE bool quick_varint(struct quick *q, uint64_t *out)
{
    const uint8_t *p = q->at;
    *out = 0;
    for (unsigned shift = 0; p < q->end && shift < 7 * VARINT_BYTES_MAX; shift += 7) {
        uint8_t byte = *p++;
        *out |= (uint64_t)(byte & 0x7fU) << shift;
        if (byte < 0x80) {
            q->at = p;
            return true;
        }
    }
    return false;
}

/* Writes the number of a field, with the comma behind it. */
OTP_INLINE bool quick_number(struct quick *q)
{
    uint64_t v;
    q->at++;
    if (!quick_varint(q, &v)) {
        return false;
    }
    q->to += otp_fmt_i64(q->to, (int32_t)(uint32_t)v);
    *q->to++ = ',';
    return true;
}

/* Writes the list of a field, which has an item and is short, with the comma behind it. */
OTP_INLINE bool quick_list(struct quick *q, bool is_text)
{
    unsigned count = 0;
    uint64_t v;
    if (q->end - q->at < 2 || q->at[1] == 0 || q->at[1] >= 0x80 || q->at[1] > q->end - q->at - 2) {
        return false;
    }
    struct quick list = {.at = q->at + 2, .end = q->at + 2 + q->at[1], .to = q->to};
    *list.to++ = '[';
    while (list.at < list.end) {
        if (!quick_varint(&list, &v) || count++ == QUICK_NUMBERS) {
            return false;
        }
        if (is_text) {
            *list.to++ = '"';
            list.to += otp_fmt_i64(list.to, (int64_t)v);
            *list.to++ = '"';
        } else {
            list.to += otp_fmt_i64(list.to, (int32_t)(uint32_t)v);
        }
        *list.to++ = ',';
    }
    list.to[-1] = ']';
    *list.to++ = ',';
    q->at = list.at;
    q->to = list.to;
    return true;
}

/*
 * Writes a sample that has each field at most once, in the order of their numbers, lists that are
 * packed and short, and no times: at most QUICK_TEXT bytes. The place behind them; NULL: it is not
 * of that kind.
 */
static char *quick_sample(char *to, const uint8_t *at, size_t len)
{
    struct quick q = {.at = at, .end = at + len, .to = to + 1};
    bool fits = true;
    *to = '{';
    if (q.at < q.end && *q.at == TAG_STACK) {
        q.to = PUT_WORDS(q.to, "\"stackIndex\":");
        fits = quick_number(&q);
    }
    if (fits && q.at < q.end && *q.at == TAG_ATTRS) {
        q.to = PUT_WORDS(q.to, "\"attributeIndices\":");
        fits = quick_list(&q, false);
    }
    if (fits && q.at < q.end && *q.at == TAG_LINK) {
        q.to = PUT_WORDS(q.to, "\"linkIndex\":");
        fits = quick_number(&q);
    }
    if (fits && q.at < q.end && *q.at == TAG_VALUES) {
        q.to = PUT_WORDS(q.to, "\"values\":");
        fits = quick_list(&q, true);
    }
    if (!fits || q.at != q.end || q.to == to + 1) {
        return NULL;
    }
    q.to[-1] = '}';
    return q.to;
}

/* Room for a quick sample with a comma before it; NULL: there may be none. */
static char *quick_room(struct otp_buf *out)
{
    if (out->max - out->len < QUICK_TEXT + 1) {
        return NULL; /* it may be shorter */
    }
    return (char *)otp_buf_reserve(out, QUICK_TEXT + 1);
}

static bool put_quick_sample(struct otp_buf *out, struct otp_text sample)
{
    char *to = quick_room(out);
    char *end = to == NULL ? NULL : quick_sample(to, (const uint8_t *)sample.data, sample.len);
    if (end == NULL) {
        return false;
    }
    out->len += (size_t)(end - to);
    return true;
}

#define QUICK_RUN 4096U /* samples between two looks at how much there is */

/* Goes on with the samples that follow one of the same profile, as long as they are quick ones. */
static void put_quick_samples(struct otp_buf *out, struct otp_reader *r)
{
    for (unsigned i = 0; i < QUICK_RUN && r->len - r->pos >= 2; i++) {
        const uint8_t *at = r->data + r->pos;
        if (at[0] != TAG_SAMPLE || at[1] >= 0x80 || at[1] > r->len - r->pos - 2) {
            return;
        }
        char *to = quick_room(out);
        char *end = to == NULL ? NULL : quick_sample(to + 1, at + 2, at[1]);
        if (end == NULL) {
            return;
        }
        *to = ',';
        out->len += (size_t)(end - to);
        r->pos += 2U + at[1];
    }
}

/* ---- the walk ---- */

struct place {
    const struct schema *schema;
    struct otp_reader reader;
    size_t field;     /* whose values are looked for */
    bool has_value;   /* one of them was written */
    bool has_written; /* any field of the message was */
    bool is_sorted;   /* its fields stand in the order of their numbers */
};

struct walk {
    struct otp_buf *out;
    struct place places[DEPTH_MAX];
    size_t depth;
};

/* Steps over fields of less than 128 bytes that have the tag of the one before. */
static void skip_alike(struct otp_reader *r, const struct item *it)
{
    uint64_t tag = it->number << 3 | WIRE_BYTES;
    while (it->wire == WIRE_BYTES && tag < 0x80 && r->len - r->pos >= 2) {
        const uint8_t *at = r->data + r->pos;
        if (at[0] != tag || at[1] >= 0x80 || at[1] > r->len - r->pos - 2) {
            return;
        }
        r->pos += 2U + at[1];
    }
}

static bool is_sorted(struct otp_text message)
{
    struct otp_reader r;
    struct item it;
    uint64_t last = 0;
    otp_reader_init(&r, message.data, message.len);
    while (next_item(&r, &it)) {
        if (it.number < last) {
            return false;
        }
        last = it.number;
        skip_alike(&r, &it);
    }
    return !r.failed;
}

static bool enter(struct walk *w, const struct schema *schema, struct otp_text message)
{
    if (w->depth == DEPTH_MAX) {
        return false;
    }
    struct place *p = &w->places[w->depth++];
    *p = (struct place){.schema = schema, .is_sorted = is_sorted(message)};
    otp_reader_init(&p->reader, message.data, message.len);
    (void)otp_buf_add_byte(w->out, '{');
    return true;
}

/* What stands before a value: the field's name, or a comma within its array. */
static void begin_value(struct walk *w, struct place *p, const struct field *f)
{
    if (p->has_value) {
        (void)otp_buf_add_byte(w->out, ',');
        return;
    }
    (void)otp_buf_add_str(w->out, p->has_written ? ",\"" : "\"");
    (void)otp_buf_add_str(w->out, f->name);
    (void)otp_buf_add_str(w->out, f->is_repeated ? "\":[" : "\":");
    p->has_value = true;
    p->has_written = true;
}

static bool put_packed(struct walk *w, struct place *p, const struct field *f, struct otp_text text)
{
    struct otp_reader r;
    bool is_fixed = f->kind == KIND_UINT64; /* the only packed 64-bit field without a sign */
    otp_reader_init(&r, text.data, text.len);
    while (otp_reader_left(&r) > 0 && !r.failed) {
        uint64_t v = 0;
        if (is_fixed) {
            v = otp_reader_u64_le(&r);
        } else {
            (void)read_varint(&r, &v);
        }
        begin_value(w, p, f);
        put_number(w->out, f->kind, v);
    }
    return !r.failed;
}

static bool put_item(struct walk *w, struct place *p, const struct field *f, const struct item *it)
{
    bool has_text = it->wire == WIRE_BYTES;
    if (p->has_value && !f->is_repeated) {
        return true; /* told twice: the format's builder does not do that */
    }
    switch (f->kind) {
    case KIND_MESSAGE:
        begin_value(w, p, f);
        if (f->schema == &sample_schema && has_text && put_quick_sample(w->out, it->text)) {
            put_quick_samples(w->out, &p->reader);
            return true;
        }
        return has_text && enter(w, f->schema, it->text);
    case KIND_STRING:
        begin_value(w, p, f);
        put_string(w->out, it->text);
        return has_text;
    case KIND_HEX:
        begin_value(w, p, f);
        put_hex(w->out, it->text);
        return has_text;
    case KIND_BASE64:
        begin_value(w, p, f);
        put_base64(w->out, it->text);
        return has_text;
    case KIND_INT32:
    case KIND_UINT32:
    case KIND_INT64:
    case KIND_UINT64:
    case KIND_BOOL:
    case KIND_DOUBLE:
    default:
        if (has_text) {
            return f->is_repeated && put_packed(w, p, f, it->text);
        }
        begin_value(w, p, f);
        put_number(w->out, f->kind, it->value);
        return true;
    }
}

/* All of one field is written: on to the next, or out of the message. */
static void next_field(struct walk *w, struct place *p)
{
    if (p->has_value && p->schema->fields[p->field].is_repeated) {
        (void)otp_buf_add_byte(w->out, ']');
    }
    p->has_value = false;
    p->field++;
    if (!p->is_sorted) {
        otp_reader_seek(&p->reader, 0);
    }
    if (p->field == p->schema->count) {
        (void)otp_buf_add_byte(w->out, '}');
        w->depth--;
    }
}

static bool step(struct walk *w)
{
    struct place *p = &w->places[w->depth - 1];
    const struct field *f = &p->schema->fields[p->field];
    uint64_t before = p->reader.pos;
    struct item it;
    while (next_item(&p->reader, &it)) {
        if (it.number == f->number) {
            return put_item(w, p, f, &it);
        }
        if (p->is_sorted && it.number > f->number) {
            otp_reader_seek(&p->reader, before); /* it is of a later field */
            break;
        }
        before = p->reader.pos;
    }
    if (p->reader.failed) {
        return false;
    }
    next_field(w, p);
    return true;
}

#define DRAIN_FROM ((size_t)1 << 20)

/* Walks to the end, or until the buffer has failed. */
static enum otp_status walk_all(struct walk *w, otp_json_drain drain, void *arg)
{
    bool is_good = true;
    while (is_good && w->depth > 0 && otp_buf_ok(w->out)) {
        is_good = step(w);
        if (drain != NULL && w->out->len >= DRAIN_FROM && otp_buf_ok(w->out) &&
            !drain(arg, w->out)) {
            return OTP_IO;
        }
    }
    (void)otp_buf_add_byte(w->out, '\n');
    if (!is_good) {
        return OTP_MALFORMED;
    }
    return drain == NULL || !otp_buf_ok(w->out) || drain(arg, w->out) ? OTP_OK : OTP_IO;
}

enum otp_status otp_json_profiles_drained(struct otp_text message, struct otp_buf *out,
                                          otp_json_drain drain, void *arg)
{
    struct walk w = {.out = out};
    size_t before = out->len;
    size_t refused = out->heap->failures;

    if (!otp_buf_ok(out)) {
        return OTP_NO_MEMORY;
    }
    enum otp_status status =
        enter(&w, &data_schema, message) ? walk_all(&w, drain, arg) : OTP_MALFORMED;
    if (!otp_buf_ok(out)) {
        status = out->heap->failures != refused ? OTP_NO_MEMORY : OTP_TOO_LARGE;
    }
    if (status != OTP_OK) {
        out->len = out->len < before ? out->len : before;
        out->failed = false;
    }
    return status;
}

enum otp_status otp_json_profiles(struct otp_text message, struct otp_buf *out)
{
    return otp_json_profiles_drained(message, out, NULL, NULL);
}
