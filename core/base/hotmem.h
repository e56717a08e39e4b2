/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for hot code: mapped in large pieces, counted against one limit, never given back while
 * the process lives, because a host thread may be using it at any moment.
 */
#ifndef OTP_BASE_HOTMEM_H
#define OTP_BASE_HOTMEM_H

#include <stddef.h>

/* The most that hot code may map in all, in bytes. Context: init. */
void otp_hotmem_set_limit(size_t bytes);
/* That many bytes. Context: any. */
size_t otp_hotmem_limit(void);
/* Zeroed pages, or NULL past the limit or when the system has none. Context: hot. */
void *otp_hotmem_map(size_t bytes);
/* Returns a piece that no other thread has seen yet. Context: hot. */
void otp_hotmem_unmap(void *p, size_t bytes);
/* A pointer of any type that threads share. */
typedef void *__attribute__((may_alias)) otp_hotmem_slot;
/*
 * The piece that *slot points to, mapped by whoever comes first when there is none yet (acquire and
 * release). What threads map at the same moment and give back again is not counted: one large piece
 * that fits is had by all of them. NULL as above. Context: hot.
 */
void *otp_hotmem_share(otp_hotmem_slot *slot, size_t bytes);
/* Bytes mapped now. Context: any. */
size_t otp_hotmem_used(void);

#endif
