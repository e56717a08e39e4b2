/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which signals are the profiler's, and how the host is kept from noticing. The CPU timers use one
 * signal: SIGPROF as long as the host leaves it alone, else a real-time signal that it leaves
 * alone. Deadly signals that the host leaves at their default get a handler that writes the last
 * profile and then lets the default happen.
 *
 * I1  What the host asks about a signal of ours is answered with what was there before us.
 *
 * I2  When the host wants a signal of ours for itself it gets it, pending ticks thrown away first:
 * the timers move to another one.
 */
#ifndef OTP_CAPTURE_SIGNALS_H
#define OTP_CAPTURE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Takes a signal for the timers (if wanted) and guards the deadly ones. False: none. Context: init.
 */
bool otp_signals_start(bool wants_timer, void (*on_deadly)(void));
/*
 * Takes signo, unless the program was started with another use for it, as the one that starts and
 * stops: on_toggle is called in its handler, wherever that runs. The program gets it when it wants
 * it. To be called before otp_signals_start. Context: init.
 */
bool otp_signals_take_toggle(int signo, void (*on_toggle)(void));
/* Whether that signal is still ours. Context: any. */
bool otp_signals_has_toggle(void);
/* Puts back what was there, for signals that are still ours; no timer may run. Context: init. */
void otp_signals_stop(void);

/* Answers a question about a signal of ours: true, and old (may be NULL) filled. Context: hot. */
bool otp_signals_answer(int signo, struct sigaction *old);
/* The host is about to change signo or to use it: from here on it is as if we were not. Context:
 * hot. */
void otp_signals_before(int signo);
/* The host is about to change its mask: who blocks SIGPROF by name, not along with all others, has
 * a use for it, and gets it. Context: hot. */
void otp_signals_before_mask(int how, const sigset_t *set);
/* The host has changed signo: a deadly one that is at its default again is guarded again. */
void otp_signals_after(int signo);
/* Finds out whether a signal of ours was taken by a way that is not interposed. Context: worker. */
void otp_signals_check(void);
/* The same for the tick alone, by a thread of the host: the worker may not be there yet, as long as
 * no tick leads to us. Context: hot. */
void otp_signals_check_tick(void);
/* In a fork child: whoever held the lock is not there. Context: init. */
void otp_signals_forget_lock(void);
/*
 * What to set instead of act: with the tick blocked, in copy, where the handler runs on an
 * alternate stack, which may have no room for the frame of a tick on top. Context: hot.
 */
const struct sigaction *otp_signals_shield(int signo, const struct sigaction *act,
                                           struct sigaction *copy);
/* Takes our addition out of what the host is told. Context: hot. */
void otp_signals_hide_shield(int signo, struct sigaction *old);
/* Remembers whether signo's handler, just set, has the tick blocked by us. Context: hot. */
void otp_signals_note_shield(int signo, bool is_shielded);
/* From now on deadly signals are handled on the stack that they interrupt. Context: hot. */
void otp_signals_avoid_altstack(void);
/* Whether any handler has the tick blocked by us. Context: hot. */
bool otp_signals_has_shields(void);
/* Adds the tick to set; false: it is in there already, or there is none. Context: hot. */
bool otp_signals_add_tick(sigset_t *set);
/* Lets ticks come to the calling thread. Context: hot. */
void otp_signals_unblock_tick(void);
/* Ends the ticks of perf events for the moment. Context: hot. */
void otp_signals_quiet(void);
/* The host will wait for set: ours is taken out, after SIGPROF was given up if it is in it. */
void otp_signals_hide(sigset_t *set);

/*
 * The mask to wait with instead of mask (may be NULL): with the tick, in copy, when the calling
 * thread has it blocked. Context: hot.
 */
const sigset_t *otp_signals_wait_mask(const sigset_t *mask, sigset_t *copy);

/*
 * Takes ticks that are pending in the calling thread away; true when a signal of the same number is
 * left that is none. Context: hot.
 */
bool otp_signals_drop_pending(void);
/* Takes the tick's signal out of what sigpending says when nothing but a tick is pending. Context:
 * hot. */
void otp_signals_show_pending(sigset_t *set);
/* Takes a pending tick out of what the host is told is pending. Context: hot. */
void otp_signals_hide_pending(sigset_t *set);

#endif
