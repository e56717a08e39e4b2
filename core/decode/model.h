/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles in memory, whatever they were read from: what each decoder fills and each command reads.
 * A set holds any number of messages; a message has the shape of a ProfilesData, with its own
 * dictionary.
 *
 * I1 Numbers are kept as they were written: an index may point anywhere until otp_profiles_verify
 * has said that all of them are inside their tables. I2 Texts are pieces of the message's bytes
 * (struct otp_piece) and live as long as the set. I3 A list of attribute indices is stored once for
 * equal neighbours, so that lists take few bytes.
 */
#ifndef OTP_DECODE_MODEL_H
#define OTP_DECODE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"
#include "core/decode/vec.h"

/* A piece of the message's bytes. */
struct otp_piece {
    uint32_t off;
    uint32_t len;
};

/* Which layout of the messages a file is written in. */
enum otp_wire_version {
    OTP_PROTO_1_10, /* and 1.11: the present one */
    OTP_PROTO_1_9,  /* Sample numbered differently */
    OTP_PROTO_1_8   /* Profile as well */
};

/* What OTLP could not take over from another format. */
struct otp_lost {
    uint64_t zero_samples; /* all values are 0 */
    uint64_t bare_labels;  /* without a key */
    uint64_t label_units;  /* numbers under one label of which another has another unit */
    uint64_t odd_times;    /* samples whose times do not fit their values */
    uint64_t negatives;    /* times and durations */
};

/* What a message was read from. */
enum otp_source {
    OTP_SOURCE_OTLP, /* the message itself */
    OTP_SOURCE_PPROF,
    OTP_SOURCE_OTEP239,
    OTP_SOURCE_JSON,
    OTP_SOURCE_OLD_OTLP, /* proto 1.4 to 1.7 */
    OTP_SOURCE_GPERFTOOLS
};

/* The numbers are those of AnyValue's fields. */
enum otp_value_kind {
    OTP_VALUE_NONE,
    OTP_VALUE_STRING,   /* piece */
    OTP_VALUE_BOOL,     /* number */
    OTP_VALUE_INT,      /* number */
    OTP_VALUE_DOUBLE,   /* real */
    OTP_VALUE_ARRAY,    /* piece: an encoded ArrayValue, well-formed */
    OTP_VALUE_KVLIST,   /* piece: an encoded KeyValueList, well-formed */
    OTP_VALUE_BYTES,    /* piece */
    OTP_VALUE_STRINDEX, /* number: index into the string table */
    OTP_VALUE_KINDS
};

struct otp_value {
    enum otp_value_kind kind;
    union {
        struct otp_piece piece;
        int64_t number;
        double real;
    } of;
};

/* An attribute of a resource or scope; of the two keys one is used. */
struct otp_keyvalue {
    struct otp_piece key;
    int32_t key_strindex; /* 0: key holds */
    struct otp_value value;
};

/* Items [first, first + count) of one of the message's arrays. */
struct otp_slice {
    uint32_t first;
    uint32_t count;
};

struct otp_mapping {
    uint64_t start;
    uint64_t limit;
    uint64_t file_offset;
    int32_t filename;
    uint32_t attrs; /* list of attribute indices, see otp_profiles_list */
};

struct otp_location {
    uint64_t address;
    int32_t mapping;
    uint32_t attrs;
    struct otp_slice lines;
};

struct otp_source_line {
    int64_t line;
    int64_t column;
    int32_t function;
};

struct otp_function {
    int64_t start_line;
    int32_t name;
    int32_t system_name;
    int32_t filename;
};

struct otp_link {
    struct otp_piece trace_id;
    struct otp_piece span_id;
};

struct otp_attribute {
    int32_t key;
    int32_t unit;
    struct otp_value value;
};

/*
 * One sample. The usual kind, one value below 2^31 and no timestamp, has the value in `data`; any
 * other has OTP_SAMPLE_LONG set there, and at that place of `numbers` a count of values, a count of
 * timestamps, then the values, then the timestamps.
 */
