/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small ELF object for tests, laid out by hand so that each byte's meaning is known. Its text has
 * another address than file offset, as lld and mold lay it out.
 */
#ifndef OTP_UNIT_SYMBOL_ELF_H
#define OTP_UNIT_SYMBOL_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/symbol/symbols.h"

#define SE_SIZE 0xa00
#define SE_PHDRS 64
#define SE_PHDR_COUNT 5
#define SE_NOTE 0x160
#define SE_TEXT 0x200
#define SE_TEXT_SIZE 0x100
#define SE_PLT 0x300
#define SE_PLT_SIZE 0x40
#define SE_SYMTAB 0x340
#define SE_STRTAB 0x440
#define SE_STRTAB_SIZE 0x80
#define SE_DYNSYM 0x4c0
#define SE_DYNSYM_COUNT 4
#define SE_DYNSTR 0x520
#define SE_DYNSTR_SIZE 0x40
#define SE_RELA 0x560
#define SE_LINK 0x590
#define SE_HASH 0x5b0
#define SE_GNU_HASH 0x5d0
#define SE_DYNAMIC 0x610
#define SE_SHSTRTAB 0x680
#define SE_SHSTRTAB_SIZE 0x80
#define SE_SHDRS 0x700
#define SE_SHDR_COUNT 12
#define SE_SHDR(i) (SE_SHDRS + 64 * (i))

/* Addresses of the two executable sections, and of the third segment. */
#define SE_TEXT_ADDR 0x11200
#define SE_PLT_ADDR 0x11300
#define SE_DATA_ADDR 0x12340
#define SE_GOT_ADDR 0x13000

enum symbol_elf_section {
    SE_S_NULL,
    SE_S_NOTE,
    SE_S_TEXT,
    SE_S_PLT,
    SE_S_SYMTAB,
    SE_S_STRTAB,
    SE_S_DYNSYM,
    SE_S_DYNSTR,
    SE_S_RELA,
    SE_S_LINK,
    SE_S_DYNAMIC,
    SE_S_SHSTRTAB,
};

struct symbol_elf {
    unsigned char bytes[SE_SIZE];
    unsigned symbols; /* in .symtab, the null symbol included */
    size_t strtab_used;
};

extern const uint8_t symbol_elf_build_id[20];

/* A complete object without any symbol in .symtab; .dynsym: exported (text + 0x40, 0x10 bytes) and
 * two undefined functions, first and second, with stubs. */
void symbol_elf_make(struct symbol_elf *e);
/* Adds a symbol to .symtab (at most 10). */
void symbol_elf_add(struct symbol_elf *e, const char *name, unsigned info, unsigned section,
                    uint64_t value, uint64_t size);
/* Little-endian stores. */
void symbol_elf_u16(struct symbol_elf *e, size_t at, unsigned v);
void symbol_elf_u32(struct symbol_elf *e, size_t at, uint32_t v);
void symbol_elf_u64(struct symbol_elf *e, size_t at, uint64_t v);
/* Opens len bytes as an image. */
struct otp_symbols *symbol_elf_open(struct otp_heap *heap, const void *image, size_t len);
/* Writes len bytes to a new file path. */
void symbol_elf_write(const char *path, const void *data, size_t len);

#endif
