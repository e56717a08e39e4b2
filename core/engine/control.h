/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: one request a connection, served by the worker in its own time.
 *
 * It is a sequenced-packet socket in the abstract namespace, so that there is no file that could be
 * left over, replaced, or be on a read-only or foreign file system: "otelprof.PID", or the same
 * with
 * ".1" to ".7" behind it when the name is taken. Whoever connects is asked of the kernel who it is,
 * and so should the other side do, since anybody can take a name.
 *
 * I1  Only root and the user that the process runs as are answered anything but a refusal.
 *
 * I2  Nothing waits for a client: each has a second to ask, the answer is one packet, and a few are
 * served at a time.
 */
#ifndef OTP_ENGINE_CONTROL_H
#define OTP_ENGINE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the socket if the settings want one. Context: worker, as all of these. */
void otp_control_open(void);
/* Closes it, and drops who is connected. */
void otp_control_close(void);
/* Answers what was asked meanwhile; true when something may have to be done sooner for that. */
bool otp_control_serve(void);
/* The longest that the worker should wait until the next look. */
uint64_t otp_control_pause_ns(void);

#endif