struct otp_sample {
    int32_t stack;
    int32_t link;
    uint32_t attrs;
    uint32_t data;
};

#define OTP_SAMPLE_LONG 0x80000000U

struct otp_types {
    int32_t type;
    int32_t unit;
};

struct otp_profile {
    struct otp_types sample_type;
    struct otp_types period_type;
    int64_t period;
    uint64_t time_ns;
    uint64_t duration_ns;
    struct otp_slice samples;
    uint32_t attrs;
    uint32_t dropped_attributes;
    struct otp_piece profile_id;
    struct otp_piece payload_format;
    struct otp_piece payload;
    uint32_t scope; /* number of its scope */
};

struct otp_scope {
    struct otp_piece name;
    struct otp_piece version;
    struct otp_piece schema_url;
    struct otp_slice attrs; /* of keyvalues */
    struct otp_slice profiles;
    uint32_t dropped_attributes;
    uint32_t resource; /* number of its resource */
    bool is_set;       /* the message named a scope */
};

struct otp_profiles_resource {
    struct otp_piece schema_url;
    struct otp_slice attrs; /* of keyvalues */
    struct otp_slice scopes;
    uint32_t dropped_attributes;
    bool is_set;
};

/* The tables of a dictionary, numbered by their fields. */
enum otp_table {
    OTP_TABLE_MAPPING = 1,
    OTP_TABLE_LOCATION,
    OTP_TABLE_FUNCTION,
    OTP_TABLE_LINK,
    OTP_TABLE_STRING,
    OTP_TABLE_ATTRIBUTE,
    OTP_TABLE_STACK,
    OTP_TABLES
};

/* Something that a reader may overlook but a check may not. */
enum otp_note_kind {
    OTP_NOTE_UNKNOWN_FIELD, /* number */
    OTP_NOTE_WIRE_TYPE,     /* number: a known field with another wire type, hence ignored */
    OTP_NOTE_UTF8
};

/* Steps from the message to a part of it, as in resource_profiles[0].scope_profiles[1]. */
#define OTP_PLACE_DEPTH 10
struct otp_place {
    uint32_t depth;
    struct {
        const char *name;
        uint32_t idx; /* OTP_PLACE_ONE: the only one, no number */
    } step[OTP_PLACE_DEPTH];
};
#define OTP_PLACE_ONE UINT32_MAX

struct otp_note {
    enum otp_note_kind kind;
    uint32_t number;
    uint64_t off; /* in the message */
    struct otp_place place;
};

#define OTP_NOTES_MAX 200

/* One input as it was named, and its bytes once unpacked. */
struct otp_blob {
    char *name;
    uint8_t *bytes; /* NULL: unpacked into another blob */
    size_t size;
    size_t file_size;    /* before unpacking */
    const char *format;  /* for people: "OTLP, framed" */
    const char *packing; /* "gzip", "zstd", or NULL */
    uint32_t message_count;
};

struct otp_profiles {
    const struct otp_blob *blob; /* its file, of the set */
    uint64_t off;                /* of the message in its (unpacked) file */
    uint32_t number;             /* of the message in its file, from 0 */
    bool was_packed;             /* off counts in unpacked data */
    enum otp_wire_version version;
    enum otp_source source;
    /* Unless it is OTLP: what it was translated from, of the set; whole when that was asked for. */
    const uint8_t *original;
    size_t original_size;
    struct otp_lost lost;
    bool has_dictionary;
    uint8_t *bytes; /* borrowed from the set */
    uint32_t size;
    struct otp_budget budget;

