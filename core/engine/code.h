/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where code made at run time lies. A frame in no loaded object is either in such code or no frame
 * at all: an unwinder that was misled takes any word for a return address. Only the maps tell.
 */
#ifndef OTP_ENGINE_CODE_H
#define OTP_ENGINE_CODE_H

#include <stdint.h>

#include "core/base/heap.h"

/* Forgets all that is known. Context: worker, as all of these. */
void otp_code_forget(void);
/* A new look at the rings: maps may be read again. */
void otp_code_begin(void);
/*
 * How many frames of a stack, leaf first, are in front of the first that is in no executable
 * mapping, now or at an earlier look; at least 1 of a stack that has any. Reads maps, with memory
 * of heap, when it meets an address that is new.
 */
uint32_t otp_code_depth(struct otp_heap *heap, const uint64_t *frames, uint32_t depth);

#endif
