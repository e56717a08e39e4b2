/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine share; nobody else includes this. */
#ifndef OTP_ENGINE_STATE_H
#define OTP_ENGINE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/conf/conf.h"
#include "core/export/template.h"

/* Of the memory limit, one part in so many is for accounts of spans and labels. */
#define OTP_ENGINE_TAG_PART 8

/* What a waiting host thread asks of the worker. QUIET: no tick may come from the worker's events
 * any more. */
enum otp_request {
    OTP_REQUEST_FLUSH = 1,
    OTP_REQUEST_STOP = 2,
    OTP_REQUEST_PAUSE = 4,
    OTP_REQUEST_QUIET = 8
};

struct otp_engine {
    struct otp_conf conf;
    int pid; /* of the process that this state is for */
    bool is_fork_child;
    uint64_t start_ns;      /* wall clock when capturing began */
    char cwd[OTP_PATH_MAX]; /* at that moment; "" when unknown */
    size_t cwd_len;
    char exe[OTP_PATH_MAX]; /* what the kernel was told to execute; "" when it does not fit */
    char program[OTP_NAME_MAX + 1]; /* base name */
    size_t program_len;

    uint32_t requested; /* grows with each request (pairs: ENGINE-REQUEST) */
    uint32_t request;   /* enum otp_request bits, taken by the worker */
    uint32_t done;      /* requests answered; futex (pairs: ENGINE-DONE) */

    uint32_t is_wished;       /* 1: samples shall be taken; atomic (pairs: WISH) */
    uint32_t is_flush_wished; /* atomic (pairs: WISH) */
    /* The worker's. */
    bool is_asleep;        /* stopped, and what there was is written */
    bool has_slept;        /* the process was dormant at some time */
    bool is_budget_new;    /* the budget's clocks are those of another process */
    uint64_t samples_told; /* taken by then */
    uint32_t rate_level;   /* halvings of the rates that the budget demands */
};

extern struct otp_engine otp_engine;

/* Remembers what standard error is, before the program can change it. Context: init. */
void otp_engine_log_start(void);
/* One line to where OTELPROF_LOG_FILE says, if the level is wanted. Context: init, worker. */
void otp_engine_log(enum otp_log_level level, const char *text, size_t len);

/* The same with a number in it. Context: init, worker. */
void otp_engine_log_number(enum otp_log_level level, const char *before, uint64_t number,
                           const char *after);

/* Starts the worker unless there is one; called when there is something to do. Context: hot. */
void otp_worker_ensure(void);
/* CPU time of the worker, and of those before it in this process. Context: worker. */
uint64_t otp_worker_cpu_ns(void);
/* What of it went into requests to the control socket, which no rate changes. Context: worker. */
uint64_t otp_worker_asked_ns(void);
/* True when there is no worker and will be none. Context: any. */
bool otp_worker_has_failed(void);
/* Waits until the worker is gone, after it was asked to stop or pause; not for ever. Context: init.
 */
void otp_worker_join(void);
/* No worker is started while this is on. Context: init. */
void otp_worker_hold(bool is_held);
/* Starts the worker and waits until descriptors and folders are its own. Context: init. */
void otp_worker_settle(void);
/* Does a last flush in the calling thread, on the worker's stack: when there is no worker. Context:
 * init. */
void otp_worker_flush_here(void);
/* Forgets the worker of the parent. Context: init, in a fork child. */
void otp_worker_forget(void);
/* True when the calling thread is the worker. Context: any. */
bool otp_worker_is_self(void);

#endif
