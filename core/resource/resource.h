/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource attributes of this process: what it is, where it runs, what the user says about
 * it.
 *
 * I1 Nothing allocates: attributes and their texts live inside the struct, which must not be
 *    copied.
 * I2 Texts are valid UTF-8. Whatever cannot be found out is left out.
 * I3 Only argv[0] of the command line is taken: arguments may hold secrets.
 */
#ifndef OTP_RESOURCE_RESOURCE_H
#define OTP_RESOURCE_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

#define OTP_RESOURCE_ATTRS_MAX 128
#define OTP_RESOURCE_BYTES ((size_t)32 << 10)

struct otp_resource_attr {
    struct otp_text key;
    bool is_int;
    struct otp_text text; /* when not is_int */
    int64_t number;       /* when is_int */
};

struct otp_resource {
    struct otp_resource_attr attrs[OTP_RESOURCE_ATTRS_MAX];
    size_t count;
    size_t used;      /* bytes of store */
    bool has_context; /* a process context was there and read */
    char store[OTP_RESOURCE_BYTES];
};

struct otp_resource_input {
    struct otp_text service_name; /* OTEL_SERVICE_NAME, or empty */
    struct otp_text attributes;   /* OTEL_RESOURCE_ATTRIBUTES, or empty */
    struct otp_text version;      /* of libotelprof */
    struct otp_text program;      /* base name of the executable, for when /proc is not there */
    const char *root;             /* put before /proc and /etc, for tests; NULL: nothing */
};

/* Gets one complete line (no newline) about input that is not used. */
typedef void (*otp_resource_report)(void *arg, const char *line, size_t len);

/*
 * Fills r for the calling process; to be done again in a fork child (pid, instance id).
 * Attributes of the user win over detected ones, except telemetry.sdk.*. report may be NULL.
 * Context: worker, init.
 */
void otp_resource_detect(struct otp_resource *r, const struct otp_resource_input *in,
                         otp_resource_report report, void *arg);

/* The attribute of that key, or NULL. */
const struct otp_resource_attr *otp_resource_find(const struct otp_resource *r, const char *key);

/*
 * Writes the base name of the program, at most room bytes; the length, 0 when unknown. started: the
 * path that the kernel was given (AT_EXECFN), or NULL. Its name is taken where it leads to the
 * executable (python3 for python3.11), not where it is a script or the loader's. Context: init.
 */
size_t otp_resource_program(char *out, size_t room, const char *root, const char *started);

/* Writes the host name, at most room bytes; the length. */
size_t otp_resource_host(char *out, size_t room);

#endif
