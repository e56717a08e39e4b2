/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdw reads .dwo files and knows nothing of packages, so that a unit is taken out of them. Its
 * texts, which lie among those of all units, are copied into a table of its own: else each unit
 * would be as large as the table of the package.
 */
#include "tools/otelprof/dwp.h"

#include <fcntl.h>
#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/base/reader.h"

#define UNIT_BYTES_MAX ((uint64_t)1 << 30)
#define STR_OFFSETS_HEAD 8U /* in version 5: length, version, padding */
#define OFFSET_BYTES 4U

/* What a column of the index is about; numbers of version 5, with LOC and MACINFO of version 4 put
 * behind. */
enum part {
    PART_INFO = 1,
    PART_ABBREV = 3,
    PART_LINE,
    PART_LOCLISTS,
    PART_STR_OFFSETS,
    PART_MACRO,
    PART_RNGLISTS,
    PART_LOC,
    PARTS
};

static const char *const names[PARTS] = {[PART_INFO] = ".debug_info.dwo",
                                         [PART_ABBREV] = ".debug_abbrev.dwo",
                                         [PART_LINE] = ".debug_line.dwo",
                                         [PART_LOCLISTS] = ".debug_loclists.dwo",
                                         [PART_STR_OFFSETS] = ".debug_str_offsets.dwo",
                                         [PART_MACRO] = ".debug_macro.dwo",
                                         [PART_RNGLISTS] = ".debug_rnglists.dwo",
                                         [PART_LOC] = ".debug_loc.dwo"};

struct bytes {
    const uint8_t *data;
    uint64_t len;
};

struct otp_dwp {
    int fd;
    Elf *elf;
    struct bytes parts[PARTS];
    struct bytes texts; /* .debug_str.dwo */
    struct bytes index; /* .debug_cu_index */
};

/* ---- opening ---- */

static void take_section(struct otp_dwp *p, const char *name, struct bytes content)
{
    for (int i = 0; i < PARTS; i++) {
        if (names[i] != NULL && strcmp(name, names[i]) == 0) {
            p->parts[i] = content;
        }
    }
    if (strcmp(name, ".debug_str.dwo") == 0) {
        p->texts = content;
    } else if (strcmp(name, ".debug_cu_index") == 0) {
        p->index = content;
    }
}

static bool read_sections(struct otp_dwp *p)
{
    Elf_Scn *section = NULL;
    size_t strings;

    if (elf_kind(p->elf) != ELF_K_ELF || gelf_getclass(p->elf) != ELFCLASS64 ||
        elf_getshdrstrndx(p->elf, &strings) != 0) {
        return false;
    }
    while ((section = elf_nextscn(p->elf, section)) != NULL) {
        GElf_Shdr header;
        const Elf_Data *data;
        if (gelf_getshdr(section, &header) == NULL || (header.sh_flags & SHF_COMPRESSED) != 0 ||
            (data = elf_rawdata(section, NULL)) == NULL || data->d_buf == NULL) {
            continue;
        }
        const char *name = elf_strptr(p->elf, strings, header.sh_name);
        if (name != NULL) {
            take_section(p, name, (struct bytes){.data = data->d_buf, .len = data->d_size});
        }
    }
    return p->index.len > 0 && p->parts[PART_INFO].len > 0;
}

struct otp_dwp *otp_dwp_open(const char *path)
{
    struct otp_dwp *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        return NULL;
    }
    p->fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)elf_version(EV_CURRENT);
    p->elf = p->fd < 0 ? NULL : elf_begin(p->fd, ELF_C_READ_MMAP, NULL);
    if (p->elf == NULL || !read_sections(p)) {
        otp_dwp_close(p);
        return NULL;
    }
    return p;
}

void otp_dwp_close(struct otp_dwp *p)
{
    if (p == NULL) {
        return;
    }
    (void)elf_end(p->elf);
    if (p->fd >= 0) {
        (void)close(p->fd); /* nothing was written */
    }
    free(p);
}

/* ---- looking a unit up ---- */