    struct otp_vec table[OTP_TABLES];  /* by enum otp_table; [0] is unused; strings are otp_piece */
    bool zero_has_unknown[OTP_TABLES]; /* entry 0 has fields that nobody knows */
    struct otp_vec lines;              /* struct otp_source_line */
    struct otp_vec frames;             /* int32_t, location indices of all stacks */
    struct otp_vec lists;              /* int32_t, see otp_profiles_list */
    struct otp_vec numbers;            /* int64_t, values and timestamps of samples */
    struct otp_vec keyvalues;          /* struct otp_keyvalue */
    struct otp_vec resources;          /* struct otp_profiles_resource */
    struct otp_vec scopes;             /* struct otp_scope */
    struct otp_vec profiles;           /* struct otp_profile */
    struct otp_vec samples;            /* struct otp_sample */
    struct otp_vec notes;              /* struct otp_note, the first OTP_NOTES_MAX */
    uint64_t note_count;               /* all of them */
};

/* Messages of any number of files, in the order in which they were added. */
struct otp_profile_set {
    struct otp_profiles **messages;
    size_t message_count;
    struct otp_blob **blobs;
    size_t blob_count;
};

/* The part of a message's array at `vec`; used by the accessors below. */
#define OTP_ITEM(type, vec, i) (&((const struct type *)(vec).items)[i])

/* Context of all below: any. None checks an index against its table: see I1. */
static inline const struct otp_mapping *otp_profiles_mapping(const struct otp_profiles *m,
                                                             int32_t i)
{
    return OTP_ITEM(otp_mapping, m->table[OTP_TABLE_MAPPING], i);
}

static inline const struct otp_location *otp_profiles_location(const struct otp_profiles *m,
                                                               int32_t i)
{
    return OTP_ITEM(otp_location, m->table[OTP_TABLE_LOCATION], i);
}

static inline const struct otp_function *otp_profiles_function(const struct otp_profiles *m,
                                                               int32_t i)
{
    return OTP_ITEM(otp_function, m->table[OTP_TABLE_FUNCTION], i);
}

static inline const struct otp_link *otp_profiles_link(const struct otp_profiles *m, int32_t i)
{
    return OTP_ITEM(otp_link, m->table[OTP_TABLE_LINK], i);
}

static inline const struct otp_attribute *otp_profiles_attribute(const struct otp_profiles *m,
                                                                 int32_t i)
{
    return OTP_ITEM(otp_attribute, m->table[OTP_TABLE_ATTRIBUTE], i);
}

static inline const struct otp_slice *otp_profiles_stack(const struct otp_profiles *m, int32_t i)
{
    return OTP_ITEM(otp_slice, m->table[OTP_TABLE_STACK], i);
}

static inline const struct otp_source_line *otp_profiles_line(const struct otp_profiles *m,
                                                              uint32_t i)
{
    return OTP_ITEM(otp_source_line, m->lines, i);
}

static inline const struct otp_profile *otp_profiles_profile(const struct otp_profiles *m,
                                                             uint32_t i)
{
    return OTP_ITEM(otp_profile, m->profiles, i);
}

static inline const struct otp_scope *otp_profiles_scope(const struct otp_profiles *m, uint32_t i)
{
    return OTP_ITEM(otp_scope, m->scopes, i);
}

static inline const struct otp_profiles_resource *
otp_profiles_resource(const struct otp_profiles *m, uint32_t i)
{
    return OTP_ITEM(otp_profiles_resource, m->resources, i);
}

static inline const struct otp_sample *otp_profiles_sample(const struct otp_profiles *m, uint32_t i)
{
    return OTP_ITEM(otp_sample, m->samples, i);
}

static inline const struct otp_keyvalue *otp_profiles_keyvalue(const struct otp_profiles *m,
                                                               uint32_t i)
{
    return OTP_ITEM(otp_keyvalue, m->keyvalues, i);
}

/* Location indices of a stack, leaf first. */
static inline const int32_t *otp_profiles_frames(const struct otp_profiles *m,
                                                 const struct otp_slice *stack)
{
    return stack->count == 0 ? NULL : (const int32_t *)m->frames.items + stack->first;
}

/* The attribute indices of list `list`; *out_count of them. */
static inline const int32_t *otp_profiles_list(const struct otp_profiles *m, uint32_t list,
                                               uint32_t *out_count)
{
    const int32_t *items = (const int32_t *)m->lists.items + list;
    *out_count = (uint32_t)items[0];
    return items + 1;
}

