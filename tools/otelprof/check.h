/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `otelprof check` share. For check*.c only. */
#ifndef OTP_OTELPROF_CHECK_H
#define OTP_OTELPROF_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decode/model.h"
#include "tools/otelprof/jsonout.h"

struct otp_check {
    const struct otp_profiles *m;
    struct otp_jsonout *json; /* NULL: the result is text */
    bool strict;
    bool quiet_over_limit;  /* that lines are left out has been said */
    struct otp_place place; /* where the check is */
    bool has_no_memory;     /* for a check, which was left out */
    uint64_t violations;    /* of this message */
    uint64_t shown;         /* of all files */
    uint64_t show_max;
    uint32_t *first[OTP_TABLES]; /* for each entry the first that is equal; see otp_check_equal */
};

/* Counts a violation at the present place, field `field` of it (may be NULL), and prints it. */
void otp_check_report(struct otp_check *c, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports an index that is outside its table; true when it is inside. */
bool otp_check_index(struct otp_check *c, enum otp_table table, int32_t index, const char *field);
/* A list of attribute indices: each inside the table, each key once. */
void otp_check_list(struct otp_check *c, uint32_t list);
/* Names of the tables as fields of the dictionary. */
extern const char *const otp_check_tables[OTP_TABLES];

/*
 * Whether the tables are the writer's own, as those of JSON are. For another format our decoder
 * makes them: whether they have more in them than is needed says nothing about the file.
 */
static inline bool otp_check_has_tables(const struct otp_check *c)
{
    return c->m->source == OTP_SOURCE_OTLP || c->m->source == OTP_SOURCE_JSON;
}

/* The parts, each over the whole message. */
void otp_check_dictionary(struct otp_check *c);
void otp_check_profiles(struct otp_check *c);
void otp_check_references(struct otp_check *c);
/*
 * Finds equal entries of all tables, by what they mean and not by index, and reports them; fills
 * c->first (the caller frees each). False: no memory.
 */
bool otp_check_equal(struct otp_check *c);
/* No two samples of a profile are of the same stack, attributes and link. False: no memory. */
bool otp_check_identities(struct otp_check *c, const struct otp_profile *p);

#endif
