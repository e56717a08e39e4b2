/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampled blocks that the program has freed, kept for the next samples. They are the allocator's
 * own blocks, in use as far as it knows. Asking it for an aligned block each time would make it
 * join its small free blocks up and leave gaps, which slows the program's other calls down.
 *
 * I1  A few of each size, 32 KiB of a size at most. Blocks at low addresses are preferred: they
 * keep the allocator from giving less memory back to the system.
 *
 * I2  A slot belongs to whoever cleared its bit, in `full` to take and in `vacant` to put.
 */
#ifndef OTP_CAPTURE_STASH_H
#define OTP_CAPTURE_STASH_H

#include <stddef.h>

/* Size of block to ask the allocator for, so that it fits the stash later: size or a little more.
 * Context: any. */
size_t otp_stash_size(size_t size);
/* A block for at least size bytes, contents undefined; NULL: none. Context: hot. */
void *otp_stash_take(size_t size);
/* Keeps block, which has room for usable bytes. What is to be given back to the allocator instead:
 * block, another one, or NULL. Context: hot. */
void *otp_stash_put(void *block, size_t usable);

#endif
