/* SPDX-License-Identifier: Apache-2.0 */
/* What syscall(2) leaves to fork.c. */
#ifndef OTP_PRELOAD_FORK_H
#define OTP_PRELOAD_FORK_H

#include <stdbool.h>

/* fork, or a clone or clone3 that copies the process and goes on on the same stack. Context: init.
 */
long otp_syscall_fork(long number, long a, long b, long c, long d, long e);
/* Whether clone3 with these arguments is one. Context: init. */
bool otp_syscall_is_copy(long args, long bytes);

#endif
