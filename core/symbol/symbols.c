/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/symbols.h"

#include <elf.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/symbol/symbols_impl.h"

static const char deleted_mark[] = " (deleted)";
static const char default_debug_root[] = "/usr/lib/debug";

/* Length of a path without the kernel's mark of deleted files. */
static size_t clean_len(const char *path)
{
    size_t len = strlen(path);
    size_t mark = sizeof(deleted_mark) - 1;

    return len > mark && memcmp(path + len - mark, deleted_mark, mark) == 0 ? len - mark : len;
}

static bool same_build_id(const struct otp_symbol_source *source, const struct otp_elf *elf)
{
    return source->build_id_len == 0 ||
           (source->build_id_len == elf->build_id_len &&
            memcmp(source->build_id, elf->build_id, elf->build_id_len) == 0);
}

/* Reads the headers and takes identity and segments when it is the object that source tells of. */
static enum otp_status identify(struct otp_symbols *s, const struct otp_symbol_source *source,
                                const struct otp_elf_bytes *bytes)
{
    struct otp_elf elf;

    OTP_TRY(otp_elf_open(s->heap, bytes, &elf));
    enum otp_status status = OTP_OK;
    if (elf.build_id_len == 0 && otp_elf_load_sections(&elf) == OTP_NO_MEMORY) {
        status = OTP_NO_MEMORY;
    }
    if (status == OTP_OK && !same_build_id(source, &elf)) {
        status = OTP_NOT_FOUND;
    }
    if (status == OTP_OK) {
        status = otp_htlhash(bytes, s->htlhash_hex);
    }
    if (status == OTP_OK) {
        otp_build_id_hex(elf.build_id, elf.build_id_len, s->build_id_hex);
        s->segments = elf.segments;
        s->segment_count = elf.segment_count;
        elf.segments = NULL;
    }
    otp_elf_close(&elf);
    return status;
}

static enum otp_status identify_file(struct otp_symbols *s, const struct otp_symbol_source *source,
                                     const char *path)
{
    struct otp_elf_bytes bytes;

    OTP_TRY(otp_objfile_open(path, &bytes, &s->id));
    enum otp_status status = identify(s, source, &bytes);
    otp_sys_close(bytes.fd);
    if (status == OTP_OK) {
        s->file = otp_heap_copy_string(s->heap, path, strlen(path));
        status = s->file == NULL ? OTP_NO_MEMORY : OTP_OK;
    }
    return status;
}

/* Worth another candidate? What was wrong with a file is worth more than that one was missing. */
static bool go_on(enum otp_status status, enum otp_status *worst)
{
    if (status != OTP_OK && status != OTP_NOT_FOUND) {
        *worst = status;
    }
    return status != OTP_OK && status != OTP_NO_MEMORY;
}

/* Tries the candidates in order. A file may really be called "x (deleted)"; then s->path gets that
 * name. The clean path of a marked one may be another program by now: only with a build id. */
static enum otp_status identify_any(struct otp_symbols *s, const struct otp_symbol_source *source)
{
    enum otp_status status = OTP_NOT_FOUND;
    enum otp_status worst = OTP_NOT_FOUND;
    bool marked = strlen(source->path) != strlen(s->path);

    if (source->image != NULL) {
        struct otp_elf_bytes bytes = {.fd = -1, .image = source->image, .len = source->image_len};
        return identify(s, source, &bytes);
    }
    if (source->alt_path != NULL) {
        status = identify_file(s, source, source->alt_path);
    }
    if (go_on(status, &worst)) {
        status = identify_file(s, source, source->path);
        if (status == OTP_OK && marked) {
            otp_heap_free(s->heap, s->path);
            s->path = otp_heap_copy_string(s->heap, source->path, strlen(source->path));
            return s->path == NULL ? OTP_NO_MEMORY : OTP_OK;
        }
    }
    if (go_on(status, &worst) && marked && source->build_id_len > 0) {
        status = identify_file(s, source, s->path);
    }
    return go_on(status, &worst) ? worst : status;
}

enum otp_status otp_symbols_open(struct otp_heap *heap, const struct otp_symbol_source *source,
                                 struct otp_symbols **out)
{
    const char *root = source->debug_root == NULL ? default_debug_root : source->debug_root;

