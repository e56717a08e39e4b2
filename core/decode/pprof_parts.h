/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the pprof decoder share. For pprof*.c of this folder only. */
#ifndef OTP_DECODE_PPROF_PARTS_H
#define OTP_DECODE_PPROF_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/origin.h"
#include "core/decode/emit.h"
#include "core/decode/model.h"
#include "core/decode/rows.h"
#include "core/decode/vec.h"
#include "core/decode/wire.h"

/* Texts that the profile itself does not hold; they follow its own strings when they are used. */
enum otp_pprof_word {
    OTP_WORD_BUILD_ID,
    OTP_WORD_HAS_FUNCTIONS,
    OTP_WORD_HAS_FILENAMES,
    OTP_WORD_HAS_LINE_NUMBERS,
    OTP_WORD_HAS_INLINE_FRAMES,
    OTP_WORD_IS_FOLDED,
    OTP_WORD_COMMENT,
    OTP_WORD_DOC_URL,
    OTP_WORD_DROP_FRAMES,
    OTP_WORD_KEEP_FRAMES,
    OTP_WORDS
};

/* A message of one of the tables, and its id there. */
struct otp_pprof_entry {
    uint64_t id;
    struct otp_field field; /* OTP_WIRE_LEN, its content */
};

/* A table by id: sorted unless its ids are 1, 2, 3 and so on. */
struct otp_pprof_table {
    struct otp_vec entries; /* struct otp_pprof_entry, in the order of the file */
    uint32_t *by_id;        /* numbers of entries, sorted by id; NULL: ids count up from 1 */
};

/* One value of a label, or of an attribute made of a field. Compared as bytes: no padding. */
struct otp_pprof_value {
    uint32_t key; /* string */
    uint32_t unit;
    uint32_t text; /* string, when kind is OTP_VALUE_STRING */
    uint32_t kind; /* enum otp_value_kind: STRING, INT, BOOL */
    int64_t number;
};

/* What the labels of a span say. Compared as bytes: no padding. */
struct otp_pprof_link {
    uint8_t trace_id[16];
    uint8_t span_id[8];
};

/* A label of at most 8 bytes that was the only one of a sample. */
struct otp_pprof_label {
    uint64_t bytes; /* the first is the lowest; what is behind the last is 0 */
    uint32_t len;
    uint32_t attr; /* from 1, 0: no label is here */
};

/* What was read of samples and may come again: of many files most samples have the stack of the
 * one before and a label that another one had. */
struct otp_pprof_recent {
    const uint8_t *stack_at; /* the list of locations of the sample before */
    uint64_t stack_len;      /* 0: nothing is known of it */
    uint32_t stack;
    struct otp_pprof_label *labels; /* by their bytes */
};

struct otp_pprof {
    struct otp_wire_fault fault;
    struct otp_lost lost;
    struct otp_budget budget;
    struct otp_heap heap; /* of the maps */
    const uint8_t *data;
    size_t len;

    struct otp_vec strings;       /* struct otp_field */
    struct otp_vec types;         /* struct otp_field: sample types */
    const uint8_t *samples_begin; /* from the first to behind the last; others may be between */
    const uint8_t *samples_end;
    uint32_t sample_count;
    bool is_consumed; /* the bytes of samples are given back when they are read */
    struct otp_pprof_table mappings;
    struct otp_pprof_table locations;
    struct otp_pprof_table functions;
    struct otp_vec comments; /* int64_t: strings */
    struct otp_field period_type;
    bool has_period_type;
    int64_t drop_frames;
    int64_t keep_frames;
    int64_t time_nanos;
    int64_t duration_nanos;
    int64_t period;
    int64_t default_type;
    int64_t doc_url;
    struct otp_origin origin; /* the process, when one comment tells it */
    bool has_origin;

    struct otp_pprof_recent recent;

    /* What samples and attributes refer to. */
    struct otp_vec samples; /* struct otp_row */
    struct otp_vec values;  /* int64_t: types.count for each sample */
    struct otp_vec attrs;   /* uint32_t: attribute numbers of all samples */
    struct otp_vec frames;  /* uint32_t: location numbers of all stacks */
    struct otp_vec stacks;  /* struct otp_slice of frames; stack 0 is the empty one */
    struct otp_map stack_map;
    struct otp_vec attr_parts; /* struct otp_pprof_value */
    struct otp_vec
        attr_table; /* struct otp_slice of attr_parts: several values of one key are a list */
    struct otp_map attr_map;
    struct otp_vec links; /* struct otp_pprof_link */
    struct otp_map link_map;
    uint32_t word[OTP_WORDS]; /* number of a string, 0: not used yet */
    uint32_t word_count;
    uint32_t word_order[OTP_WORDS];
    /* Working space. */
    struct otp_vec numbers; /* uint64_t */
    struct otp_vec labels;  /* struct otp_pprof_value */
};

/* Keeps the first fault; always false. */
bool otp_pprof_fail(struct otp_pprof *p, const uint8_t *at, const char *reason);
/* Gives up because memory or a limit has run out; false. */
bool otp_pprof_no_room(struct otp_pprof *p);
/* The content of a field as a cursor. */
struct otp_wire otp_pprof_inside(struct otp_pprof *p, const struct otp_field *f);
/* Checks that a field is a number of a string and gives it. */
bool otp_pprof_string(struct otp_pprof *p, const struct otp_field *f, uint32_t *out_string);
/* The number (from 1) of the entry with that id, 0: there is none. */
uint32_t otp_pprof_find(const struct otp_pprof_table *t, uint64_t id);
/* The string number of a word. */
uint32_t otp_pprof_word(struct otp_pprof *p, enum otp_pprof_word word);
/* The attribute (from 1) of these values, which have one key; false: no room. */
bool otp_pprof_attribute(struct otp_pprof *p, const struct otp_pprof_value *values, uint32_t count,
                         uint32_t *out_attr);
/* The unit of an attribute of these values: that of the first number that has one. */
uint32_t otp_pprof_unit(const struct otp_pprof_value *values, uint32_t count);
/* Takes the labels of a span, if there are such, out of p->labels: the link (from 1), 0: none. */
bool otp_pprof_take_link(struct otp_pprof *p, uint32_t *out_link);
/* Finds the comment that tells the process; false: no room. */
bool otp_pprof_read_origin(struct otp_pprof *p);
/* Is that comment (a number of a string) one that tells the process? Then it is none besides. */
bool otp_pprof_is_origin(const struct otp_pprof *p, int64_t comment);
/* Writes the fields of a Resource, and of an InstrumentationScope, that it tells. */
void otp_pprof_put_resource(const struct otp_pprof *p, struct otp_emit *out);
void otp_pprof_put_scope(const struct otp_pprof *p, struct otp_emit *out);
/* Reads all samples. */
bool otp_pprof_read_samples(struct otp_pprof *p);
/* Writes all of it as OTLP; rows: but the samples, whose first column it says. */
bool otp_pprof_emit(struct otp_pprof *p, struct otp_emit *out, struct otp_rows *rows);

/* Texts of the words. */
extern const char *const otp_pprof_words[OTP_WORDS];

#endif
