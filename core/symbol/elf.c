/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/elf.h"

#include <elf.h>
#include <string.h>

#include "core/base/reader.h"
#include "core/base/sys.h"

#define EHDR_BYTES 64
#define PHDR_BYTES 56
#define SHDR_BYTES 64
#define PHDRS_MAX 4096
#define CHUNK_ITEMS 32
#define NOTES_MAX ((uint64_t)64 << 10)
#define SECTION_NAMES_MAX ((uint64_t)4 << 20)

enum otp_status otp_elf_bytes_of_file(int fd, struct otp_elf_bytes *out)
{
    int64_t len = otp_sys_file_size(fd);
    out->fd = fd;
    out->image = NULL;
    out->len = len < 0 ? 0 : (uint64_t)len;
    return len < 0 ? OTP_INVALID : OTP_OK;
}

static bool inside(const struct otp_elf_bytes *b, uint64_t off, uint64_t len)
{
    return off <= b->len && len <= b->len - off;
}

enum otp_status otp_elf_read(const struct otp_elf_bytes *bytes, uint64_t off, void *buf,
                             uint64_t len)
{
    if (!inside(bytes, off, len)) {
        return OTP_TRUNCATED;
    }
    if (bytes->image != NULL) {
        memcpy(buf, bytes->image + off, len);
        return OTP_OK;
    }
    long n = otp_sys_pread_full(bytes->fd, buf, len, off);
    if (n < 0) {
        return OTP_IO;
    }
    return (uint64_t)n == len ? OTP_OK : OTP_TRUNCATED;
}

/* What of the file header is needed once only. */
struct header {
    uint64_t segment_table_offset;
    uint32_t segment_table_count;
};

static enum otp_status parse_header(struct otp_elf *elf, struct header *h)
{
    unsigned char raw[EHDR_BYTES];
    struct otp_reader r;

    OTP_TRY(otp_elf_read(&elf->bytes, 0, raw, sizeof(raw)));
    if (memcmp(raw, ELFMAG, SELFMAG) != 0) {
        return OTP_MALFORMED;
    }
    if (raw[EI_CLASS] != ELFCLASS64 || raw[EI_DATA] != ELFDATA2LSB ||
        raw[EI_VERSION] != EV_CURRENT) {
        return OTP_UNSUPPORTED;
    }
    otp_reader_init(&r, raw, sizeof(raw));
    otp_reader_seek(&r, EI_NIDENT);
    elf->type = otp_reader_u16_le(&r);
    uint16_t machine = otp_reader_u16_le(&r);
    otp_reader_seek(&r, 32);
    h->segment_table_offset = otp_reader_u64_le(&r);
    elf->section_table_offset = otp_reader_u64_le(&r);
    otp_reader_seek(&r, 54);
    uint16_t phdr_bytes = otp_reader_u16_le(&r);
    h->segment_table_count = otp_reader_u16_le(&r);
    uint16_t shdr_bytes = otp_reader_u16_le(&r);
    elf->section_count = otp_reader_u16_le(&r);
    elf->section_names_idx = otp_reader_u16_le(&r);
    if (machine != EM_X86_64 || (elf->type != ET_EXEC && elf->type != ET_DYN)) {
        return OTP_UNSUPPORTED;
    }
    if (h->segment_table_count > 0 && phdr_bytes != PHDR_BYTES) {
        return OTP_MALFORMED;
    }
    if (shdr_bytes != SHDR_BYTES) {
        elf->section_table_offset = 0;
    }
    return h->segment_table_count > PHDRS_MAX ? OTP_TOO_LARGE : OTP_OK;
}

/* Takes the build id out of the notes in data; padding of name and content is to align bytes. */
static bool find_build_id(struct otp_elf *elf, const void *data, uint64_t len, uint64_t align)
{
    struct otp_reader r;

    otp_reader_init(&r, data, len);
    while (otp_reader_left(&r) >= sizeof(Elf64_Nhdr)) {
        uint64_t name_len = otp_reader_u32_le(&r);
        uint64_t desc_len = otp_reader_u32_le(&r);
        uint32_t type = otp_reader_u32_le(&r);
        const void *name = otp_reader_bytes(&r, name_len);
        otp_reader_seek(&r, (r.pos + align - 1) & ~(align - 1));
        const void *desc = otp_reader_bytes(&r, desc_len);
        if (name == NULL || desc == NULL) {
            return false;
        }
        if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0 &&
            desc_len > 0 && desc_len <= OTP_ELF_BUILD_ID_MAX) {
            memcpy(elf->build_id, desc, desc_len);
            elf->build_id_len = (uint8_t)desc_len;
            return true;
        }
        otp_reader_seek(&r, (r.pos + align - 1) & ~(align - 1));
    }
    return false;
}

