/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbol_elf.h"

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const uint8_t symbol_elf_build_id[20] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd,
                                         0xef, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba,
                                         0xdc, 0xfe, 0x0f, 0x1e, 0x2d, 0x3c};

static void put(struct symbol_elf *e, size_t at, const void *data, size_t len)
{
    ck_assert_uint_le(at + len, sizeof(e->bytes));
    memcpy(e->bytes + at, data, len);
}

void symbol_elf_u16(struct symbol_elf *e, size_t at, unsigned v)
{
    uint16_t value = (uint16_t)v;
    put(e, at, &value, sizeof(value));
}

void symbol_elf_u32(struct symbol_elf *e, size_t at, uint32_t v)
{
    put(e, at, &v, sizeof(v));
}

void symbol_elf_u64(struct symbol_elf *e, size_t at, uint64_t v)
{
    put(e, at, &v, sizeof(v));
}

static void add_file_header(struct symbol_elf *e)
{
    static const unsigned char ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};

    put(e, 0, ident, sizeof(ident));
    symbol_elf_u16(e, 16, ET_DYN);
    symbol_elf_u16(e, 18, EM_X86_64);
    symbol_elf_u32(e, 20, EV_CURRENT);
    symbol_elf_u64(e, 32, SE_PHDRS);
    symbol_elf_u64(e, 40, SE_SHDRS);
    symbol_elf_u16(e, 52, 64);
    symbol_elf_u16(e, 54, 56);
    symbol_elf_u16(e, 56, SE_PHDR_COUNT);
    symbol_elf_u16(e, 58, 64);
    symbol_elf_u16(e, 60, SE_SHDR_COUNT);
    symbol_elf_u16(e, 62, SE_S_SHSTRTAB);
}

static void add_segment(struct symbol_elf *e, size_t idx, uint32_t type, uint32_t flags,
                        const uint64_t off_addr_size[3])
{
    size_t at = SE_PHDRS + 56 * idx;

    symbol_elf_u32(e, at, type);
    symbol_elf_u32(e, at + 4, flags);
    symbol_elf_u64(e, at + 8, off_addr_size[0]);
    symbol_elf_u64(e, at + 16, off_addr_size[1]);
    symbol_elf_u64(e, at + 32, off_addr_size[2]);
    symbol_elf_u64(e, at + 40, off_addr_size[2]);
    symbol_elf_u64(e, at + 48, type == PT_LOAD ? 0x1000 : 4);
}

static void add_segments(struct symbol_elf *e)
{
    add_segment(e, 0, PT_LOAD, PF_R, (const uint64_t[]){0, 0x10000, 0x200});
    add_segment(e, 1, PT_LOAD, PF_R | PF_X, (const uint64_t[]){SE_TEXT, SE_TEXT_ADDR, 0x140});
    add_segment(e, 2, PT_LOAD, PF_R | PF_W, (const uint64_t[]){0x340, SE_DATA_ADDR, 0x3c0});
    add_segment(e, 3, PT_DYNAMIC, PF_R | PF_W,
                (const uint64_t[]){SE_DYNAMIC, SE_DATA_ADDR + SE_DYNAMIC - 0x340, 0x60});
    add_segment(e, 4, PT_NOTE, PF_R, (const uint64_t[]){SE_NOTE, 0x10000 + SE_NOTE, 36});
}

struct section {
    const char *name;
    uint32_t type;
    uint64_t flags;
    uint64_t addr;
    uint64_t offset;
    uint64_t size;
    uint32_t link;
    uint64_t entsize;
};

