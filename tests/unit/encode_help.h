/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of core/encode share: reading a message back with the generated code, the rules
 * that every message must keep, and a canonical text of what it says.
 */
#ifndef OTP_UNIT_ENCODE_HELP_H
#define OTP_UNIT_ENCODE_HELP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/otlp_profiles.pb-c.h"

#include "core/base/buf.h"
#include "core/encode/otlp.h"
#include "core/encode/visitor.h"

#define ENC_PB(name) Opentelemetry__Proto__Profiles__V1development__##name
#define ENC_COMMON(name) Opentelemetry__Proto__Common__V1__##name

/* A growing array of lines. */
struct enc_lines {
    char **text;
    size_t count;
    size_t capacity;
};

struct otp_text enc_text(const char *s);
struct otp_attr enc_attr_string(const char *key, const char *value);
struct otp_attr enc_attr_int(const char *key, int64_t value);

/* A source of profile ids that counts up; arg is a uint64_t. */
void enc_count_ids(void *arg, uint8_t out_id[16]);

/* Everything a builder needs, made for one test. */
struct enc_rig {
    struct otp_heap heap;
    struct otp_otlp_builder *builder;
    struct otp_visitor *v;
    struct otp_buf out;
    uint64_t next_id;
    ENC_PB(ProfilesData) * data; /* the last message */
};

/* Makes a rig; options may be NULL. Ids count up unless options say otherwise. */
void enc_rig_init(struct enc_rig *r, const struct otp_otlp_options *options);
void enc_rig_fini(struct enc_rig *r);
/* Finishes, decodes, checks all rules, and that packing again gives the same bytes. */
void enc_rig_finish(struct enc_rig *r);
/* Profile idx of the last message. */
const ENC_PB(Profile) * enc_rig_profile(const struct enc_rig *r, size_t idx);
/* Begins a profile of one or two types. Period type is the first; time 1000, duration 1000. */
void enc_begin(struct otp_visitor *v, const char *type, const char *unit, const char *type2,
               const char *unit2);
void enc_end(struct otp_visitor *v);
/* A frame that is only a name, and a stack of names, leaf first, ended by NULL. */
uint32_t enc_frame(struct otp_visitor *v, const char *name);
uint32_t enc_stack(struct otp_visitor *v, const char *const *names);
/* A sample of one or two values, without attributes or link. */
void enc_sample_add(struct otp_visitor *v, uint32_t stack, int64_t value, int64_t value2,
                    uint64_t time_ns);

ENC_PB(ProfilesData) * enc_decode(const void *bytes, size_t len);
void enc_free(ENC_PB(ProfilesData) * data);
/* Fails the test when data breaks a rule of the format (docs/FORMATS.md). */
void enc_check_rules(const ENC_PB(ProfilesData) * data);

void enc_lines_add(struct enc_lines *l, char *line); /* takes line */
void enc_lines_sort(struct enc_lines *l);
void enc_lines_free(struct enc_lines *l);
/*
 * One line for each sum and each observation: profile type, identity with all names resolved, time,
 * value.
 */
void enc_dump(const ENC_PB(ProfilesData) * data, struct enc_lines *out);
/* The same text of what a visit tells. */
void enc_print_attrs(FILE *f, const struct otp_attr *attrs, size_t count);
void enc_print_mapping(FILE *f, const struct otp_visit_mapping *m);
void enc_print_frame(FILE *f, const struct otp_visit_frame *frame, const char *mapping);

#endif
