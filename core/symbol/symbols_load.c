/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the names of one object from all symbol tables that there are for it. */
#include <elf.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/symbol/debugfile.h"
#include "core/symbol/dynamic.h"
#include "core/symbol/plt.h"
#include "core/symbol/symbols_impl.h"

#define SYM_BYTES 24
#define PATH_LEN_MAX 8192

/* What is open while the names are loaded. */
struct loader {
    struct otp_symbols *s;
    struct otp_elf_bytes bytes;
    struct otp_elf elf;
    struct otp_debugfile debug;
    bool has_debug;
    const struct otp_elf_bytes *files[OTP_SYMTAB_NAMES];
};

static enum otp_status open_object(struct loader *l)
{
    struct otp_symbols *s = l->s;

    if (s->file_status != OTP_OK) {
        return OTP_NOT_FOUND;
    }
    if (s->file != NULL) {
        OTP_TRY(otp_objfile_reopen(s->file, &s->id, &l->bytes));
    } else {
        l->bytes.image = s->image;
        l->bytes.len = s->image_len;
    }
    OTP_TRY(otp_elf_open(s->heap, &l->bytes, &l->elf));
    return otp_elf_load_sections(&l->elf) == OTP_NO_MEMORY ? OTP_NO_MEMORY : OTP_OK;
}

static void close_all(struct loader *l)
{
    if (l->has_debug) {
        otp_sys_close(l->debug.elf.bytes.fd);
        otp_elf_close(&l->debug.elf);
    }
    otp_buf_fini(&l->debug.path);
    otp_elf_close(&l->elf);
    if (l->bytes.fd >= 0) {
        otp_sys_close(l->bytes.fd);
    }
}

/* Places of a symbol table and its names, in the file of elf. */
static bool locate(const struct otp_elf *elf, uint32_t type, struct otp_dynamic_symbols *out)
{
    const struct otp_elf_section *symbols = otp_elf_section_of_type(elf, type);

    if (symbols == NULL || symbols->link >= elf->section_count ||
        (symbols->entsize != SYM_BYTES && symbols->entsize != 0)) {
        return false;
    }
    const struct otp_elf_section *names = &elf->sections[symbols->link];
    if (names->type != SHT_STRTAB || (names->flags & SHF_COMPRESSED) != 0) {
        return false;
    }
    out->offset = symbols->offset;
    out->count = symbols->size / SYM_BYTES;
    out->names_offset = names->offset;
    out->names_len = names->size;
    return true;
}

/* Opens the names at `at` as string table number `names` and adds the symbols. */
static enum otp_status add_table(struct loader *l, const struct otp_elf_bytes *bytes,
                                 const struct otp_dynamic_symbols *at, struct otp_symtab_part *part)
{
    struct otp_symtab *t = &l->s->table;

    part->bytes = bytes;
    part->offset = at->offset;
    part->count = at->count;
    l->files[part->names] = bytes;
    enum otp_status status =
        otp_strtab_open(&t->names[part->names], l->s->heap, bytes, at->names_offset, at->names_len);
    if (status == OTP_OK) {
        status = otp_symtab_add_part(t, part);
    }
    if (status != OTP_OK) {
        otp_strtab_close(&t->names[part->names], l->s->heap);
    }
    return status;
}

static enum otp_status add_dynamic(struct loader *l)
{
    struct otp_symtab_part part = {.names = OTP_SYMTAB_DYNAMIC};
    struct otp_strtab *names = &l->s->table.names[OTP_SYMTAB_DYNAMIC];
    struct otp_dynamic_symbols at;

    if (!locate(&l->elf, SHT_DYNSYM, &at)) {
        if (l->elf.sections != NULL) {
            return OTP_NOT_FOUND;
        }
        OTP_TRY(otp_dynamic_find(&l->elf, &at));
    }
    names->path = l->s->file;
    names->id = l->s->id;
    OTP_TRY(add_table(l, &l->bytes, &at, &part));
    return otp_plt_add(&l->s->table, &l->elf, &part);
}

static enum otp_status add_full_from_debug_file(struct loader *l, struct otp_symtab_part *part)
{
    struct otp_symbols *s = l->s;
    struct otp_strtab *names = &s->table.names[OTP_SYMTAB_FULL];
    struct otp_dynamic_symbols at;

    if (s->file == NULL) {
        return OTP_NOT_FOUND;
    }
    OTP_TRY(otp_debugfile_find(&l->elf, s->path, s->debug_root, &l->debug));
    l->has_debug = true;
    if (!locate(&l->debug.elf, SHT_SYMTAB, &at)) {
        return OTP_NOT_FOUND;
    }
    otp_heap_free(s->heap, s->debug_file);
    const char *path = otp_buf_str(&l->debug.path);
    s->debug_file = otp_heap_copy_string(s->heap, path, strlen(path));
    if (s->debug_file == NULL) {
        return OTP_NO_MEMORY;
    }
    names->path = s->debug_file;
    names->id = l->debug.id;
    return add_table(l, &l->debug.elf.bytes, &at, part);
}

static enum otp_status add_full(struct loader *l)
{
    struct otp_symtab_part part = {.names = OTP_SYMTAB_FULL};
    struct otp_strtab *names = &l->s->table.names[OTP_SYMTAB_FULL];
    struct otp_dynamic_symbols at;

    if (!locate(&l->elf, SHT_SYMTAB, &at)) {
        return add_full_from_debug_file(l, &part);
    }
    names->path = l->s->file;
    names->id = l->s->id;
    return add_table(l, &l->bytes, &at, &part);
}

/* The small tables first: growing for the large one then copies little. */
static enum otp_status add_all(struct loader *l)
{
    OTP_TRY(open_object(l));
    OTP_TRY(otp_symtab_set_ranges(&l->s->table, &l->elf));
    enum otp_status dynamic = add_dynamic(l);
    enum otp_status full = add_full(l);
    if (l->s->table.count > 0) {
        otp_symtab_finish(&l->s->table, l->files);
        return OTP_OK;
    }
    return dynamic == OTP_NO_MEMORY || full == OTP_NO_MEMORY ? OTP_NO_MEMORY : OTP_NOT_FOUND;
}

enum otp_status otp_symbols_load_names(struct otp_symbols *s)
{
    struct loader l = {.s = s, .bytes = {.fd = -1}};

    if (s->state == OTP_SYMBOLS_LOADED) {
        return s->names_status;
    }
    otp_buf_init(&l.debug.path, s->heap, PATH_LEN_MAX);
    s->names_status = add_all(&l);
    close_all(&l);
    s->state = s->names_status == OTP_NO_MEMORY ? OTP_SYMBOLS_NO_ROOM : OTP_SYMBOLS_LOADED;
    if (s->table.count == 0) {
        otp_symtab_fini(&s->table);
    }
    return s->names_status;
}