/* The number of a unit's row, from 1 on; 0: there is none. r stands behind the counts. */
static uint32_t find_row(const struct otp_reader *r, uint64_t id, uint32_t slots)
{
    uint64_t mask = slots - 1U;
    uint64_t slot = id & mask;

    for (uint32_t tried = 0; slots > 0 && tried < slots; tried++) {
        struct otp_reader at = *r;
        otp_reader_seek(&at, r->pos + slot * sizeof(uint64_t));
        uint64_t found = otp_reader_u64_le(&at);
        otp_reader_seek(&at, r->pos + (uint64_t)slots * sizeof(uint64_t) + slot * OFFSET_BYTES);
        uint32_t row = otp_reader_u32_le(&at);
        if (at.failed || row == 0 || found == id) {
            return at.failed ? 0 : row;
        }
        slot = (slot + ((id >> 32 & mask) | 1U)) & mask;
    }
    return 0;
}

static enum part part_of(uint32_t column, uint32_t version)
{
    if (version == 2) {
        return column == 5 ? PART_LOC : column == 8 ? PART_MACRO : column > 6 ? 0 : column;
    }
    return column < PART_LOC ? column : 0;
}

/* What the package has of a unit. */
static bool find_unit(const struct otp_dwp *p, uint64_t id, struct bytes *out_parts, bool *out_is_5)
{
    struct otp_reader r;

    otp_reader_init(&r, p->index.data, p->index.len);
    uint32_t version = otp_reader_u32_le(&r); /* of version 5 two bytes, and two of nothing */
    uint32_t columns = otp_reader_u32_le(&r);
    uint32_t units = otp_reader_u32_le(&r);
    uint32_t slots = otp_reader_u32_le(&r);
    if (r.failed || (version != 2 && version != 5) || columns > PARTS ||
        (slots & (slots - 1)) != 0) {
        return false;
    }
    uint32_t row = find_row(&r, id, slots);
    if (row == 0 || row > units) {
        return false;
    }
    uint64_t table = r.pos + (uint64_t)slots * (sizeof(uint64_t) + OFFSET_BYTES);
    uint64_t width = (uint64_t)columns * OFFSET_BYTES;
    for (uint32_t i = 0; i < columns; i++) {
        otp_reader_seek(&r, table + i * OFFSET_BYTES);
        enum part part = part_of(otp_reader_u32_le(&r), version);
        otp_reader_seek(&r, table + row * width + i * OFFSET_BYTES);
        uint64_t offset = otp_reader_u32_le(&r);
        otp_reader_seek(&r, table + (row + units) * width + i * OFFSET_BYTES);
        uint64_t len = otp_reader_u32_le(&r);
        if (r.failed) {
            return false;
        }
        if (names[part] == NULL) {
            continue; /* types, and what no function needs */
        }
        if (len > p->parts[part].len || offset > p->parts[part].len - len) {
            return false;
        }
        if (len > 0) {
            out_parts[part] = (struct bytes){.data = p->parts[part].data + offset, .len = len};
        }
    }
    *out_is_5 = version == 5;
    return !r.failed && out_parts[PART_INFO].len > 0;
}

/* ---- texts ---- */

/* Copies of a unit's list of places of texts, and of these texts. */
struct texts {
    uint8_t *offsets;
    char *bytes;
    uint64_t len;
    uint64_t capacity;
};

static bool add_text(struct texts *t, const char *text, uint64_t len)
{
    if (t->capacity - t->len < len) {
        uint64_t capacity = t->capacity * 2 + len + 4096;
        char *bytes = capacity > UNIT_BYTES_MAX ? NULL : realloc(t->bytes, capacity);
        if (bytes == NULL) {
            return false;
        }
        t->bytes = bytes;
        t->capacity = capacity;
    }
    memcpy(t->bytes + t->len, text, len);
    t->len += len;
    return true;
}

