/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and stop of sampling while the process runs. A host thread only writes down what is wished
 * (one word) and wakes the worker; everything else is done there, so that it cannot matter which
 * thread wished it, in which signal handler, or how often.
 */
#ifndef OTP_ENGINE_POWER_H
#define OTP_ENGINE_POWER_H

#include <stdbool.h>

/* How to wish. Context: hot, signal handlers included. */
void otp_power_wish(bool is_on);
void otp_power_wish_toggle(void);
void otp_power_wish_flush(void);
/*
 * What the program asks for: a wish, and a wait of a tenth of a second at most until it has come
 * true. False: it has not, or this process is not profiled. Context: as above.
 */
bool otp_power_ask(bool is_on);
/* Without a wait. False: no samples are taken here. Context: as above. */
bool otp_power_ask_flush(void);

/* Does what is wished; false: nothing was. Context: worker. */
bool otp_power_obey(void);
/* Says, once, when the program has taken the signal that starts and stops. Context: worker. */
void otp_power_check_signal(void);
/* Whether sampling has begun since the last call. Context: worker. */
bool otp_power_take_begun(void);
/* False: the process is dormant and nothing was sampled since that was written. Context: worker. */
bool otp_power_has_news(void);

#endif