/* The bytes of a piece as text. */
static inline struct otp_text otp_profiles_text(const struct otp_profiles *m, struct otp_piece p)
{
    return otp_text_make((const char *)m->bytes + p.off, p.len);
}

/* String i of the table; the empty text when there is no such string. */
struct otp_text otp_profiles_string(const struct otp_profiles *m, int32_t i);

/* The numbers of a sample. It points into itself: it must not be copied. */
struct otp_sample_data {
    const int64_t *values;
    const int64_t *timestamps; /* unsigned in truth; kept in one array with the values */
    uint32_t value_count;
    uint32_t timestamp_count;
    int64_t one; /* where values points when the value is in the sample itself */
};
void otp_profiles_sample_data(const struct otp_profiles *m, const struct otp_sample *s,
                              struct otp_sample_data *out_data);
/* The general case of otp_profiles_sample_total. */
int64_t otp_profiles_long_total(const struct otp_profiles *m, const struct otp_sample *s);
/* Gives the samples of a profile back, which must not be asked for any more. */
void otp_profiles_forget_samples(struct otp_profiles *m, const struct otp_profile *p);
/* What a sample adds to its profile: the sum of its values, or 1 for each timestamp without. */
static inline int64_t otp_profiles_sample_total(const struct otp_profiles *m,
                                                const struct otp_sample *s)
{
    return (s->data & OTP_SAMPLE_LONG) == 0 ? (int64_t)s->data : otp_profiles_long_total(m, s);
}

/*
 * The attribute of that key in a list of attribute indices, or among the attributes of a resource
 * or scope; NULL when there is none.
 */
const struct otp_value *otp_profiles_find_attr(const struct otp_profiles *m, uint32_t list,
                                               const char *key);
const struct otp_value *otp_profiles_find_keyvalue(const struct otp_profiles *m,
                                                   struct otp_slice keyvalues, const char *key);
/* The key of an attribute of a resource or scope. */
struct otp_text otp_profiles_key(const struct otp_profiles *m, const struct otp_keyvalue *kv);
/* The text of a string value, written in place or as an index; empty for any other kind. */
struct otp_text otp_profiles_value_text(const struct otp_profiles *m, const struct otp_value *v);

/* The first index that points nowhere. */
struct otp_bad_index {
    struct otp_place place;
    int32_t index;
    uint32_t count; /* entries of the table it should be in */
};
/*
 * Gives each empty table its entry 0, which means "not set", and checks that all indices are inside
 * their tables, after which the accessors may be used freely. Otherwise false, *out_bad says where.
 */
bool otp_profiles_verify(struct otp_profiles *m, struct otp_bad_index *out_bad);

/* Sum that stops at the ends of the range. */
static inline int64_t otp_add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return b > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
}

/* How far from 0; of the least number, too. */
static inline uint64_t otp_magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* An empty set. */
void otp_profile_set_init(struct otp_profile_set *set);
/* Frees all messages and files. */
void otp_profile_set_fini(struct otp_profile_set *set);

/* Goes one step down: to field `name`, entry idx (OTP_PLACE_ONE: a single one). */
static inline void otp_place_enter(struct otp_place *p, const char *name, uint32_t idx)
{
    if (p->depth < OTP_PLACE_DEPTH) {
        p->step[p->depth].name = name;
        p->step[p->depth].idx = idx;
    }
    p->depth++;
}

/* Goes one step back up. */
static inline void otp_place_leave(struct otp_place *p)
{
    p->depth--;
}

/* The place of profile i, counted over the whole message. */
void otp_place_of_profile(const struct otp_profiles *m, uint32_t i, struct otp_place *out_place);
/* Writes the place as text with a NUL into room bytes, cut off when it does not fit. */
void otp_place_format(const struct otp_place *p, char *out, size_t room);

#endif
