/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables of the objects that were seen in stacks, by object number, opened when a frame of
 * them is named for the first time; and the text of names, demangled.
 */
#ifndef OTP_INTERN_MODULES_H
#define OTP_INTERN_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/symbol/symbols.h"

struct otp_modules {
    struct otp_heap *heap;
    struct otp_symbols **symbols; /* by object number; NULL: not opened */
    uint32_t room;
    struct otp_buf name; /* scratch for the readable name */
};

/* What is known of one address. Texts are valid until the next call. */
struct otp_module_name {
    struct otp_text name;        /* for people; empty: no symbol */
    struct otp_text system_name; /* as the linker knows it */
};

/* No modules yet. Context: worker, as all of these. */
void otp_modules_init(struct otp_modules *m, struct otp_heap *heap);
/* Closes all; their memory goes back. */
void otp_modules_fini(struct otp_modules *m);
/* The object of that number, if it was opened before; else NULL. */
struct otp_symbols *otp_modules_find(const struct otp_modules *m, uint32_t number);
/* The object of that number, opened from source when it is not yet; NULL at the memory limit. */
struct otp_symbols *otp_modules_get(struct otp_modules *m, uint32_t number,
                                    const struct otp_symbol_source *source);
/* Names an ELF virtual address of an opened object; false when it lies in no symbol. */
bool otp_modules_name(struct otp_modules *m, struct otp_symbols *s, uint64_t elf_addr,
                      struct otp_module_name *out);

#endif
