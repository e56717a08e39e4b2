/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One number for each function that occurs in any file, by its name: what frames of different
 * messages are compared by. A frame without a name is called after its module and address.
 */
#ifndef OTP_OTELPROF_NAMES_H
#define OTP_OTELPROF_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/base/text.h"
#include "core/decode/model.h"

struct otp_name {
    struct otp_text name;
    struct otp_text module; /* base name of the mapped file it was first seen in, may be empty */
    struct otp_text file;   /* source file, may be empty */
    bool is_address;        /* made of module and address */
};

struct otp_names {
    struct otp_heap heap;
    struct otp_map map;
    struct otp_name *items;
    uint32_t count;
    uint32_t capacity;
};

/* Numbers of the functions at each location of one message, innermost first. */
struct otp_frame_names {
    uint32_t *first; /* of each location, into ids; one more than there are locations */
    uint32_t *ids;   /* one per line; one for a location without lines */
};

void otp_names_init(struct otp_names *n);
void otp_names_fini(struct otp_names *n);
/* The number of a name; UINT32_MAX: no memory. The texts are borrowed. */
uint32_t otp_names_add(struct otp_names *n, const struct otp_name *given);
/* The number of a name that is there already; UINT32_MAX: it is not. */
uint32_t otp_names_find(const struct otp_names *n, struct otp_text name);
/* Names all locations of a message; false: no memory. */
bool otp_frame_names_init(struct otp_frame_names *f, struct otp_names *n,
                          const struct otp_profiles *m);
void otp_frame_names_fini(struct otp_frame_names *f);
/* Base name of a path. */
struct otp_text otp_base_name(struct otp_text path);

#endif
