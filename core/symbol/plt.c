/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/plt.h"

#include <elf.h>
#include <string.h>

#include "core/base/reader.h"
#include "core/base/sort.h"

#define SYM_BYTES 24
#define RELA_BYTES 24
#define STUB_BYTES 16 /* of all layouts but .plt.got without IBT, which has 8 */
#define CHUNK_RELAS 64
#define CHUNK_BYTES 2048
#define SLOTS_MAX ((size_t)1 << 20)
#define RELAS_MAX ((uint64_t)1 << 22)
#define STUBS_BYTES_MAX ((uint64_t)16 << 20)
#define NO_SYMBOL 0

/* A slot of the global offset table that the loader fills with the address of a function. */
struct slot {
    uint64_t addr;
    uint32_t symbol; /* number in .dynsym */
    uint32_t order;  /* number among the jump slots, UINT32_MAX for others */
};

struct stubs {
    struct otp_symtab *t;
    const struct otp_elf *elf;
    const struct otp_symtab_part *dynsym;
    const struct otp_elf_section *jump_relas; /* may be NULL */
    struct slot *slots;                       /* sorted by address */
    size_t count;
    size_t capacity;
};

static int compare_slots(const void *a, const void *b, void *arg)
{
    const struct slot *x = a;
    const struct slot *y = b;
    (void)arg;
    if (x->addr != y->addr) {
        return x->addr < y->addr ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool add_slot(struct stubs *s, const struct slot *slot)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 256 : s->capacity * 2;
        void *more = capacity > SLOTS_MAX
                         ? NULL
                         : otp_heap_realloc(s->t->heap, s->slots, capacity * sizeof(s->slots[0]));
        if (more == NULL) {
            return false;
        }
        s->slots = more;
        s->capacity = capacity;
    }
    s->slots[s->count++] = *slot;
    return true;
}

/* The slots of one relocation section with relocations of that type. */
static enum otp_status read_slots(struct stubs *s, const struct otp_elf_section *section,
                                  uint32_t type)
{
    unsigned char raw[CHUNK_RELAS * RELA_BYTES];
    struct otp_reader r;
    uint64_t count = section->size / RELA_BYTES;

    count = count > RELAS_MAX ? RELAS_MAX : count;
    for (uint64_t done = 0; done < count;) {
        uint64_t n = count - done > CHUNK_RELAS ? CHUNK_RELAS : count - done;
        OTP_TRY(
            otp_elf_read(&s->elf->bytes, section->offset + done * RELA_BYTES, raw, n * RELA_BYTES));
        otp_reader_init(&r, raw, n * RELA_BYTES);
        for (uint64_t i = 0; i < n; i++) {
            struct slot slot = {.addr = otp_reader_u64_le(&r)};
            uint64_t info = otp_reader_u64_le(&r);
            (void)otp_reader_u64_le(&r); /* addend */
            slot.symbol = (uint32_t)ELF64_R_SYM(info);
            slot.order = type == R_X86_64_JUMP_SLOT ? (uint32_t)(done + i) : UINT32_MAX;
            if (ELF64_R_TYPE(info) == type && slot.symbol != NO_SYMBOL && !add_slot(s, &slot)) {
                return OTP_NO_MEMORY;
            }
        }
        done += n;
    }
    return OTP_OK;
}

static uint32_t symbol_of_slot(const struct stubs *s, uint64_t addr)
{
    size_t low = 0;
    size_t high = s->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->slots[mid].addr < addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < s->count && s->slots[low].addr == addr ? s->slots[low].symbol : NO_SYMBOL;
}

/* The symbol of jump slot relocation number idx, which a lazy entry pushes for the resolver. */
static uint32_t symbol_of_relocation(const struct stubs *s, uint32_t idx)
{
    unsigned char raw[RELA_BYTES];
    struct otp_reader r;

    if (s->jump_relas == NULL || idx >= s->jump_relas->size / RELA_BYTES ||
        otp_elf_read(&s->elf->bytes, s->jump_relas->offset + (uint64_t)idx * RELA_BYTES, raw,
                     sizeof(raw)) != OTP_OK) {
        return NO_SYMBOL;
    }
    otp_reader_init(&r, raw, sizeof(raw));
    otp_reader_seek(&r, 8);
    uint64_t info = otp_reader_u64_le(&r);
    return ELF64_R_TYPE(info) == R_X86_64_JUMP_SLOT ? (uint32_t)ELF64_R_SYM(info) : NO_SYMBOL;
}

/*
 * The symbol that the entry with this code jumps to. The code is [endbr64] push $index, or
 * [endbr64] [mov $index, %r11d] [bnd] jmp *slot(%rip).
 */
