/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visit: how a profile is told, piece by piece, to whoever builds a message of it. The teller
 * (engine, merge, converter) knows nothing of the format; a builder (OTLP, pprof, a tee of both)
 * knows nothing of where the profile came from.
 *
 * Order: begin_profile, then for each sample its mapping, frames, stack, attributes and link, as
 * far as they are not known yet, then sample; end_profile; any number of profiles in one visit. Ids
 * are handed out by the visitor and stay valid for all profiles of its request, so the teller keeps
 * what it got and names each thing once. Equal things may be told twice: the builder
 * interns. Id 0 always means "none": no mapping, the empty stack, no link.
 *
 * A call returns OTP_OK or why it failed. After a failure the visitor stays failed (sticky): later
 * calls return the same status and its finish function refuses. Nothing given to a call is kept:
 * texts and arrays are copied or interned before it returns.
 */
#ifndef OTP_ENCODE_VISITOR_H
#define OTP_ENCODE_VISITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

#define OTP_VISIT_MAX_TYPES 8

/* What a value means, for example "cpu" in "nanoseconds". */
struct otp_value_type {
    struct otp_text type;
    struct otp_text unit;
};

enum otp_attr_kind {
    OTP_ATTR_STRING,
    OTP_ATTR_INT,
    OTP_ATTR_BOOL,
    OTP_ATTR_DOUBLE,
    OTP_ATTR_BYTES,
    OTP_ATTR_LIST,
    OTP_ATTR_MAP, /* order does not count; the last of equal keys does */
    OTP_ATTR_EMPTY
};

#define OTP_ATTR_MAX_DEPTH 8 /* lists and maps inside each other */

/* One attribute of a resource, profile, sample, mapping or location. One with an empty key is none.
 */
struct otp_attr {
    struct otp_text key;
    enum otp_attr_kind kind;
    struct otp_text string;       /* OTP_ATTR_STRING, OTP_ATTR_BYTES */
    int64_t number;               /* OTP_ATTR_INT; OTP_ATTR_BOOL: 0 or 1 */
    double real;                  /* OTP_ATTR_DOUBLE */
    struct otp_text unit;         /* UCUM, may be empty; not for items */
    const struct otp_attr *items; /* OTP_ATTR_LIST (keys do not count), OTP_ATTR_MAP */
    size_t item_count;
};

/* A file, or a part of one, that was mapped. Addresses are ELF virtual addresses (see
 * docs/FORMATS.md). */
struct otp_visit_mapping {
    uint64_t start; /* first address; start and limit are both 0 when unknown */
    uint64_t limit; /* first address behind it */
    uint64_t file_offset;
    struct otp_text filename;
    const struct otp_attr *attrs; /* build ids and so on */
    size_t attr_count;
};

/* One source-level function at a location; several when calls were inlined, innermost first. */
struct otp_visit_line {
    struct otp_text name;        /* as a person wants to read it (demangled) */
    struct otp_text system_name; /* as the linker knows it; may equal name */
    struct otp_text filename;    /* source file, may be empty */
    int64_t start_line;          /* 0: unknown */
    int64_t line;                /* 0: unknown */
    int64_t column;              /* 0: unknown */
};

/* A code location. */
struct otp_visit_frame {
    uint32_t mapping; /* id from mapping(), 0: none */
    uint64_t address; /* 0: none */
    const struct otp_visit_line *lines;
    size_t line_count; /* 0: no name is known */
    const struct otp_attr *attrs;
    size_t attr_count;
};

/* What is said of a profile before its samples. All texts are copied. */
struct otp_visit_profile {
    const struct otp_value_type
        *types; /* one per value of each sample, at most OTP_VISIT_MAX_TYPES */
    size_t type_count;
    struct otp_value_type period_type;
    int64_t period;
    uint64_t time_unix_ns;
    uint64_t duration_ns;
    const struct otp_attr *attrs;
    size_t attr_count;
    uint32_t dropped_attributes;
    /* What this profile was converted from: format ("pprof", "jfr", ...) and bytes, both or
     * neither. */
    struct otp_text payload_format;
    struct otp_text payload;
};

/* One observation, or the sum of many. */
struct otp_visit_sample {
    uint32_t stack;        /* id from stack() */
    uint32_t link;         /* id from link() */
    const uint32_t *attrs; /* ids from attr() */
    size_t attr_count;
    const int64_t *values; /* type_count values; a zero value leaves the sample out of that type */
    uint64_t timestamp_ns; /* Unix time, less than UINT64_MAX; 0: a sum without a time */
};

/* A sample without a time in a profile of one type, as otp_visitor.rows takes it. */
struct otp_visit_row {
    uint32_t stack; /* id from stack() */
    uint32_t list;  /* id from list() */
    uint32_t link;  /* id from link() */
    uint32_t value; /* below OTP_VISIT_ROW_LONG; else that bit and the place in longs */
};
#define OTP_VISIT_ROW_LONG 0x80000000U

/* All samples of a profile. The items are the visitor's from then on: it may change them, and they
 * stay where they are until its message is made, or until it forgets its samples. */
struct otp_visit_rows {
    struct otp_visit_row *items;
    size_t count;
    const int64_t *longs; /* copied */
    size_t long_count;
};

/* The calls; each gets the visitor itself. */
struct otp_visitor {
    enum otp_status (*begin_profile)(struct otp_visitor *v, const struct otp_visit_profile *p);
    enum otp_status (*mapping)(struct otp_visitor *v, const struct otp_visit_mapping *m,
                               uint32_t *out_id);
    enum otp_status (*frame)(struct otp_visitor *v, const struct otp_visit_frame *f,
                             uint32_t *out_id);
    /* Frame ids, leaf first. */
    enum otp_status (*stack)(struct otp_visitor *v, const uint32_t *frames, size_t count,
                             uint32_t *out_id);
    enum otp_status (*attr)(struct otp_visitor *v, const struct otp_attr *a, uint32_t *out_id);
    /* All-zero trace or span id: *out_id is 0, no link. */
    enum otp_status (*link)(struct otp_visitor *v, const uint8_t trace_id[16],
                            const uint8_t span_id[8], uint32_t *out_id);
    enum otp_status (*sample)(struct otp_visitor *v, const struct otp_visit_sample *s);
    enum otp_status (*end_profile)(struct otp_visitor *v);
    /*
     * Not every visitor has these: NULL. They are for tellers with millions of samples. list()
     * gives an id for a set of attributes, rows() stands for all calls of sample() in a profile,
     * with the same outcome.
     */
    enum otp_status (*list)(struct otp_visitor *v, const uint32_t *attrs, size_t count,
                            uint32_t *out_id);
    enum otp_status (*rows)(struct otp_visitor *v, const struct otp_visit_rows *rows);
};

#endif
