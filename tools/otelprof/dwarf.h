/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source positions from DWARF, by libdw: which functions, inlined ones included, and which lines an
 * address of a file belongs to.
 */
#ifndef OTP_OTELPROF_DWARF_H
#define OTP_OTELPROF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inlined calls inside each other that are followed. */
#define OTP_DWARF_DEPTH 64

struct otp_dwarf;

/* One function at an address; texts live as long as the otp_dwarf, NULL: not known. */
struct otp_dwarf_frame {
    const char *name;         /* as in the source, without its namespace */
    const char *linkage_name; /* as the linker knows it */
    const char *file;
    int64_t start_line; /* 0: not known, as below */
    int64_t line;
    int64_t column;
};

/*
 * Opens path (an executable, a shared object or a file with its debug information alone) together
 * with separate debug files in debug_path: folders with colons between them, in the syntax of
 * libdw. NULL: it cannot be read.
 */
struct otp_dwarf *otp_dwarf_open(const char *path, const char *debug_path);
void otp_dwarf_close(struct otp_dwarf *d);
/* Is there any DWARF? Reads the list of units when first asked. */
bool otp_dwarf_has_info(struct otp_dwarf *d);
/*
 * The functions at an ELF virtual address, innermost first, at most OTP_DWARF_DEPTH; how many. With
 * a line but no function there is one frame without names.
 */
size_t otp_dwarf_find(struct otp_dwarf *d, uint64_t vaddr, struct otp_dwarf_frame *out_frames);

#endif