    *out = NULL;
    if (source->path == NULL || source->build_id_len > OTP_ELF_BUILD_ID_MAX) {
        return OTP_INVALID;
    }
    struct otp_symbols *s = otp_heap_calloc(heap, 1, sizeof(*s));
    if (s == NULL) {
        return OTP_NO_MEMORY;
    }
    s->heap = heap;
    s->table.heap = heap;
    s->image = source->image;
    s->image_len = source->image_len;
    otp_buf_init(&s->name, heap, OTP_STRTAB_NAME_MAX * 2);
    s->path = otp_heap_copy_string(heap, source->path, clean_len(source->path));
    s->debug_root = otp_heap_copy_string(heap, root, strlen(root));
    s->file_status =
        s->path == NULL || s->debug_root == NULL ? OTP_NO_MEMORY : identify_any(s, source);
    if (s->file_status == OTP_NO_MEMORY) {
        otp_symbols_destroy(s);
        return OTP_NO_MEMORY;
    }
    if (s->file_status != OTP_OK) {
        s->htlhash_hex[0] = '\0';
        otp_build_id_hex(source->build_id, source->build_id_len, s->build_id_hex);
    }
    *out = s;
    return OTP_OK;
}

void otp_symbols_destroy(struct otp_symbols *s)
{
    if (s == NULL) {
        return;
    }
    otp_symtab_fini(&s->table);
    otp_buf_fini(&s->name);
    otp_heap_free(s->heap, s->segments);
    otp_heap_free(s->heap, s->path);
    otp_heap_free(s->heap, s->file);
    otp_heap_free(s->heap, s->debug_file);
    otp_heap_free(s->heap, s->debug_root);
    otp_heap_free(s->heap, s);
}

enum otp_status otp_symbols_file_status(const struct otp_symbols *s)
{
    return s->file_status;
}

const char *otp_symbols_path(const struct otp_symbols *s)
{
    return s->path;
}

const char *otp_symbols_build_id_hex(const struct otp_symbols *s)
{
    return s->build_id_hex;
}

const char *otp_symbols_htlhash_hex(const struct otp_symbols *s)
{
    return s->htlhash_hex;
}

const struct otp_elf_segment *otp_symbols_segment(const struct otp_symbols *s, uint64_t elf_vaddr)
{
    for (size_t i = 0; i < s->segment_count; i++) {
        const struct otp_elf_segment *segment = &s->segments[i];
        if ((segment->flags & PF_X) != 0 && elf_vaddr >= segment->vaddr &&
            elf_vaddr - segment->vaddr < segment->memsz) {
            return segment;
        }
    }
    return NULL;
}

const struct otp_elf_segment *otp_symbols_segments(const struct otp_symbols *s, size_t *out_count)
{
    *out_count = s->segment_count;
    return s->segments;
}

size_t otp_symbols_count(const struct otp_symbols *s)
{
    return s->table.count;
}

/* The name of a linkage table entry is put together behind its function's name in s->name. */
static bool add_stub_suffix(struct otp_symbols *s, struct otp_text *name)
{
    if (name->data != (const char *)s->name.data) {
        otp_buf_clear(&s->name);
        (void)otp_buf_add(&s->name, name->data, name->len);
    }
    s->name.len = name->len;
    (void)otp_buf_add_str(&s->name, "@plt");
    *name = otp_text_make((const char *)s->name.data, s->name.len);
    return otp_buf_ok(&s->name);
}

bool otp_symbols_at(struct otp_symbols *s, size_t idx, struct otp_symbol *out)
{
    if (idx >= s->table.count) {
        return false;
    }
    const struct otp_symtab_entry *e = &s->table.entries[idx];
    const struct otp_strtab *names = &s->table.names[otp_symtab_names_of(e)];
    if (!otp_strtab_get(names, NULL, e->name, &s->name, &out->name) || out->name.len == 0) {
        return false;
    }
    const char *version = memchr(out->name.data + 1, '@', out->name.len - 1);
    if (version != NULL) {
        out->name.len = (size_t)(version - out->name.data);
    }
    out->start = otp_symtab_start(e);
    out->size = e->size;
    return !otp_symtab_is_stub(e) || add_stub_suffix(s, &out->name);
}

bool otp_symbols_find(struct otp_symbols *s, uint64_t elf_vaddr, struct otp_symbol *out)
{
    if (s->state == OTP_SYMBOLS_UNTRIED) {
        (void)otp_symbols_load_names(s);
    }
    size_t idx = otp_symtab_find(&s->table, elf_vaddr);
    return idx != OTP_SYMTAB_NONE && otp_symbols_at(s, idx, out);
}