static void add_sections(struct symbol_elf *e)
{
    static const struct section sections[SE_SHDR_COUNT] = {
        {.name = ""},
        {".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0x10000 + SE_NOTE, SE_NOTE, 36, 0, 0},
        {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, SE_TEXT_ADDR, SE_TEXT, SE_TEXT_SIZE, 0,
         0},
        {".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, SE_PLT_ADDR, SE_PLT, SE_PLT_SIZE, 0, 16},
        {".symtab", SHT_SYMTAB, 0, 0, SE_SYMTAB, 24, SE_S_STRTAB, 24},
        {".strtab", SHT_STRTAB, 0, 0, SE_STRTAB, SE_STRTAB_SIZE, 0, 0},
        {".dynsym", SHT_DYNSYM, SHF_ALLOC, SE_DATA_ADDR + SE_DYNSYM - 0x340, SE_DYNSYM,
         24 * SE_DYNSYM_COUNT, SE_S_DYNSTR, 24},
        {".dynstr", SHT_STRTAB, SHF_ALLOC, SE_DATA_ADDR + SE_DYNSTR - 0x340, SE_DYNSTR,
         SE_DYNSTR_SIZE, 0, 0},
        {".rela.plt", SHT_RELA, SHF_ALLOC, SE_DATA_ADDR + SE_RELA - 0x340, SE_RELA, 48, SE_S_DYNSYM,
         24},
        {".gnu_debuglink", SHT_PROGBITS, 0, 0, SE_LINK, 16, 0, 0},
        {".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, SE_DATA_ADDR + SE_DYNAMIC - 0x340,
         SE_DYNAMIC, 0x60, SE_S_DYNSTR, 16},
        {".shstrtab", SHT_STRTAB, 0, 0, SE_SHSTRTAB, SE_SHSTRTAB_SIZE, 0, 0},
    };
    size_t name_at = SE_SHSTRTAB;
    for (size_t i = 0; i < SE_SHDR_COUNT; i++) {
        const struct section *s = &sections[i];
        size_t len = strlen(s->name) + 1;
        ck_assert_uint_le(name_at + len, SE_SHSTRTAB + SE_SHSTRTAB_SIZE);
        put(e, name_at, s->name, len);
        symbol_elf_u32(e, SE_SHDR(i), (uint32_t)(name_at - SE_SHSTRTAB));
        symbol_elf_u32(e, SE_SHDR(i) + 4, s->type);
        symbol_elf_u64(e, SE_SHDR(i) + 8, s->flags);
        symbol_elf_u64(e, SE_SHDR(i) + 16, s->addr);
        symbol_elf_u64(e, SE_SHDR(i) + 24, s->offset);
        symbol_elf_u64(e, SE_SHDR(i) + 32, s->size);
        symbol_elf_u32(e, SE_SHDR(i) + 40, s->link);
        symbol_elf_u64(e, SE_SHDR(i) + 56, s->entsize);
        name_at += len;
    }
}

static void add_note(struct symbol_elf *e)
{
    symbol_elf_u32(e, SE_NOTE, 4);
    symbol_elf_u32(e, SE_NOTE + 4, sizeof(symbol_elf_build_id));
    symbol_elf_u32(e, SE_NOTE + 8, NT_GNU_BUILD_ID);
    put(e, SE_NOTE + 12, "GNU", 4);
    put(e, SE_NOTE + 16, symbol_elf_build_id, sizeof(symbol_elf_build_id));
}

/* Stub 0 is the resolver's; 1 and 3 jump through slots; 2 is a lazy IBT stub that pushes index 1.
 */
static void add_stubs(struct symbol_elf *e)
{
    static const unsigned char resolver[] = {0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25};
    static const unsigned char plain[] = {0xff, 0x25};
    static const unsigned char lazy_ibt[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, 0xf2, 0xe9};
    static const unsigned char ibt[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25};

    put(e, SE_PLT, resolver, sizeof(resolver));
    put(e, SE_PLT + 16, plain, sizeof(plain));
    symbol_elf_u32(e, SE_PLT + 18, SE_GOT_ADDR - (SE_PLT_ADDR + 16 + 6));
    put(e, SE_PLT + 32, lazy_ibt, sizeof(lazy_ibt));
    put(e, SE_PLT + 48, ibt, sizeof(ibt));
    symbol_elf_u32(e, SE_PLT + 55, SE_GOT_ADDR + 8 - (SE_PLT_ADDR + 48 + 11));
    for (uint32_t i = 0; i < 2; i++) {
        symbol_elf_u64(e, SE_RELA + 24 * i, SE_GOT_ADDR + 8 * i);
        symbol_elf_u64(e, SE_RELA + 24 * i + 8, (uint64_t)(i + 1) << 32 | R_X86_64_JUMP_SLOT);
    }
}

static void put_symbol(struct symbol_elf *e, size_t at, uint32_t name, unsigned info,
                       unsigned section)
{
    symbol_elf_u32(e, at, name);
    e->bytes[at + 4] = (unsigned char)info;
    symbol_elf_u16(e, at + 6, section);
}

static void add_dynamic(struct symbol_elf *e)
{
    static const char names[] = "\0first\0second\0exported";
    static const uint64_t tags[][2] = {
        {DT_SYMTAB, SE_DATA_ADDR + SE_DYNSYM - 0x340},
        {DT_STRTAB, SE_DATA_ADDR + SE_DYNSTR - 0x340},
        {DT_STRSZ, SE_DYNSTR_SIZE},
        {DT_HASH, SE_DATA_ADDR + SE_HASH - 0x340},
        {DT_NULL, 0},
    };
    /* buckets, first symbol, bloom words, shift; bloom; bucket; the only link ends the chain */
    static const uint32_t gnu_hash[] = {1, 3, 1, 6, 0, 0, 3, 0x1235};
    static const uint32_t hash[] = {1, SE_DYNSYM_COUNT, 3, 0, 0, 0, 0};

    put(e, SE_DYNSTR, names, sizeof(names));
    put_symbol(e, SE_DYNSYM + 24, 1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SHN_UNDEF);
    put_symbol(e, SE_DYNSYM + 48, 7, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SHN_UNDEF);
    put_symbol(e, SE_DYNSYM + 72, 14, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SE_S_TEXT);
    symbol_elf_u64(e, SE_DYNSYM + 72 + 8, SE_TEXT_ADDR + 0x40);
    symbol_elf_u64(e, SE_DYNSYM + 72 + 16, 0x10);
    put(e, SE_HASH, hash, sizeof(hash));
    put(e, SE_GNU_HASH, gnu_hash, sizeof(gnu_hash));
    put(e, SE_DYNAMIC, tags, sizeof(tags));
}

void symbol_elf_make(struct symbol_elf *e)
{
    memset(e, 0, sizeof(*e));
    e->symbols = 1;
    e->strtab_used = 1;
    memset(e->bytes + SE_TEXT, 0x90, SE_TEXT_SIZE);
    add_file_header(e);
    add_segments(e);
    add_sections(e);
    add_note(e);
    add_stubs(e);
    add_dynamic(e);
    put(e, SE_LINK, "small.debug", 12);
    symbol_elf_u32(e, SE_LINK + 12, 0x12345678);
}

void symbol_elf_add(struct symbol_elf *e, const char *name, unsigned info, unsigned section,
                    uint64_t value, uint64_t size)
{
    size_t len = strlen(name) + 1;
    size_t at = SE_SYMTAB + 24 * (size_t)e->symbols;

    ck_assert_uint_lt(e->symbols, 11);
    ck_assert_uint_le(e->strtab_used + len, SE_STRTAB_SIZE);
    put_symbol(e, at, (uint32_t)e->strtab_used, info, section);
    symbol_elf_u64(e, at + 8, value);
    symbol_elf_u64(e, at + 16, size);
    put(e, SE_STRTAB + e->strtab_used, name, len);
    e->strtab_used += len;
    e->symbols++;
    symbol_elf_u64(e, SE_SHDR(SE_S_SYMTAB) + 32, 24 * (uint64_t)e->symbols);
}

struct otp_symbols *symbol_elf_open(struct otp_heap *heap, const void *image, size_t len)
{
    struct otp_symbol_source source = {.path = "[vdso]", .image = image, .image_len = len};
    struct otp_symbols *s = NULL;

    ck_assert_int_eq(otp_symbols_open(heap, &source, &s), OTP_OK);
    ck_assert_ptr_nonnull(s);
    return s;
}

void symbol_elf_write(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
    close(fd);
}
