/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the entries of the procedure linkage table, which have no symbols: one jumps through a
 * slot of the global offset table, and the relocation of that slot names the function. This holds
 * for lazy, non-lazy, IBT and MPX layouts of all linkers. Source: x86-64 psABI, "Procedure Linkage
 * Table" and "Indirect Branch Tracking".
 */
#ifndef OTP_SYMBOL_PLT_H
#define OTP_SYMBOL_PLT_H

#include "core/base/status.h"
#include "core/symbol/elf.h"
#include "core/symbol/symtab.h"

/* Adds a symbol, named in the dynamic string table, for each entry that can be read. dynsym is
 * the part that was added for it; elf has its sections loaded. NO_MEMORY; an object without such
 * entries is OTP_OK. Context: worker. */
enum otp_status otp_plt_add(struct otp_symtab *t, const struct otp_elf *elf,
                            const struct otp_symtab_part *dynsym);

#endif