static bool copy_texts(const struct otp_dwp *p, struct bytes offsets, bool is_5, struct texts *t)
{
    struct otp_reader texts;
    struct otp_reader r;

    otp_reader_init(&texts, p->texts.data, p->texts.len);
    otp_reader_init(&r, offsets.data, offsets.len);
    t->offsets = malloc(offsets.len + 1);
    if (t->offsets == NULL || !add_text(t, "", 1)) {
        return false;
    }
    if (offsets.len > 0) {
        memcpy(t->offsets, offsets.data, offsets.len);
    }
    otp_reader_seek(&r, is_5 ? STR_OFFSETS_HEAD : 0);
    while (!r.failed && otp_reader_left(&r) >= OFFSET_BYTES) {
        uint64_t at = r.pos;
        size_t len = 0;
        const char *text = otp_reader_string_at(&texts, otp_reader_u32_le(&r), &len);
        uint32_t place = text == NULL ? 0 : (uint32_t)t->len;
        if (text != NULL && !add_text(t, text, (uint64_t)len + 1)) {
            return false;
        }
        memcpy(t->offsets + at, &place, sizeof(place)); /* this machine's order is the file's */
    }
    return !r.failed;
}

/* ---- writing ---- */

/* Adds a section; its name is put into `table`, a list of names with NUL behind each. */
static bool add_section(Elf *out, struct bytes content, uint32_t type, size_t name)
{
    Elf_Scn *section = elf_newscn(out);
    Elf_Data *data = section == NULL ? NULL : elf_newdata(section);
    GElf_Shdr header;

    if (data == NULL || gelf_getshdr(section, &header) == NULL) {
        return false;
    }
    data->d_buf = (void *)(uintptr_t)content.data; /* is only read */
    data->d_size = content.len;
    data->d_type = ELF_T_BYTE;
    data->d_align = 1;
    header.sh_name = (GElf_Word)name;
    header.sh_type = type;
    header.sh_flags = type == SHT_PROGBITS ? SHF_EXCLUDE : 0;
    header.sh_addralign = 1;
    return gelf_update_shdr(section, &header) != 0;
}

static bool write_elf(Elf *out, const struct bytes *parts, const struct texts *t)
{
    char table[512] = "";
    size_t len = 1;
    GElf_Ehdr header;
    bool ok = gelf_newehdr(out, ELFCLASS64) != NULL && gelf_getehdr(out, &header) != NULL;

    for (int i = 0; i <= PARTS && ok; i++) {
        const char *name = i == PARTS ? ".debug_str.dwo" : names[i];
        struct bytes content =
            i == PARTS ? (struct bytes){(const uint8_t *)t->bytes, t->len} : parts[i];
        if (name == NULL || content.len == 0) {
            continue;
        }
        ok = add_section(out, content, SHT_PROGBITS, len);
        memcpy(table + len, name, strlen(name) + 1);
        len += strlen(name) + 1;
    }
    memcpy(table + len, ".shstrtab", sizeof(".shstrtab"));
    struct bytes all = {.data = (const uint8_t *)table, .len = len + sizeof(".shstrtab")};
    ok = ok && add_section(out, all, SHT_STRTAB, len);
    Elf_Scn *last = ok ? elf_getscn(out, 0) : NULL;
    for (Elf_Scn *s = last; (s = elf_nextscn(out, s)) != NULL;) {
        last = s;
    }
    if (last == NULL) {
        return false;
    }
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shstrndx = (GElf_Half)elf_ndxscn(last);
    return gelf_update_ehdr(out, &header) != 0 && elf_update(out, ELF_C_WRITE) >= 0;
}

bool otp_dwp_write(const struct otp_dwp *p, uint64_t unit_id, int fd)
{
    struct bytes parts[PARTS] = {{.data = NULL}};
    struct texts t = {.bytes = NULL};
    bool is_5;

    if (!find_unit(p, unit_id, parts, &is_5)) {
        return false;
    }
    bool ok = copy_texts(p, parts[PART_STR_OFFSETS], is_5, &t);
    Elf *out = ok ? elf_begin(fd, ELF_C_WRITE, NULL) : NULL;
    parts[PART_STR_OFFSETS].data = t.offsets;
    ok = out != NULL && write_elf(out, parts, &t);
    (void)elf_end(out);
    free(t.offsets);
    free(t.bytes);
    return ok;
}
