/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the interactive page, as files of this folder put into the program. */
#ifndef OTP_OTELPROF_FLAME_PAGE_H
#define OTP_OTELPROF_FLAME_PAGE_H

/* NUL-terminated. */
extern const char otp_flame_page_css[];
extern const char otp_flame_page_html[];
extern const char otp_flame_page_js[];

#endif
