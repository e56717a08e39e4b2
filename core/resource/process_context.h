/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context of OTEP 4719: resource attributes that a process keeps in a mapping with a
 * known name, for profilers outside and inside of it. There is at most one in a process; a fork
 * child does not inherit it.
 *
 * Context of everything here: worker.
 */
#ifndef OTP_RESOURCE_PROCESS_CONTEXT_H
#define OTP_RESOURCE_PROCESS_CONTEXT_H

#include <stdbool.h>

#include "core/resource/resource.h"

/*
 * Looks for a context that somebody published and sets its resource attributes that r does not have
 * yet. False: there is none that can be read. The mapping may vanish or change meanwhile.
 */
bool otp_process_context_read(struct otp_resource *r);

/* Gets an attribute of the process context that is not one of its resource: key, encoded value. */
typedef void (*otp_process_context_visit)(void *arg, struct otp_text key, struct otp_text value);
/* Reads the context and calls visit for each such attribute; false as above. */
bool otp_process_context_each(otp_process_context_visit visit, void *arg);
/* The text of an encoded value; false when it is of another kind. */
bool otp_process_context_string(struct otp_text value, struct otp_text *out);
/* Calls visit for each item of an encoded list; what is not a text is told as an empty one. */
void otp_process_context_strings(struct otp_text value, void (*visit)(void *arg, struct otp_text s),
                                 void *arg);

/* True when there is a context; as read, without taking anything. */
bool otp_process_context_exists(void);

/*
 * Publishes r's attributes; the caller has made sure that there is no context. False: no memory, or
 * the kernel can name neither files in memory nor mappings.
 */
bool otp_process_context_publish(const struct otp_resource *r);

#endif
