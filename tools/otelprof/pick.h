/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which profiles of many files count together. In-use types are snapshots: of one process the last
 * one counts, over processes they add; all other types add.
 */
#ifndef OTP_OTELPROF_PICK_H
#define OTP_OTELPROF_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/model.h"
#include "tools/otelprof/command.h"

/* A sample type, by its texts (borrowed from the set). */
struct otp_type {
    struct otp_text type;
    struct otp_text unit;
};

/* All sample types of a set, in the order in which they first come. */
struct otp_type_list {
    struct otp_type *items;
    size_t count;
};

/* One profile that counts. */
struct otp_pick {
    const struct otp_profiles *m;
    size_t message; /* number of m in the set */
    uint32_t profile;
};

struct otp_pick_list {
    struct otp_pick *items;
    size_t count;
};

/* The types; false: no memory. */
bool otp_type_list_init(struct otp_type_list *l, const struct otp_profile_set *set);
void otp_type_list_fini(struct otp_type_list *l);
/* The type called `name` ("cpu", or "cpu/nanoseconds" to tell two apart), or NULL. */
const struct otp_type *otp_type_find(const struct otp_type_list *l, const char *name);
/* Prints that there is no such type, and which there are; the exit status for it. */
int otp_type_not_found(const struct otp_command *command, const struct otp_type_list *l,
                       const char *name);
/* The type of a profile. */
struct otp_type otp_type_of(const struct otp_profiles *m, const struct otp_profile *p);
/* Is a value of that type what is there at one time, not what has been added up? */
bool otp_type_is_snapshot(const struct otp_type *t);
/* True when both texts are equal. */
bool otp_type_equal(const struct otp_type *a, const struct otp_type *b);

/* The profiles of a set that count for a type; false: no memory. */
bool otp_pick_list_init(struct otp_pick_list *l, const struct otp_profile_set *set,
                        const struct otp_type *type);
void otp_pick_list_fini(struct otp_pick_list *l);
/*
 * Replaces l, which has room for all profiles of the set, by the profiles of that type in the last
 * flush of each process. False: no memory. For otp_pick_list_init.
 */
bool otp_pick_list_keep_last(struct otp_pick_list *l, const struct otp_profile_set *set,
                             const struct otp_type *type);
/* Equal for profiles of one process, as above, and for no others; 0: the process is not known. */
uint64_t otp_pick_process(const struct otp_profiles *m, uint32_t profile);

#endif
