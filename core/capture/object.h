/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loaded objects that were seen in stacks, numbered. A number stands for one object at one
 * place for ever, so a frame that carries it can be named after the object is gone, and an object
 * loaded later at the same address gets another number.
 *
 * I1  An object record never changes once its number was given out (pairs: OBJECT-PUBLISH).
 *
 * I2  Everything is read from the object's memory while a frame of it is on the stack, so it is
 * mapped.
 */
#ifndef OTP_CAPTURE_OBJECT_H
#define OTP_CAPTURE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTP_OBJECT_NAME_MAX 232
#define OTP_OBJECT_BUILD_ID_MAX 32
#define OTP_OBJECT_NONE 0U

struct otp_object {
    uintptr_t start; /* run-time range */
    uintptr_t end;
    uintptr_t bias;         /* run-time address = ELF virtual address + bias */
    uintptr_t eh_frame_hdr; /* 0: none */
    uintptr_t map;          /* the loader's link_map, for identity only */
    uint32_t epoch;         /* unload epoch in which it was last found unchanged */
    uint16_t name_len;
    uint8_t build_id_len;
    uint8_t is_main; /* the program itself: the loader gives it no name */
    uint8_t build_id[OTP_OBJECT_BUILD_ID_MAX];
    char
        name[OTP_OBJECT_NAME_MAX]; /* as the loader names it; cut when longer, not NUL-terminated */
};

/* What a look-up of one address gives; enough for unwinding. */
struct otp_object_range {
    uintptr_t start;
    uintptr_t end;
    uintptr_t eh_frame_hdr;
    uint32_t number; /* OTP_OBJECT_NONE: seen but not numbered (table full) */
};

/* Finds the object that holds pc and its number. False: no object does. Context: hot. */
bool otp_object_find(uintptr_t pc, struct otp_object_range *out);
/* The number of an object described by the caller. Context: init, worker. */
uint32_t otp_object_number(const struct otp_object *o);
/* Copies the GNU build id out of len bytes of ELF notes, if it is there. Context: hot. */
void otp_object_read_build_id(struct otp_object *o, const void *notes, size_t len);
/* The record of a number that was given out; NULL for OTP_OBJECT_NONE or a wrong one. Context: any.
 */
const struct otp_object *otp_object_get(uint32_t number);

#endif