/* Some linkers put notes of 4-byte padding into a segment marked with 8, so both are tried. */
static enum otp_status read_notes(struct otp_elf *elf, uint64_t off, uint64_t len, uint64_t align)
{
    uint64_t first = align == 8 ? 8 : 4;

    if (len > NOTES_MAX || !inside(&elf->bytes, off, len)) {
        return OTP_TOO_LARGE;
    }
    void *notes = otp_heap_alloc(elf->heap, len);
    if (notes == NULL) {
        return OTP_NO_MEMORY;
    }
    enum otp_status status = otp_elf_read(&elf->bytes, off, notes, len);
    if (status == OTP_OK && !find_build_id(elf, notes, len, first) &&
        !find_build_id(elf, notes, len, 12 - first)) {
        status = OTP_NOT_FOUND;
    }
    otp_heap_free(elf->heap, notes);
    return status;
}

struct program_header {
    uint32_t type;
    uint64_t align;
    struct otp_elf_segment segment;
};

static void decode_program_header(struct otp_reader *r, struct program_header *p)
{
    p->type = otp_reader_u32_le(r);
    p->segment.flags = otp_reader_u32_le(r);
    p->segment.file_offset = otp_reader_u64_le(r);
    p->segment.vaddr = otp_reader_u64_le(r);
    (void)otp_reader_u64_le(r); /* physical address */
    p->segment.filesz = otp_reader_u64_le(r);
    p->segment.memsz = otp_reader_u64_le(r);
    p->align = otp_reader_u64_le(r);
}

static enum otp_status add_segment(struct otp_elf *elf, const struct otp_elf_segment *s)
{
    uint64_t end;

    if (__builtin_add_overflow(s->vaddr, s->memsz, &end) || s->filesz > s->memsz ||
        __builtin_add_overflow(s->file_offset, s->filesz, &end)) {
        return OTP_MALFORMED;
    }
    if (elf->segment_count == OTP_ELF_SEGMENTS_MAX) {
        return OTP_OK;
    }
    if (elf->segment_count % 4 == 0) {
        void *more = otp_heap_realloc(elf->heap, elf->segments,
                                      (elf->segment_count + 4) * sizeof(elf->segments[0]));
        if (more == NULL) {
            return OTP_NO_MEMORY;
        }
        elf->segments = more;
    }
    elf->segments[elf->segment_count++] = *s;
    return OTP_OK;
}

static enum otp_status use_program_header(struct otp_elf *elf, const struct program_header *p)
{
    const struct otp_elf_segment *s = &p->segment;

    switch (p->type) {
    case PT_LOAD:
        return add_segment(elf, s);
    case PT_DYNAMIC:
        elf->dynamic_offset = s->file_offset;
        elf->dynamic_size = s->filesz;
        return OTP_OK;
    case PT_NOTE:
        if (elf->build_id_len > 0) {
            return OTP_OK;
        }
        return read_notes(elf, s->file_offset, s->filesz, p->align) == OTP_NO_MEMORY
                   ? OTP_NO_MEMORY
                   : OTP_OK; /* notes that cannot be read are as good as none */
    default:
        return OTP_OK;
    }
}

static enum otp_status parse_program_headers(struct otp_elf *elf, const struct header *h)
{
    unsigned char raw[CHUNK_ITEMS * PHDR_BYTES];
    struct otp_reader r;
    struct program_header p;

    for (uint32_t done = 0; done < h->segment_table_count;) {
        uint32_t n = h->segment_table_count - done;
        n = n > CHUNK_ITEMS ? CHUNK_ITEMS : n;
        uint64_t off;
        if (__builtin_add_overflow(h->segment_table_offset, (uint64_t)done * PHDR_BYTES, &off)) {
            return OTP_MALFORMED;
        }
        OTP_TRY(otp_elf_read(&elf->bytes, off, raw, (uint64_t)n * PHDR_BYTES));
        otp_reader_init(&r, raw, (uint64_t)n * PHDR_BYTES);
        for (uint32_t i = 0; i < n; i++) {
            decode_program_header(&r, &p);
            OTP_TRY(use_program_header(elf, &p));
        }
        done += n;
    }
    return OTP_OK;
}

