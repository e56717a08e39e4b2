/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/symtab.h"

#include <elf.h>
#include <string.h>

#include "core/base/reader.h"
#include "core/base/sort.h"

#define SYM_BYTES 24
#define CHUNK_SYMS ((uint64_t)2560) /* 60 KiB */
#define SYMS_MAX ((uint64_t)16 << 20)
#define ENCLOSING_MAX 64 /* entries looked at for a function around the nearest one */

static int compare_ranges(const void *a, const void *b, void *arg)
{
    const struct otp_symtab_range *x = a;
    const struct otp_symtab_range *y = b;
    (void)arg;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void add_range(struct otp_symtab *t, uint64_t addr, uint64_t size)
{
    struct otp_symtab_range r = {.start = addr};
    if (size > 0 && !__builtin_add_overflow(addr, size, &r.end)) {
        t->ranges[t->range_count++] = r;
    }
}

static bool is_code(const struct otp_elf_section *s)
{
    return (s->flags & (SHF_EXECINSTR | SHF_ALLOC)) == (SHF_EXECINSTR | SHF_ALLOC);
}

enum otp_status otp_symtab_set_ranges(struct otp_symtab *t, const struct otp_elf *elf)
{
    size_t count = 0;

    for (uint32_t i = 0; elf->sections != NULL && i < elf->section_count; i++) {
        count += is_code(&elf->sections[i]);
    }
    bool by_section = count > 0;
    count = by_section ? count : elf->segment_count;
    t->ranges = otp_heap_calloc(t->heap, count, sizeof(t->ranges[0]));
    t->range_count = 0;
    if (t->ranges == NULL) {
        return OTP_NO_MEMORY;
    }
    for (uint32_t i = 0; by_section && i < elf->section_count; i++) {
        if (is_code(&elf->sections[i])) {
            add_range(t, elf->sections[i].addr, elf->sections[i].size);
        }
    }
    for (uint32_t i = 0; !by_section && i < elf->segment_count; i++) {
        if ((elf->segments[i].flags & PF_X) != 0) {
            add_range(t, elf->segments[i].vaddr, elf->segments[i].memsz);
        }
    }
    otp_sort(t->ranges, t->range_count, sizeof(t->ranges[0]), compare_ranges, NULL);
    return OTP_OK;
}

const struct otp_symtab_range *otp_symtab_range_at(const struct otp_symtab *t, uint64_t addr)
{
    size_t low = 0;
    size_t high = t->range_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->ranges[mid].start <= addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low > 0 && addr < t->ranges[low - 1].end ? &t->ranges[low - 1] : NULL;
}

bool otp_symtab_reserve(struct otp_symtab *t, size_t extra)
{
    size_t bytes;

    if (extra <= t->capacity - t->count) {
        return true;
    }
    if (__builtin_add_overflow(t->count, extra, &extra) ||
        __builtin_mul_overflow(extra, sizeof(t->entries[0]), &bytes)) {
        return false;
    }
    void *more = otp_heap_realloc(t->heap, t->entries, bytes);
    if (more == NULL) {
        return false;
    }
    t->entries = more;
    t->capacity = extra;
    return true;
}

/* Does a symbol of that kind name code? Labels without a type are for assembly. */
static bool is_function(unsigned type, uint16_t section)
{
    return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           section != SHN_UNDEF && section != SHN_ABS && section != SHN_COMMON;
}

static unsigned rank_of(unsigned binding, unsigned type, uint64_t size, enum otp_symtab_names names)
{
    unsigned order = binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
    unsigned rank = OTP_SYMTAB_RANK_NOT_STUB + order * OTP_SYMTAB_RANK_BINDING +
                    (unsigned)names * OTP_SYMTAB_RANK_NAMES;

    rank += type == STT_NOTYPE ? OTP_SYMTAB_RANK_NO_TYPE : 0;
    return rank + (size == 0 ? OTP_SYMTAB_RANK_NO_SIZE : 0);
}

/* Makes an entry of the symbol at the reader's position; false when it is not a function. */
static bool decode(const struct otp_symtab *t, enum otp_symtab_names names, struct otp_reader *r,
                   struct otp_symtab_entry *e)
{
    e->name = otp_reader_u32_le(r);
    uint8_t info = otp_reader_u8(r);
    (void)otp_reader_u8(r); /* visibility */
    uint16_t section = otp_reader_u16_le(r);
    uint64_t value = otp_reader_u64_le(r);
    uint64_t size = otp_reader_u64_le(r);

    if (!is_function(ELF64_ST_TYPE(info), section) || e->name == 0 ||
        e->name >= t->names[names].len || value > OTP_SYMTAB_ADDR_MAX ||
        otp_symtab_range_at(t, value) == NULL) {
        return false;
    }
    e->key = value << 8 | rank_of(ELF64_ST_BIND(info), ELF64_ST_TYPE(info), size, names);
    e->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    return true;
}

/* Where functions go while symbols are read. */
struct sink {
    struct otp_symtab_entry *entries; /* NULL: they are only counted */
    size_t max;                       /* the file may change between two readings */
    size_t count;
};

static void put(struct sink *sink, const struct otp_symtab_entry *e)
{
    if (sink->count < sink->max) {
        if (sink->entries != NULL) {
            sink->entries[sink->count] = *e;
        }
        sink->count++;
    }
}

/* Reads all symbols of part through chunk. */
static enum otp_status scan(const struct otp_symtab *t, const struct otp_symtab_part *part,
                            unsigned char *chunk, struct sink *sink)
{
    struct otp_symtab_entry e;
    struct otp_reader r;

    for (uint64_t done = 0; done < part->count;) {
        uint64_t n = part->count - done;
        n = n > CHUNK_SYMS ? CHUNK_SYMS : n;
        OTP_TRY(otp_elf_read(part->bytes, part->offset + done * SYM_BYTES, chunk, n * SYM_BYTES));
        otp_reader_init(&r, chunk, n * SYM_BYTES);
        for (uint64_t i = 0; i < n; i++) {
            if (decode(t, part->names, &r, &e)) {
                put(sink, &e);
            }
        }
        done += n;
    }
    return OTP_OK;
}

static enum otp_status count_and_store(struct otp_symtab *t, const struct otp_symtab_part *part,
                                       unsigned char *chunk)
{
    struct sink counted = {.max = SIZE_MAX};

    OTP_TRY(scan(t, part, chunk, &counted));
    if (counted.count == 0) {
        return OTP_OK;
    }
    if (!otp_symtab_reserve(t, counted.count)) {
        return OTP_NO_MEMORY;
    }
    struct sink stored = {.entries = t->entries + t->count, .max = counted.count};
    OTP_TRY(scan(t, part, chunk, &stored));
    t->count += stored.count;
    return OTP_OK;
}

enum otp_status otp_symtab_add_part(struct otp_symtab *t, const struct otp_symtab_part *part)
{
    if (part->count > SYMS_MAX) {
        return OTP_TOO_LARGE;
    }
    if (part->offset > part->bytes->len ||
        part->count * SYM_BYTES > part->bytes->len - part->offset) {
        return OTP_TRUNCATED;
    }
    uint64_t chunk_syms = part->count < CHUNK_SYMS ? part->count : CHUNK_SYMS;
    unsigned char *chunk = otp_heap_alloc(t->heap, chunk_syms * SYM_BYTES);
    if (chunk == NULL) {
        return OTP_NO_MEMORY;
    }
    enum otp_status status = count_and_store(t, part, chunk);
    otp_heap_free(t->heap, chunk);
    return status;
}

size_t otp_symtab_find(const struct otp_symtab *t, uint64_t addr)
{
    size_t low = 0;
    size_t high = t->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (otp_symtab_start(&t->entries[mid]) <= addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (size_t i = low; i > 0 && low - i < ENCLOSING_MAX; i--) {
        const struct otp_symtab_entry *e = &t->entries[i - 1];
        if (addr - otp_symtab_start(e) < e->size) {
            return i - 1;
        }
    }
    return OTP_SYMTAB_NONE;
}

void otp_symtab_fini(struct otp_symtab *t)
{
    struct otp_heap *heap = t->heap;

    otp_heap_free(heap, t->entries);
    otp_heap_free(heap, t->ranges);
    for (size_t i = 0; i < OTP_SYMTAB_NAMES; i++) {
        otp_strtab_close(&t->names[i], heap);
    }
    memset(t, 0, sizeof(*t));
    t->heap = heap;
}
