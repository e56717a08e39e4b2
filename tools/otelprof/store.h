/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Received messages as files of a folder: whole or not at all, never over an existing one. A
 * message whose profiles (by their ids) are there already is not stored again, so that a sender
 * that has seen no answer may send it once more, also to another process with the same folder.
 */
#ifndef OTP_OTELPROF_STORE_H
#define OTP_OTELPROF_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/decode/model.h"

#define OTP_STORE_PATH 1536 /* room for a path or a reason */

struct otp_store {
    const char *folder;
    uint64_t count; /* files written */
    uint64_t again; /* messages that were there already */
    bool is_json;   /* what is stored is told as JSON, a line each */
};

/* The folder, made when it is not there, with is_json as the caller has set it; false: a line with
 * the reason was printed. */
bool otp_store_open(struct otp_store *s, const char *folder);
enum otp_stored {
    OTP_STORED,
    OTP_STORED_BEFORE, /* it is there already */
    OTP_NOT_STORED,    /* out_path holds the reason */
};

/* Writes the bytes of m, whose content names the file. Writes its path to out_path (OTP_STORE_PATH
 * bytes). */
enum otp_stored otp_store_add(struct otp_store *s, const struct otp_profiles *m, char *out_path);

#endif
