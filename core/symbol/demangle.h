/* SPDX-License-Identifier: Apache-2.0 */
/* Readable names from those that C++ (Itanium ABI) and Rust (legacy and v0) compilers emit. */
#ifndef OTP_SYMBOL_DEMANGLE_H
#define OTP_SYMBOL_DEMANGLE_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/text.h"

/*
 * Appends the readable form of raw to out and returns true. False, with out as it was: raw is not a
 * mangled name, it or its result is longer than the limits, or there was no memory: show it raw.
 * Parameters are shown, Rust's hash suffix is not. The limits are 4096 bytes for the name, 64 KiB
 * for the result. Runs on a stack of its own. Context: worker.
 */
bool otp_demangle(struct otp_text raw, struct otp_buf *out);

#endif
