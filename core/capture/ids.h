/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ids of the profiles that are being collected: drawn before the flush, so that a program can
 * write them into its logs meanwhile. Read by host threads, replaced by the worker.
 */
#ifndef OTP_CAPTURE_IDS_H
#define OTP_CAPTURE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define OTP_IDS_TYPES 6 /* as in a flush */

/* Draws new ids for the next flush. Context: init, worker. */
void otp_ids_draw(void);
/* In the child of a fork: forgets a change that was under way, and draws. Context: init. */
void otp_ids_after_fork(void);
/* Copies the id of a type (NULL: "cpu") to id, unless that is NULL; false when nothing is profiled
 * or there is no such type. Context: hot. */
bool otp_ids_get(const char *type, void *id);
/* The id of profile number n of the flush, for the encoder. Context: worker. */
void otp_ids_at(uint32_t n, uint8_t out_id[16]);

#endif
