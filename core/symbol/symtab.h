/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted table of the functions of one object, put together from several ELF symbol tables: add
 * all parts, finish once, then look up. Source: gABI chapter 4, "Symbol Table".
 */
#ifndef OTP_SYMBOL_SYMTAB_H
#define OTP_SYMBOL_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/symbol/elf.h"
#include "core/symbol/strtab.h"

#define OTP_SYMTAB_NONE SIZE_MAX
#define OTP_SYMTAB_ADDR_MAX (((uint64_t)1 << 56) - 1) /* symbols above are dropped */

/* Which string table a name is in. */
enum otp_symtab_names {
    OTP_SYMTAB_FULL = 0,    /* of .symtab, of the file or of its debug file */
    OTP_SYMTAB_DYNAMIC = 1, /* of .dynsym */
    OTP_SYMTAB_NAMES = 2,
};

/*
 * 16 bytes a function. The key holds the start address above 8 bits of rank, so that one comparison
 * sorts by address and puts the best name of an address first: bit 7 not of the PLT (mold gives
 * those symbols of its own making), 6 no type (assembly), 5 no size, 4-3 binding (0 global, 1 weak,
 * 2 local), 0 the string table.
 */
struct otp_symtab_entry {
    uint64_t key;
    uint32_t size; /* bytes; after finishing never 0 */
    uint32_t name; /* offset in its string table */
};

#define OTP_SYMTAB_RANK_NOT_STUB 0x80U
#define OTP_SYMTAB_RANK_NO_TYPE 0x40U
#define OTP_SYMTAB_RANK_NO_SIZE 0x20U
#define OTP_SYMTAB_RANK_BINDING 0x08U /* times the binding's number */
#define OTP_SYMTAB_RANK_NAMES 0x01U

/* Executable addresses, of one section: no symbol reaches past it. */
struct otp_symtab_range {
    uint64_t start;
    uint64_t end;
};

/* Zeroed memory with heap set is a valid empty table. */
struct otp_symtab {
    struct otp_heap *heap;
    struct otp_symtab_entry *entries;
    size_t count;
    size_t capacity;
    struct otp_symtab_range *ranges; /* sorted; freed by finishing */
    size_t range_count;
    struct otp_strtab names[OTP_SYMTAB_NAMES];
};

/* One ELF symbol table in the bytes of an open object. */
struct otp_symtab_part {
    const struct otp_elf_bytes *bytes;
    uint64_t offset; /* of the table in the file */
    uint64_t count;  /* symbols */
    enum otp_symtab_names names;
};

/* Takes the executable ranges from section headers, or from segments when there are none.
 * NO_MEMORY. Context: worker, as all here. */
enum otp_status otp_symtab_set_ranges(struct otp_symtab *t, const struct otp_elf *elf);
/* The range that holds an address, or NULL. */
const struct otp_symtab_range *otp_symtab_range_at(const struct otp_symtab *t, uint64_t addr);
/* Adds the functions of a part; t->names[part->names] must be open. TRUNCATED, IO, NO_MEMORY: none
 * is added. */
enum otp_status otp_symtab_add_part(struct otp_symtab *t, const struct otp_symtab_part *part);
/* Makes room for extra more entries. */
bool otp_symtab_reserve(struct otp_symtab *t, size_t extra);
/* Sorts, keeps one name for each address and gives each entry its end. files: the open files of the
 * two string tables, NULL for one that is not open. */
void otp_symtab_finish(struct otp_symtab *t,
                       const struct otp_elf_bytes *const files[OTP_SYMTAB_NAMES]);
/* Number of the entry that holds an address, or OTP_SYMTAB_NONE. */
size_t otp_symtab_find(const struct otp_symtab *t, uint64_t addr);
/* Frees everything. */
void otp_symtab_fini(struct otp_symtab *t);

/* Start address of an entry. */
static inline uint64_t otp_symtab_start(const struct otp_symtab_entry *e)
{
    return e->key >> 8;
}

/* Is it a symbol of the procedure linkage table? */
static inline bool otp_symtab_is_stub(const struct otp_symtab_entry *e)
{
    return (e->key & OTP_SYMTAB_RANK_NOT_STUB) == 0;
}

/* String table of an entry. */
static inline enum otp_symtab_names otp_symtab_names_of(const struct otp_symtab_entry *e)
{
    return (e->key & OTP_SYMTAB_RANK_NAMES) != 0 ? OTP_SYMTAB_DYNAMIC : OTP_SYMTAB_FULL;
}

#endif
