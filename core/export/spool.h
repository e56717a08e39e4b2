/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that could not be delivered, as files of a folder that outlives the process. Whoever
 * has the same key (service, destination, encoding) may take and deliver them; one that is being
 * delivered is locked, and a lock ends with its process.
 *
 * otelprof-KEY-TIME-PID-N.otlp (.gz, .zst, .jsonl): TIME in nanoseconds since 1970, 20 digits, so
 * that names sort by age. Each file is what a file output would have written. It is written as
 * .tmp- and that name; what a killed process leaves of that is removed after an hour.
 *
 * I1 A file appears whole or not at all, readable for its owner only.
 * I2 The files of one key stay within a size and a count: the oldest give way.
 *
 * Context of everything here: worker.
 */
#ifndef OTP_EXPORT_SPOOL_H
#define OTP_EXPORT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"
#include "core/export/fd.h"
#include "core/export/queue.h"

#define OTP_SPOOL_NAME_MAX 128
#define OTP_SPOOL_KEY_LEN 16
#define OTP_SPOOL_TIME_AT 26 /* where in a file's name its time begins */
#define OTP_SPOOL_BYTES_MAX ((uint64_t)64 << 20)
#define OTP_SPOOL_FILES_MAX 1024

/* A file of a spool that is locked because it is being delivered. */
struct otp_spooled {
    struct otp_fd fd; /* OTP_FD_NONE: none */
    char name[OTP_SPOOL_NAME_MAX];
};

struct otp_spool {
    char folder[4096]; /* absolute; "" : there is no spool */
    char key[OTP_SPOOL_KEY_LEN + 1];
    char extension[16];
    uint64_t bytes_max;
    unsigned files_max;
    uint32_t number;  /* of the next file of this process */
    uint64_t dropped; /* files that gave way */
    int error;        /* errno of the last failure, 0 after a success */
};

struct otp_spool_options {
    struct otp_text folder;    /* may be relative to base_path */
    struct otp_text base_path; /* absolute */
    struct otp_text identity;  /* any bytes that tell services and destinations apart */
    struct otp_text extension; /* ".otlp.gz" */
};

/* Is that the name of a file of a spool, of any key? Context: any. */
bool otp_spool_is_name(const char *name);
/* Sets s up; the folder is made when it is missing and its parent is there. False: no spool. */
bool otp_spool_init(struct otp_spool *s, const struct otp_spool_options *options);
/* Keeps one message. OTP_TOO_LARGE, or OTP_IO (s->error). */
OTP_MUST_CHECK enum otp_status otp_spool_put(struct otp_spool *s, const void *data, size_t len);
/*
 * Takes the oldest message that nobody else has and that there is memory for, into an item of q's
 * heap (not yet in q), and locks its file, *out, until done or release. NULL: there is none. Files
 * of another user are none of ours.
 */
struct otp_queue_item *otp_spool_take(struct otp_spool *s, const struct otp_queue *q,
                                      struct otp_spooled *out);
/*
 * The taken message is delivered or refused for good: its file goes. False: it cannot be removed
 * (s->error), so nothing is taken from this spool any more: it would be delivered again and again.
 */
bool otp_spool_done(struct otp_spool *s, struct otp_spooled *f);
/* The taken message stays for another time. */
void otp_spool_release(struct otp_spooled *f);

#endif