enum otp_status otp_elf_open(struct otp_heap *heap, const struct otp_elf_bytes *bytes,
                             struct otp_elf *out)
{
    struct header h = {0};

    memset(out, 0, sizeof(*out));
    out->heap = heap;
    out->bytes = *bytes;
    enum otp_status status = parse_header(out, &h);
    if (status == OTP_OK) {
        status = parse_program_headers(out, &h);
    }
    if (status != OTP_OK) {
        otp_elf_close(out);
    }
    return status;
}

void otp_elf_close(struct otp_elf *elf)
{
    if (elf->heap != NULL) {
        otp_heap_free(elf->heap, elf->segments);
        otp_heap_free(elf->heap, elf->sections);
        otp_heap_free(elf->heap, elf->section_names);
    }
    memset(elf, 0, sizeof(*elf));
}

static void decode_section(struct otp_reader *r, struct otp_elf_section *s)
{
    s->name = otp_reader_u32_le(r);
    s->type = otp_reader_u32_le(r);
    s->flags = otp_reader_u64_le(r);
    s->addr = otp_reader_u64_le(r);
    s->offset = otp_reader_u64_le(r);
    s->size = otp_reader_u64_le(r);
    s->link = otp_reader_u32_le(r);
    s->info = otp_reader_u32_le(r);
    (void)otp_reader_u64_le(r); /* alignment */
    s->entsize = otp_reader_u64_le(r);
}

/* Reads count headers, from number first on. */
static enum otp_status read_sections(const struct otp_elf *elf, uint32_t first, uint32_t count,
                                     struct otp_elf_section *out)
{
    unsigned char raw[CHUNK_ITEMS * SHDR_BYTES];
    struct otp_reader r;

    for (uint32_t done = 0; done < count;) {
        uint32_t n = count - done > CHUNK_ITEMS ? CHUNK_ITEMS : count - done;
        uint64_t off;
        if (__builtin_add_overflow(elf->section_table_offset, ((uint64_t)first + done) * SHDR_BYTES,
                                   &off)) {
            return OTP_MALFORMED;
        }
        OTP_TRY(otp_elf_read(&elf->bytes, off, raw, (uint64_t)n * SHDR_BYTES));
        otp_reader_init(&r, raw, (uint64_t)n * SHDR_BYTES);
        for (uint32_t i = 0; i < n; i++) {
            decode_section(&r, &out[done + i]);
        }
        done += n;
    }
    return OTP_OK;
}

/* Numbers that do not fit the file header are in the first section header (gABI, "e_shnum"). */
static enum otp_status resolve_section_count(struct otp_elf *elf)
{
    struct otp_elf_section zero;

    if (elf->section_table_offset == 0) {
        return OTP_NOT_FOUND;
    }
    if (elf->section_count > 0 && elf->section_names_idx != SHN_XINDEX) {
        return OTP_OK;
    }
    OTP_TRY(read_sections(elf, 0, 1, &zero));
    if (elf->section_count == 0) {
        if (zero.size == 0) {
            return OTP_NOT_FOUND;
        }
        if (zero.size > OTP_ELF_SECTIONS_MAX) {
            return OTP_TOO_LARGE;
        }
        elf->section_count = (uint32_t)zero.size;
    }
    if (elf->section_names_idx == SHN_XINDEX) {
        elf->section_names_idx = zero.link;
    }
    return OTP_OK;
}

static bool has_content(const struct otp_elf *elf, const struct otp_elf_section *s)
{
    return s->type != SHT_NOBITS && s->type != SHT_NULL && (s->flags & SHF_COMPRESSED) == 0 &&
           inside(&elf->bytes, s->offset, s->size);
}

/* Without names sections are found by type only, so a bad table of names is no error. */
static enum otp_status read_section_names(struct otp_elf *elf)
{
    if (elf->section_names_idx >= elf->section_count) {
        return OTP_OK;
    }
    const struct otp_elf_section *s = &elf->sections[elf->section_names_idx];
    if (s->type != SHT_STRTAB || s->size > SECTION_NAMES_MAX || !has_content(elf, s)) {
        return OTP_OK;
    }
    elf->section_names = otp_heap_alloc(elf->heap, s->size);
    if (elf->section_names == NULL) {
        return OTP_NO_MEMORY;
    }
    elf->section_names_len = s->size;
    return otp_elf_read(&elf->bytes, s->offset, elf->section_names, s->size);
}

