/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the library and the tool, in the scope of each message and in `otelprof version`.
 */
#ifndef OTP_BASE_VERSION_H
#define OTP_BASE_VERSION_H

#define OTP_VERSION "0.1.0"

#endif
