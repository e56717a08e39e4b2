/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One timer per thread, on that thread's CPU clock, whose signal goes to that thread; and the
 * periods of that clock, which are what samples stand for.
 *
 * I1  A thread's word `due` holds an epoch (16 bits) and the number of ends of periods told (48).
 * Its parity says which of two paces is in force. A pace is written while it is not, and put in
 * force by the word (pairs: PACE): who has read the word and the pace and then changes the word by
 * compare and swap has seen both together.
 *
 * I2  A pace is replaced by the worker, or by whoever has claimed the start of the timer.
 *
 * I3  has_timer: NONE -> STARTING -> RUNS -> CHANGES -> RUNS by who wins the compare and swap; to
 * NONE by anybody, who then deletes the timer, except that of a start, which deletes it itself.
 */
#ifndef OTP_CAPTURE_TIMER_H
#define OTP_CAPTURE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture/thread.h"

enum otp_timer_state {
    OTP_TIMER_NONE = 0,
    OTP_TIMER_RUNS = 1,
    OTP_TIMER_STARTING = 2,
    OTP_TIMER_CHANGES = 3
};

/*
 * Arms the timer of t. Its first period ends at a random moment within one period from now, so that
 * threads of any length are sampled in proportion; where another thread has left one, with regard
 * to that (phase.h). A thread that has periods already goes on with them. Nothing happens when
 * there is a timer, or another thread starts it just now. Can be called from another thread (the
 * kernel lets any thread of the process arm a timer on a thread's clock). False and counted when
 * the kernel refuses. Context: hot.
 */
bool otp_timer_start(struct otp_thread *t);
/* The same for a thread whose first period begins with its life. Context: hot. */
bool otp_timer_start_from_birth(struct otp_thread *t);
/*
 * The same for a record that nobody knows yet and that becomes tid's: it is the worker's from then
 * on, whatever the kernel says. False: it shall have no timer, and is still the caller's, to be
 * given back. Context: hot.
 */
bool otp_timer_start_for(struct otp_thread *t, int32_t tid);
/*
 * Ends of periods up to now (a reading of the thread's CPU clock) that no sample stands for yet.
 * The clock is what counts, not the expiries: the kernel looks at CPU timers at its own ticks only,
 * so that an expiry can come late, together with others, or not at all before the thread ends.
 * Context: hot.
 */
uint64_t otp_timer_due(const struct otp_thread *t, uint64_t now_ns);
/*
 * Takes what is due by now: how many periods, and how long each is; 0 when nothing is due or
 * another thread has just taken it. The thread itself and the worker may both come for it. Context:
 * hot.
 */
uint64_t otp_timer_take(struct otp_thread *t, uint64_t now_ns, uint64_t *out_period_ns);
/*
 * The same for those only that ended after since; 0: all. What ended before stays due. At most so
 * many are taken. Context: hot.
 */
uint64_t otp_timer_due_since(const struct otp_thread *t, uint64_t since_ns, uint64_t now_ns);
uint64_t otp_timer_take_since(struct otp_thread *t, uint64_t since_ns, uint64_t now_ns,
                              uint64_t most, uint64_t *out_period_ns);
/* The thread ends: another may go on with its period from now_ns on, a reading of its clock up to
 * which all is told. Context: hot. */
void otp_timer_hand_on(const struct otp_thread *t, uint64_t now_ns);
/* Reads the CPU clock of any thread of the process; false when it is gone. Context: any. */
bool otp_timer_clock(const struct otp_thread *t, uint64_t *out_ns);
/* Deletes the timer, if any. Context: hot. */
void otp_timer_stop(struct otp_thread *t);
/*
 * The worker makes a record for a thread that nobody has announced: to be called once the record
 * has its tid, before its timer starts. False: the thread has a record of its own after all.
 * Context: worker.
 */
bool otp_timer_may_adopt(const struct otp_thread *t);
/*
 * Ends the periods of what the worker has made for the calling thread, which makes itself known as
 * t, and has started t's timer. Of the two calls at least one sees the other. Context: hot.
 */
void otp_timer_end_adopted(const struct otp_thread *t);
/* Deletes the timers of all threads and ends their periods. Context: init, worker. */
void otp_timer_stop_all(void);
/* Ends the periods of t. Context: hot, init. */
void otp_timer_forget(struct otp_thread *t);
/*
 * Gives t periods of another length from now_ns on, a reading of its CPU clock at a moment that has
 * nothing to do with its ticks. Context: worker.
 */
void otp_timer_change(struct otp_thread *t, uint64_t now_ns, uint64_t period_ns);
/* Starts the timers of all threads that are known and have none. Context: worker. */
void otp_timer_start_all(void);
/*
 * Gives all running timers the period of the settings. What was due by then stays due, in new
 * periods, so that the sum over a change is true. A timer that is being started or stopped just now
 * is left for the next call. Context: worker.
 */
void otp_timer_follow_all(void);
/* The value that t's timer sends with its signal: names record and generation. Context: any. */
uint64_t otp_timer_cookie(const struct otp_thread *t);
/* Whether a signal's value is one that a timer of ours sends. Context: any. */
bool otp_timer_is_cookie(uint64_t value);
/* The record that a timer's signal value names; NULL when it names none. Context: hot. */
struct otp_thread *otp_timer_thread(uint64_t cookie);

#endif