static enum otp_status load_sections(struct otp_elf *elf)
{
    OTP_TRY(resolve_section_count(elf));
    if (!inside(&elf->bytes, elf->section_table_offset,
                (uint64_t)elf->section_count * SHDR_BYTES)) {
        return OTP_TRUNCATED;
    }
    elf->sections = otp_heap_calloc(elf->heap, elf->section_count, sizeof(elf->sections[0]));
    if (elf->sections == NULL) {
        return OTP_NO_MEMORY;
    }
    OTP_TRY(read_sections(elf, 0, elf->section_count, elf->sections));
    return read_section_names(elf);
}

enum otp_status otp_elf_load_sections(struct otp_elf *elf)
{
    if (elf->sections != NULL) {
        return OTP_OK;
    }
    enum otp_status status = load_sections(elf);
    if (status != OTP_OK) {
        otp_heap_free(elf->heap, elf->sections);
        otp_heap_free(elf->heap, elf->section_names);
        elf->sections = NULL;
        elf->section_names = NULL;
        elf->section_names_len = 0;
        return status;
    }
    const struct otp_elf_section *s = otp_elf_section_named(elf, ".note.gnu.build-id");
    if (s != NULL && s->type == SHT_NOTE) {
        (void)read_notes(elf, s->offset, s->size, 4);
    }
    return OTP_OK;
}

/* Compares without looking for the end of the section's name, which may be far away. */
static bool is_named(const struct otp_elf *elf, const struct otp_elf_section *s, const char *name,
                     size_t size)
{
    return s->name <= elf->section_names_len && size <= elf->section_names_len - s->name &&
           memcmp(elf->section_names + s->name, name, size) == 0;
}

const struct otp_elf_section *otp_elf_section_named(const struct otp_elf *elf, const char *name)
{
    size_t size = strlen(name) + 1;

    for (uint32_t i = 0; elf->sections != NULL && i < elf->section_count; i++) {
        const struct otp_elf_section *s = &elf->sections[i];
        if (is_named(elf, s, name, size) && has_content(elf, s)) {
            return s;
        }
    }
    return NULL;
}

const struct otp_elf_section *otp_elf_section_of_type(const struct otp_elf *elf, uint32_t type)
{
    for (uint32_t i = 0; elf->sections != NULL && i < elf->section_count; i++) {
        if (elf->sections[i].type == type && has_content(elf, &elf->sections[i])) {
            return &elf->sections[i];
        }
    }
    return NULL;
}

const struct otp_elf_segment *otp_elf_segment_at(const struct otp_elf *elf, uint64_t vaddr)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        const struct otp_elf_segment *s = &elf->segments[i];
        if ((s->flags & PF_X) != 0 && vaddr >= s->vaddr && vaddr - s->vaddr < s->memsz) {
            return s;
        }
    }
    return NULL;
}

bool otp_elf_offset_of(const struct otp_elf *elf, uint64_t vaddr, uint64_t *out_offset)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        const struct otp_elf_segment *s = &elf->segments[i];
        if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
            *out_offset = s->file_offset + (vaddr - s->vaddr);
            return true;
        }
    }
    return false;
}

bool otp_elf_debuglink(const struct otp_elf *elf, char name[OTP_ELF_DEBUGLINK_MAX],
                       uint32_t *out_crc)
{
    unsigned char raw[OTP_ELF_DEBUGLINK_MAX + 8];
    struct otp_reader r;
    size_t len;

    const struct otp_elf_section *s = otp_elf_section_named(elf, ".gnu_debuglink");
    if (s == NULL || s->size > sizeof(raw) ||
        otp_elf_read(&elf->bytes, s->offset, raw, s->size) != OTP_OK) {
        return false;
    }
    otp_reader_init(&r, raw, s->size);
    const char *text = otp_reader_string_at(&r, 0, &len);
    if (text == NULL || len == 0 || len >= OTP_ELF_DEBUGLINK_MAX ||
        memchr(text, '/', len) != NULL) {
        return false;
    }
    otp_reader_seek(&r, (len + 1 + 3) & ~(uint64_t)3);
    *out_crc = otp_reader_u32_le(&r);
    memcpy(name, text, len + 1);
    return !r.failed;
}

bool otp_elf_has_minidebuginfo(const struct otp_elf *elf)
{
    return otp_elf_section_named(elf, ".gnu_debugdata") != NULL;
}
