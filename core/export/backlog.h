/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sink has taken and not delivered: a bounded queue in memory, a spool on disk behind it
 * when there is one, and the time of the next attempt. Sinks that need a peer share it.
 *
 * I1 The newest is kept: what has no room gives way oldest first, into the spool or counted as
 *    dropped.
 * I2 After a failure everything goes into the spool, so that it survives the process; what the
 *    spool does not take stays in memory.
 * I3 A message that came from the spool keeps its file, locked, until it is finished or shed.
 *
 * Context of everything here: worker.
 */
#ifndef OTP_EXPORT_BACKLOG_H
#define OTP_EXPORT_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/export/queue.h"
#include "core/export/sink.h"
#include "core/export/spool.h"

#define OTP_BACKLOG_TAKEN_MAX 2 /* files of the spool at once: the one that is sent, one before */

struct otp_backlog_options {
    struct otp_heap *heap;
    size_t queue_bytes; /* most that may be queued in memory */
    uint64_t backoff_min_ns;
    uint64_t backoff_max_ns;
};

struct otp_backlog {
    struct otp_sink *sink; /* its counts and its note are kept here */
    struct otp_backlog_options options;
    struct otp_queue queue;
    unsigned failures; /* attempts in a row that came to nothing */
    uint64_t retry_ns; /* no attempt before */
    uint64_t told_ns;  /* the peer wants none before; 0: it has not said so */

    struct otp_spool spool;
    bool has_spool;
    struct otp_spooled taken[OTP_BACKLOG_TAKEN_MAX];
    uint64_t spool_ns; /* look into it then */
    uint64_t spool_dropped_seen;
    bool is_spool_failing; /* and a note has said so */
};

void otp_backlog_init(struct otp_backlog *b, struct otp_sink *sink,
                      const struct otp_backlog_options *options);

/* Where a spool is, and whose. */
struct otp_backlog_spool {
    struct otp_text folder;      /* empty: there is none; may be relative to base_path */
    struct otp_text base_path;   /* absolute */
    struct otp_text service;     /* the service and the destination tell spools apart; so do */
    struct otp_text destination; /* the sink's format and compression, which must be set by now */
};

void otp_backlog_open_spool(struct otp_backlog *b, const struct otp_backlog_spool *where);

/*
 * Makes room in memory for len more bytes. is_under_way: bytes of the oldest message are on their
 * way. False: only that one is left and must go; the caller gives it up and calls again.
 */
bool otp_backlog_make_room(struct otp_backlog *b, size_t len, bool is_under_way);
/* Appends a copy of m; false: no memory. */
bool otp_backlog_append(struct otp_backlog *b, const struct otp_message *m);
/*
 * After an append: while the next attempt is not due yet, and the sink has no connection, messages
 * wait in the spool rather than in memory.
 */
void otp_backlog_settle(struct otp_backlog *b, bool is_idle);
/* Is there a message to send? Takes the oldest out of the spool when memory has none and its time
 * has come. */
bool otp_backlog_has_next(struct otp_backlog *b);

/* Takes the oldest out, to be finished, put back, shed or dropped by the caller. */
struct otp_queue_item *otp_backlog_take(struct otp_backlog *b);
void otp_backlog_put_back(struct otp_backlog *b, struct otp_queue_item *item);
/* It is delivered, or refused for good. NULL is fine. */
void otp_backlog_finish(struct otp_backlog *b, struct otp_queue_item *item);
/* As finish, and counted as dropped. */
void otp_backlog_drop(struct otp_backlog *b, struct otp_queue_item *item);

/* Something arrived: the next attempt needs no pause. */
void otp_backlog_succeeded(struct otp_backlog *b);
/*
 * An attempt failed: sets the time of the next one and moves everything into the spool. What the
 * peer asks for (is_told, wait_ns from now) makes the pause longer than it would be, never shorter.
 */
void otp_backlog_failed(struct otp_backlog *b, bool is_told, uint64_t wait_ns);
/* The process ends: the next attempt comes pause_ns from now at the latest, if the peer has not
 * asked for more. */
void otp_backlog_hurry(struct otp_backlog *b, uint64_t pause_ns);
/* Moves everything into the spool, if there is one; false: something is left in memory. */
bool otp_backlog_rescue(struct otp_backlog *b);

/* When there is something to do for a sink without a connection: UINT64_MAX for never. */
uint64_t otp_backlog_wake_ns(const struct otp_backlog *b);
/* Writes the sink's counts of what is queued. */
void otp_backlog_publish(struct otp_backlog *b);
/* The end: what is left goes into the spool or is dropped. */
void otp_backlog_close(struct otp_backlog *b);
/* In a fork child: the queue is forgotten, locks stay the parent's. */
void otp_backlog_abandon(struct otp_backlog *b);

#endif
