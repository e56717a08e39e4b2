/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time that threads used without being able to take a sample of it: they block all signals, or
 * the process ends before the kernel's next look at their timers. The worker books it by what is
 * known without their help, which is the function they were started with.
 */
#ifndef OTP_CAPTURE_ARREARS_H
#define OTP_CAPTURE_ARREARS_H

#include <stdbool.h>
#include <stdint.h>

/* What one thread is behind by. */
struct otp_arrears {
    uint64_t frame; /* the only frame of the stack, a frame word; 0: not even that is known */
    uint64_t count; /* periods */
    uint64_t period_ns;
    uint32_t context;
};

/*
 * Calls visit for each thread that is behind, and counts the periods as unseen. is_end: no thread
 * takes samples any more, so all that is due is meant; else only what is so much that its
 * thread cannot be about to take it. Context: worker.
 */
void otp_arrears_each(bool is_end, void (*visit)(const struct otp_arrears *a, void *arg),
                      void *arg);
/* Whether any thread is behind at all; cheap when there are few. Context: any. */
bool otp_arrears_are_there(void);

#endif
