/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples know besides their stack, as a thing to group and to choose by: the trace or span
 * that they are linked to, their thread, any attribute.
 */
#ifndef OTP_OTELPROF_BY_H
#define OTP_OTELPROF_BY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/decode/model.h"
#include "tools/otelprof/command.h"

#define OTP_BY_HELP "trace, span, thread or label=KEY"

enum otp_by_kind { OTP_BY_TRACE, OTP_BY_SPAN, OTP_BY_THREAD, OTP_BY_LABEL };

/* Groups of the samples of a set, by number; 0 are those that know nothing of the kind. */
struct otp_by {
    enum otp_by_kind kind;
    const char *key; /* of OTP_BY_LABEL */
    struct otp_heap heap;
    struct otp_map map;
    struct otp_text *names; /* as shown, of each group */
    uint32_t count;
    uint32_t capacity;
};

/* The groups of the stacks of one set's messages, after otp_by_split. */
struct otp_by_set {
    const struct otp_profile_set *set;
    uint32_t **of_stack; /* for each message, the group of each of its stacks */
};

/* Reads what the user wants to group by; false: it is none of OTP_BY_HELP. Borrows spec. */
bool otp_by_init(struct otp_by *by, const char *spec);
void otp_by_fini(struct otp_by *by);
/*
 * Gives each sample a stack of its group alone: the stacks of a message that several groups have
 * become several equal ones. Indices must have been verified. False: no memory.
 */
bool otp_by_split(struct otp_by *by, struct otp_profile_set *set, struct otp_by_set *out);
void otp_by_set_fini(struct otp_by_set *s);

/*
 * Leaves only the samples whose label KEY has the value, for where = "KEY=VALUE"; KEY may be trace,
 * span or thread as well. The exit status; a line was printed when there is no "=" in it.
 */
int otp_where_apply(const struct otp_command *command, struct otp_profile_set *set,
                    const char *where);

#endif
