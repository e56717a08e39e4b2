/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a flush goes: files and sockets. A sink gets whole messages as bytes, already in the
 * format and the compression that its fields ask for, and knows nothing of profiles.
 *
 * I1 A message arrives whole or not at all: no reader sees part of a file under its name.
 * I2 Nothing here waits longer than the deadline that the caller gives.
 * I3 The host's SIGPIPE, descriptors, working folder and umask are not touched.
 * I4 A failure leaves status and error number in the sink; the caller logs and keeps the bytes.
 *
 * Context of everything here: worker. Deadlines and times are CLOCK_MONOTONIC nanoseconds; a
 * deadline in the past (0) means: do what can be done without waiting.
 */
#ifndef OTP_EXPORT_SINK_H
#define OTP_EXPORT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fmt.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/export/template.h"

struct otp_sink;

/* One flush, ready to go out. Borrowed for the call. */
struct otp_message {
    const void *data;
    size_t len;
    uint64_t flush; /* number from 0, for names */
};

struct otp_sink_ops {
    enum otp_status (*put)(struct otp_sink *s, const struct otp_message *m, uint64_t deadline_ns);
    enum otp_status (*pump)(struct otp_sink *s, uint64_t deadline_ns, bool is_last);
    enum otp_status (*check)(struct otp_sink *s); /* NULL: cannot be known */
    bool (*rescue)(struct otp_sink *s);           /* NULL: nothing is ever queued */
    void (*describe)(const struct otp_sink *s, struct otp_line *line);
    void (*close)(struct otp_sink *s);
    void (*abandon)(struct otp_sink *s);
};

/* The common first member of every sink. */
struct otp_sink {
    const struct otp_sink_ops *ops;
    enum otp_format format;
    enum otp_compression compression;
    int error;               /* errno of the last failure, 0 after a success */
    const char *failed_step; /* what failed, a verb: "create", "connect to"; NULL after a success */
    const char *hint;        /* what to know about it, or NULL */
    uint64_t wake_ns;        /* pump again then, at the latest; UINT64_MAX: nothing is waiting */
    uint64_t told_ns;        /* the peer wants nothing before; 0: it has not said so */
    uint64_t sent_messages;  /* delivered, as far as can be known */
    uint64_t dropped_messages;   /* taken, and given up later: no room, or closed */
    uint64_t displaced_messages; /* of these: for want of room */
    uint64_t dropped_bytes;
    uint64_t queued_messages; /* taken, not delivered yet */
    uint64_t queued_bytes;
    uint64_t unconfirmed_messages; /* sent, but perhaps not read: of protocols without receipts */
    bool is_unsure; /* of those: attempts before them failed, so they may have failed as well */
    struct otp_line note;    /* something for the log, see otp_sink_take_note */
    bool is_note_of_refusal; /* the peer said it, of a message */
    bool is_note_of_error;   /* a setting cannot be used, or a message is lost */
    bool is_hopeless;        /* what it is to write to will never take a message */
};

/*
 * Looks ahead whether a message could be delivered, without leaving a trace: a wrong folder is
 * better told at the start than after an hour. OTP_OK also when that cannot be known.
 */
OTP_MUST_CHECK enum otp_status otp_sink_check(struct otp_sink *s);

/*
 * Hands over one message. OTP_OK: it is delivered. OTP_AGAIN: the sink has a copy and goes on
 * with it in pump. Anything else: it was not taken, the caller may try again or drop it.
 */
OTP_MUST_CHECK enum otp_status otp_sink_put(struct otp_sink *s, const struct otp_message *m,
                                            uint64_t deadline_ns);

/*
 * Goes on with what is queued until nothing is left (OTP_OK) or the deadline (OTP_AGAIN).
 * is_last: the process ends, so a pause between attempts is cut short.
 */
enum otp_status otp_sink_pump(struct otp_sink *s, uint64_t deadline_ns, bool is_last);

/*
 * At the end of the process, when the time is up: what is queued goes into the spool, if there is
 * one. False: something is left, and describe says so.
 */
bool otp_sink_rescue(struct otp_sink *s);

/*
 * Takes a line that belongs into the log: a refusal, a partial success, a spool that cannot be
 * used. False: there is none.
 */
bool otp_sink_take_note(struct otp_sink *s, struct otp_line *out);

/* Adds "cannot <step> <target>: <error text>" about the last failure to line; the target alone when
 * there was none since the last success. */
void otp_sink_describe(const struct otp_sink *s, struct otp_line *line);

/* Ends the sink; what is still queued is dropped and counted. */
void otp_sink_close(struct otp_sink *s);

/*
 * Ends a fork child's copy of the sink: descriptors are closed, the parent's connection goes on,
 * and the queue, whose memory a child does not have, is forgotten. Context: init, worker.
 */
void otp_sink_abandon(struct otp_sink *s);

/* The text of an errno value, for messages. Context: any. */
const char *otp_errno_text(int error);

#define OTP_SHOWN_TARGET_MAX 256U /* bytes of a target in a message */

/* What describe does for each kind of sink, with "file ", "unix:" or the like before the target. */
void otp_sink_describe_target(const struct otp_sink *s, const char *kind, struct otp_text target,
                              struct otp_line *line);

/* ---- files ---- */

struct otp_sink_file_options {
    struct otp_text name;      /* the template; must outlive the sink */
    struct otp_text base_path; /* absolute folder for relative names, or empty: base_fd is used */
    int base_fd;               /* folder descriptor for relative names (AT_FDCWD allowed) */
    struct otp_text program;   /* for %e and %h; must outlive the sink */
    struct otp_text host;
    uint64_t start_ns; /* for %t, realtime */
};

struct otp_sink_file {
    struct otp_sink base;
    struct otp_sink_file_options options;
    bool is_named; /* a message has got the plain name: the next ones carry a number */
    uint64_t temp_count;
    char path[OTP_PATH_MAX];   /* of the last file that was written, or tried */
    char folder[OTP_PATH_MAX]; /* where it lies */
    char temp[OTP_NAME_MAX + 1];
};

/* A file sink on the caller's storage; format and compression are read from the name. */
void otp_sink_file_init(struct otp_sink_file *f, const struct otp_sink_file_options *options);

#endif
