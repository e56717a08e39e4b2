/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol table of one loaded object: identity and segments at once, function names when first
 * asked for. All addresses are ELF virtual addresses: run-time address minus load bias.
 * It never uses a file whose build id differs from that of the object in memory, and it keeps no
 * descriptor open: descriptors belong to the host, which may close or reuse any of them.
 */
#ifndef OTP_SYMBOL_SYMBOLS_H
#define OTP_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/symbol/elf.h"

struct otp_symbols;

/* What is to be opened; all is borrowed for the call, except image. */
struct otp_symbol_source {
    /* As the loader or maps name it; may be "", "[vdso]", or end in " (deleted)". */
    const char *path;
    const char *alt_path; /* tried before path, for example "/proc/self/exe"; may be NULL */
    /* The object as bytes in memory (vdso), read instead of a file; else NULL. It must stay
     * readable until otp_symbols_destroy(). */
    const void *image;
    uint64_t image_len;
    const uint8_t *build_id; /* of the object in memory; a file with another one is not used */
    size_t build_id_len;     /* 0: not known */
    const char *debug_root;  /* NULL: /usr/lib/debug */
};

struct otp_symbol {
    struct otp_text name; /* raw, without version suffix; valid until the next find or destroy */
    uint64_t start;
    uint64_t size; /* bytes up to its end, never 0 */
};

/*
 * Reads headers, build id, htlhash and segments. OTP_OK also when no usable file is found: the
 * result then has only the build id of the source, no segment and no name, and
 * otp_symbols_file_status() tells why. NO_MEMORY or INVALID: *out is NULL. Context: worker.
 */
enum otp_status otp_symbols_open(struct otp_heap *heap, const struct otp_symbol_source *source,
                                 struct otp_symbols **out);
/* Frees everything. s may be NULL. */
void otp_symbols_destroy(struct otp_symbols *s);

/* OTP_OK: a file or image was read. NOT_FOUND: no such file, or one with another build id. Else:
 * what was wrong with it. */
enum otp_status otp_symbols_file_status(const struct otp_symbols *s);
/* The path of the source without " (deleted)": the name for the mapping. */
const char *otp_symbols_path(const struct otp_symbols *s);
/* GNU build id as lower-case hex (the file's, else the source's), "" when there is none. */
const char *otp_symbols_build_id_hex(const struct otp_symbols *s);
/* htlhash as 32 hex characters, "" when no file could be read. */
const char *otp_symbols_htlhash_hex(const struct otp_symbols *s);
/* The executable PT_LOAD that holds an address, NULL when there is none. */
const struct otp_elf_segment *otp_symbols_segment(const struct otp_symbols *s, uint64_t elf_vaddr);
/* All PT_LOAD segments, in file order; *out_count of them. */
const struct otp_elf_segment *otp_symbols_segments(const struct otp_symbols *s, size_t *out_count);

/*
 * Loads the function symbols, once; a second call repeats the first answer. From .symtab of the
 * file, else of its separate debug file (build-id folder, debug link), always with .dynsym and PLT
 * stubs. What could be read is kept also when another part was bad. NOT_FOUND: no symbol at all;
 * NO_MEMORY: nothing is kept and the call may be repeated. Context: worker; reads files.
 */
enum otp_status otp_symbols_load_names(struct otp_symbols *s);
/* Number of symbols loaded. */
size_t otp_symbols_count(const struct otp_symbols *s);
/*
 * The function that holds an address, loading the names when that is not done yet. For a return
 * address pass it minus one. False: inside no symbol. Context: worker; may read files.
 */
bool otp_symbols_find(struct otp_symbols *s, uint64_t elf_vaddr, struct otp_symbol *out);
/* Symbol number idx in address order, for dumps and tests. False: no such symbol or name. */
bool otp_symbols_at(struct otp_symbols *s, size_t idx, struct otp_symbol *out);

#endif
