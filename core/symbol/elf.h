/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded parser for ELF64 little-endian x86-64 objects, in a file or as an image in memory. Files
 * are read, never mapped: a mapped file that somebody truncates would kill the host with SIGBUS.
 * Source of all layouts: System V gABI chapters 4 and 5, x86-64 psABI.
 */
#ifndef OTP_SYMBOL_ELF_H
#define OTP_SYMBOL_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"

#define OTP_ELF_SEGMENTS_MAX 64     /* PT_LOAD segments kept; more are ignored */
#define OTP_ELF_SECTIONS_MAX 100000 /* more sections: the section table is not used */
#define OTP_ELF_BUILD_ID_MAX 64     /* bytes */
#define OTP_ELF_DEBUGLINK_MAX 256   /* bytes, NUL included */

/* Where the bytes of an object are: a descriptor (image NULL) or memory (fd not used). */
struct otp_elf_bytes {
    int fd;
    const unsigned char *image;
    uint64_t len;
};

/* A PT_LOAD program header. */
struct otp_elf_segment {
    uint64_t vaddr;
    uint64_t memsz;
    uint64_t file_offset;
    uint64_t filesz;
    uint32_t flags; /* PF_X, PF_W, PF_R */
};

/* A section header, without the fields that nobody here needs. */
struct otp_elf_section {
    uint64_t flags;
    uint64_t addr;
    uint64_t offset;
    uint64_t size;
    uint64_t entsize;
    uint32_t name; /* offset in the table of section names */
    uint32_t type;
    uint32_t link;
    uint32_t info;
};

/* The headers of one object. Zeroed memory is a valid empty one. */
struct otp_elf {
    struct otp_heap *heap;
    struct otp_elf_bytes bytes;
    struct otp_elf_segment *segments; /* in file order */
    uint32_t segment_count;
    uint16_t type;        /* ET_EXEC or ET_DYN */
    uint8_t build_id_len; /* 0: none */
    uint8_t build_id[OTP_ELF_BUILD_ID_MAX];
    uint64_t dynamic_offset;       /* PT_DYNAMIC in the file */
    uint64_t dynamic_size;         /* 0: none */
    uint64_t section_table_offset; /* 0: none */
    uint32_t section_count;        /* 0 with a table: the number is in the first header */
    uint32_t section_names_idx;
    struct otp_elf_section *sections; /* NULL until otp_elf_load_sections() */
    unsigned char *section_names;
    uint64_t section_names_len;
};

/* The bytes of an open regular file; fd stays the caller's. INVALID: not a regular file.
 * Context: any. */
enum otp_status otp_elf_bytes_of_file(int fd, struct otp_elf_bytes *out);
/* Copies len bytes at offset off to buf, all, or none with TRUNCATED or IO. Context: any. */
enum otp_status otp_elf_read(const struct otp_elf_bytes *bytes, uint64_t off, void *buf,
                             uint64_t len);

/*
 * Reads file header, program headers and build id (notes of 4- and 8-byte alignment). bytes->fd
 * must stay open as long as *out is read from. What *out allocates comes from heap. MALFORMED,
 * TRUNCATED, UNSUPPORTED (other class, machine or type), TOO_LARGE, IO, NO_MEMORY: *out is then
 * empty. Context: any.
 */
enum otp_status otp_elf_open(struct otp_heap *heap, const struct otp_elf_bytes *bytes,
                             struct otp_elf *out);
/* Frees what elf has allocated and empties it. */
void otp_elf_close(struct otp_elf *elf);
/* Reads section headers and names, once, and takes the build id from the note sections when it
 * finds one there. NOT_FOUND: the object has no section headers. Context: any. */
enum otp_status otp_elf_load_sections(struct otp_elf *elf);
/* First section of that name with content in the file, or NULL. */
const struct otp_elf_section *otp_elf_section_named(const struct otp_elf *elf, const char *name);
/* First section of type SHT_... with content in the file, or NULL. */
const struct otp_elf_section *otp_elf_section_of_type(const struct otp_elf *elf, uint32_t type);
/* The executable PT_LOAD that holds an address, or NULL. */
const struct otp_elf_segment *otp_elf_segment_at(const struct otp_elf *elf, uint64_t vaddr);
/* File offset of an address that a PT_LOAD fills from the file; false when none does. */
bool otp_elf_offset_of(const struct otp_elf *elf, uint64_t vaddr, uint64_t *out_offset);
/* .gnu_debuglink: a file name without slashes to name, its CRC-32; false when there is none. */
bool otp_elf_debuglink(const struct otp_elf *elf, char name[OTP_ELF_DEBUGLINK_MAX],
                       uint32_t *out_crc);
/* True when the object carries .gnu_debugdata (an xz-compressed symbol table, not read here). */
bool otp_elf_has_minidebuginfo(const struct otp_elf *elf);

#endif