static uint32_t symbol_of_stub(const struct stubs *s, const unsigned char *code, size_t len,
                               uint64_t addr)
{
    static const unsigned char endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t pos = len >= 8 && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? 4 : 0;
    uint32_t value;

    if (pos + 5 <= len && code[pos] == 0x68) {
        memcpy(&value, code + pos + 1, sizeof(value));
        return symbol_of_relocation(s, value);
    }
    pos += pos + 6 < len && code[pos] == 0x41 && code[pos + 1] == 0xbb ? 6 : 0;
    pos += code[pos] == 0xf2;
    if (pos + 6 > len || code[pos] != 0xff || code[pos + 1] != 0x25) {
        return NO_SYMBOL;
    }
    memcpy(&value, code + pos + 2, sizeof(value));
    return symbol_of_slot(s, addr + pos + 6 + (uint64_t)(int64_t)(int32_t)value);
}

static bool add_stub(struct stubs *s, uint32_t symbol, uint64_t addr, uint32_t size)
{
    unsigned char raw[4];
    struct otp_reader r;
    struct otp_symtab_entry e = {.size = size};

    if (symbol >= s->dynsym->count || addr > OTP_SYMTAB_ADDR_MAX ||
        otp_symtab_range_at(s->t, addr) == NULL ||
        otp_elf_read(s->dynsym->bytes, s->dynsym->offset + (uint64_t)symbol * SYM_BYTES, raw,
                     sizeof(raw)) != OTP_OK) {
        return true;
    }
    otp_reader_init(&r, raw, sizeof(raw));
    e.name = otp_reader_u32_le(&r);
    if (e.name == 0 || e.name >= s->t->names[OTP_SYMTAB_DYNAMIC].len) {
        return true;
    }
    if (s->t->count == s->t->capacity && !otp_symtab_reserve(s->t, s->t->count / 4 + 64)) {
        return false;
    }
    e.key = addr << 8 | OTP_SYMTAB_RANK_NAMES;
    s->t->entries[s->t->count++] = e;
    return true;
}

static enum otp_status read_stubs(struct stubs *s, const struct otp_elf_section *section)
{
    unsigned char code[CHUNK_BYTES];
    uint64_t stub_bytes = section->entsize == 8 ? 8 : STUB_BYTES;
    uint64_t size = section->size > STUBS_BYTES_MAX ? STUBS_BYTES_MAX : section->size;

    for (uint64_t off = 0; off < size;) {
        uint64_t n = size - off;
        n = n > CHUNK_BYTES ? CHUNK_BYTES : n;
        OTP_TRY(otp_elf_read(&s->elf->bytes, section->offset + off, code, n));
        for (uint64_t i = 0; i + stub_bytes <= n; i += stub_bytes) {
            uint64_t addr = section->addr + off + i;
            uint32_t symbol = symbol_of_stub(s, code + i, stub_bytes, addr);
            if (symbol != NO_SYMBOL && !add_stub(s, symbol, addr, (uint32_t)stub_bytes)) {
                return OTP_NO_MEMORY;
            }
        }
        off += n;
    }
    return OTP_OK;
}

static enum otp_status add_all(struct stubs *s)
{
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};
    const struct otp_elf_section *other = otp_elf_section_named(s->elf, ".rela.dyn");

    s->jump_relas = otp_elf_section_named(s->elf, ".rela.plt");
    if (s->jump_relas != NULL && s->jump_relas->type == SHT_RELA) {
        OTP_TRY(read_slots(s, s->jump_relas, R_X86_64_JUMP_SLOT));
    }
    if (other != NULL && other->type == SHT_RELA &&
        otp_elf_section_named(s->elf, ".plt.got") != NULL) {
        OTP_TRY(read_slots(s, other, R_X86_64_GLOB_DAT));
    }
    otp_sort(s->slots, s->count, sizeof(s->slots[0]), compare_slots, NULL);
    for (size_t i = 0; i < OTP_ARRAY_LEN(names); i++) {
        const struct otp_elf_section *section = otp_elf_section_named(s->elf, names[i]);
        if (section != NULL && (section->flags & SHF_EXECINSTR) != 0) {
            OTP_TRY(read_stubs(s, section));
        }
    }
    return OTP_OK;
}

enum otp_status otp_plt_add(struct otp_symtab *t, const struct otp_elf *elf,
                            const struct otp_symtab_part *dynsym)
{
    struct stubs s = {.t = t, .elf = elf, .dynsym = dynsym};

    enum otp_status status = add_all(&s);
    otp_heap_free(t->heap, s.slots);
    return status == OTP_NO_MEMORY ? OTP_NO_MEMORY : OTP_OK;
}
