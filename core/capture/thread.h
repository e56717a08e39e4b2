/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of each host thread. Records live in chunks that are never unmapped; a record is
 * reused when its thread is gone and its ring drained.
 *
 * I1  A record is owned by its thread from otp_thread_attach on; fields without a note are that
 * thread's.
 *
 * I2  state: FREE -> LIVE by whoever claims it (compare and swap), LIVE -> ENDED by the thread or
 * by the worker when the thread is gone, ENDED -> FREE by the worker alone, after the last drain.
 *
 * I3  busy is set while the thread is inside capture; its own signal handler then leaves everything
 * alone.
 */
#ifndef OTP_CAPTURE_THREAD_H
#define OTP_CAPTURE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/capture/context.h"
#include "core/capture/cost.h"
#include "core/ring/ring.h"

enum otp_thread_state { OTP_THREAD_FREE = 0, OTP_THREAD_LIVE = 1, OTP_THREAD_ENDED = 2 };

/*
 * Periods on a thread's CPU clock. The first may lie before the clock's 0, when periods of another
 * length were still due at the change.
 */
struct otp_pace {
    int64_t first_ns;   /* reading of the clock when the first period ends */
    int64_t origin_ns;  /* and when one begins in which others may have had a part: see phase.h */
    uint64_t period_ns; /* 0: no periods */
};

/* The mask of a thread while it forks. */
struct otp_fork {
    uint64_t mask;  /* signals blocked before */
    bool is_masked; /* and the tick's is blocked since, too */
};

/* Whether and why a thread has no ticks. */
enum otp_off {
    OTP_OFF_NOT = 0,
    OTP_OFF = 1,     /* its alternate stack is too small for one, or another record is its own */
    OTP_OFF_LOST = 2 /* the memory of its alternate stack was freed */
};

struct otp_thread {
    uint32_t state;      /* enum otp_thread_state, atomic */
    uint32_t generation; /* grows with each reuse; part of the timer's cookie */
    uint32_t number;     /* of this record */
    int32_t tid;         /* 0: nobody's yet, and always while FREE (pairs: THREAD-TID) */
    uint32_t busy;
    uint32_t context;     /* atomic: the worker corrects it when the name changed behind our back */
    uint32_t names_epoch; /* of its name */
    uint32_t has_own_name; /* the program named it for us: the kernel's name does not count */
    uintptr_t busy_sp;     /* host stack pointer when busy was set */
    uint32_t scratch;      /* scratch stack in use while busy, plus 1 */
    uint32_t has_timer;    /* enum otp_timer_state, atomic */
    uint32_t is_adopted;   /* made by the worker for a thread that may make one of its own */
    uint32_t is_off;       /* enum otp_off, atomic */
    uint32_t is_ticking; /* atomic: the handler of its tick runs, perhaps on its alternate stack */
    uint32_t has_stale;  /* atomic: a tick may be pending since before it was off */
    uintptr_t alt_low;   /* alternate signal stack; both 0 when there is none; written by the */
    uintptr_t alt_high;  /* thread, read by all: see altstack_hot.c */
    int32_t timer_id;
    struct otp_pace pace[2]; /* the one in force, which due names, and the one before or after it */
    uint64_t due;            /* epoch of the pace, ends of its periods told; atomic, see timer.h */
    uint64_t timer_seen_ns;  /* reading of its CPU clock up to which the timer's ticks have told
                                whose the time is; see tick_hot.c */
    uint64_t user_us;        /* that it had used at the timer's last tick, in a thread with a */
    uint64_t system_us;      /* perf event */
    uint64_t waits;          /* that it had begun, by the kernel's count, */
    uint64_t waits_ns;       /* at this reading of its CPU clock */
    uint32_t is_waiter;      /* atomic: it waits too often for a perf event; see tick_hot.c */
    uint64_t put_off_ns;     /* reading of it at the last tick that could not be booked */
    uintptr_t last_leaf;     /* function that the thread has returned from when it ends; 0: none */
    uint64_t random;         /* state of the generator; whoever starts the timer uses it */
    struct otp_cost cost;    /* written by the thread, added up by the worker */
    uintptr_t stack_low;     /* known stack; both 0 when none is known */
    uintptr_t stack_high;
    struct otp_ring *ring;    /* made by the thread, read by the worker (pairs: RING-BIRTH) */
    void *(*start)(void *);   /* what pthread_create was given, for the start of the thread */
    int (*start_c11)(void *); /* or thrd_create */
    void *start_arg;
    size_t start_stack_bytes;
    char start_name[OTP_THREAD_NAME_MAX];
    struct otp_fork fork; /* of the C library's fork, which its handlers are told nothing about */
    int perf_fd;          /* of the worker, plus 1; 0: none. The worker's field */
    int perf_signo;       /* that it sends */
    uint32_t quiet_round; /* in which it was last seen outside capture; the worker's */
};

/* A tick marks what it finds; what is set or changed after it is new again. */
enum otp_has { OTP_HAS_NONE = 0, OTP_HAS_NEW = 1, OTP_HAS_SEEN = 2 };

