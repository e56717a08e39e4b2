/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct otp_symbols, for symbols.c and symbols_load.c only. */
#ifndef OTP_SYMBOL_SYMBOLS_IMPL_H
#define OTP_SYMBOL_SYMBOLS_IMPL_H

#include "core/symbol/buildid.h"
#include "core/symbol/objfile.h"
#include "core/symbol/symbols.h"
#include "core/symbol/symtab.h"

enum otp_symbols_state {
    OTP_SYMBOLS_UNTRIED,
    OTP_SYMBOLS_LOADED,
    OTP_SYMBOLS_NO_ROOM, /* looking up does not try again by itself */
};

struct otp_symbols {
    struct otp_heap *heap;
    enum otp_status file_status;
    enum otp_symbols_state state;
    enum otp_status names_status;
    char *path;       /* without " (deleted)" */
    char *file;       /* what was read; NULL: image or nothing */
    char *debug_file; /* where names of .symtab are read from, NULL: not from a debug file */
    char *debug_root;
    struct otp_objfile_id id; /* of file */
    const unsigned char *image;
    uint64_t image_len;
    struct otp_elf_segment *segments;
    size_t segment_count;
    struct otp_symtab table;
    struct otp_buf name; /* of the last find, when it had to be read or put together */
    char build_id_hex[OTP_BUILD_ID_HEX_SIZE];
    char htlhash_hex[OTP_HTLHASH_HEX_SIZE];
};

#endif
