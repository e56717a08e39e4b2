/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic symbol table of an object without section headers, found as the loader finds it:
 * through PT_DYNAMIC. The number of symbols follows from a hash table. Source: gABI chapter 5,
 * "Dynamic Section" and "Hash Table"; for DT_GNU_HASH the layout that binutils writes.
 */
#ifndef OTP_SYMBOL_DYNAMIC_H
#define OTP_SYMBOL_DYNAMIC_H

#include <stdint.h>

#include "core/base/status.h"
#include "core/symbol/elf.h"

/* Places in the file. */
struct otp_dynamic_symbols {
    uint64_t offset;
    uint64_t count;
    uint64_t names_offset;
    uint64_t names_len;
};

/* NOT_FOUND: the object has none. MALFORMED, TRUNCATED, IO. Context: worker. */
enum otp_status otp_dynamic_find(const struct otp_elf *elf, struct otp_dynamic_symbols *out);

#endif