/*
 * Addresses that look like sampled blocks and were found not to be, with the number of samples that
 * had been followed by then: see alloc_hot.c.
 */
#define OTP_MISSES 4U
struct otp_miss {
    uintptr_t addr;
    uint64_t followed;
};

/* Thread-local part, small and in initial-exec TLS, so that reading it is one instruction. */
struct otp_tls {
    uint64_t countdown;        /* bytes until the next heap sample */
    uint64_t random;           /* state of the generator of gaps; 0: not seeded */
    uint32_t gap;              /* enum otp_gap: what the countdown leads to */
    uint32_t interval;         /* number of the interval that it was drawn with; see alloc.h */
    struct otp_thread *thread; /* NULL: not attached yet */
    uint32_t is_refused;       /* there was no record for this thread */
    struct otp_miss misses[OTP_MISSES];
    uintptr_t jump_pc;         /* where a jump off an alternate stack goes on; see altstack.h */
    uint32_t has_span;         /* enum otp_has: the program has set one, the two ids below */
    uint32_t has_labels;       /* enum otp_has: there are some in labels */
    uint64_t since_ns; /* reading of its CPU clock; what a tick has seen has been so since then */
    uint64_t span[3];  /* trace id, span id */
    struct otp_labels *labels; /* NULL: none were ever pushed, or the thread is at its end */
};

/* What the thread that ended last gave to exit(2): the status of a process all of whose threads end
 * in that way. */
extern uint32_t otp_last_exit_status;

/* Grows when a thread renames another: each then asks for its name at its next sample. */
extern uint32_t otp_names_epoch;
/* Threads may have got other names by a write to a file, which nobody sees: each asks for its own
 * at its next sample. Context: any. */
void otp_thread_ask_names(void);

extern __thread struct otp_tls otp_tls __attribute__((tls_model("initial-exec")));

/* A free record, made LIVE; NULL when there is none. Context: hot. */
struct otp_thread *otp_thread_claim(void);
/* Gives a record back that no thread uses. Context: hot. */
void otp_thread_unclaim(struct otp_thread *t);
/* Makes t the calling thread's record. stack_bytes: size of its stack, 0 unknown. Context: hot. */
void otp_thread_attach(struct otp_thread *t, size_t stack_bytes);
/* The calling thread's record, claimed and attached when it has none yet; may be NULL. Context:
 * hot. */
struct otp_thread *otp_thread_current(void);
/* Puts what the thread will run into a new record; name and stack size go with it. Context: hot. */
void otp_thread_prepare(struct otp_thread *t, void *(*start)(void *), void *arg,
                        size_t stack_bytes);
/* First act of a new thread whose record is t: attaches and arms the timer. Context: hot. */
void otp_thread_begin(struct otp_thread *t);
/* Start routine of a thread whose record is arg. Context: hot. */
void *otp_thread_run(void *arg);
/* Sets the name that the calling thread's samples carry from now on. Context: hot. */
void otp_thread_set_name(struct otp_thread *t, const char *name);
/* The name that the program wants the calling thread to have in profiles; NULL: the kernel's.
 * Context: hot, but not in a signal handler. */
void otp_thread_name_for_profiles(const char *name);
/* The calling thread has left its start routine. What it still runs, destructors and clean-up
 * handlers, is sampled; once it is gone the record is the worker's. Context: hot. */
void otp_thread_end(void);
/* Record number n, or NULL when there are fewer. Context: any. */
struct otp_thread *otp_thread_get(uint32_t n);
/* Gives the record of a thread that is gone back, its ring drained. Context: worker. */
void otp_thread_recycle(struct otp_thread *t);
/* In the child of a fork: all threads but the caller are gone. Context: init. */
void otp_thread_forget_others(void);
/* Whether no other thread is known, or about to begin. Context: init. */
bool otp_thread_is_alone(void);

/* The thread's ring, made on first use; NULL: no memory. Only inside capture. Context: hot. */
struct otp_ring *otp_thread_ring(struct otp_thread *t);
/* Wakes the worker when the ring has just become half full. Context: hot. */
void otp_thread_wake_at_half(const struct otp_ring *r, uint64_t used_before);

/* From here on threads are looked for that are inside capture since. Context: worker. */
void otp_quiet_begin(void);
/* True when each thread was seen outside capture at least once since. Context: worker. */
bool otp_quiet_is_over(void);

/* Whether its CPU time is told: by ticks, or without stacks since it is off. Context: any. */
OTP_INLINE bool otp_thread_is_told(const struct otp_thread *t)
{
    return otp_load_acquire(&t->has_timer) != 0 || otp_load_acquire(&t->is_off) != OTP_OFF_NOT;
}

/* Marks the thread as inside capture; false when it already is. Context: hot. */
bool otp_thread_enter(struct otp_thread *t, uintptr_t host_sp);
/* Ends what otp_thread_enter began. Context: hot. */
void otp_thread_leave(struct otp_thread *t);

#endif
