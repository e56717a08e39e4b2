/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the thread context's slot is. The object that defines it is found by the symbol tables of
 * the loaded objects; its thread-local block by what the loader keeps of the object. That record of
 * the loader's has no public layout: the place in it is recognised by four words in a row that are
 * known from the object's own program header (image, sizes, alignment), behind which the block's
 * offset and number stand. The generation of a block comes from the loader's table of blocks, which
 * is recognised by that it names the object under that number. Whatever is not recognised: no slot.
 *
 * Source: glibc, include/link.h (struct link_map), elf/dl-tls.c, sysdeps/generic/ldsodefs.h.
 */
#include "core/capture/slot.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/capture/capture.h"
#include "core/base/peek.h"

#define SLOT_NAME "otel_thread_ctx_v1"
#define LOADER_NAME "_rtld_global"
#define MAX_OBJECTS 4096
#define MAX_ENTRIES 64U  /* of a dynamic section */
#define MAX_HEADERS 32U  /* program headers */
#define MAX_CHAIN 65536U /* symbols of one hash chain */
#define MAP_WORDS 256U   /* of the loader's record of an object, */
#define MAP_STEP 16U     /* read so many at a time */
#define MAX_MODULES 4096U
#define TRIES_MAX 50U /* looks in quick succession at what is not to be understood yet */
#define MAX_LISTS 64
#define LOADER_BYTES_MAX ((uint64_t)65536)
#define OFFSET_MAX ((uint64_t)1 << 30)
/* What the loader writes for a block that has no fixed offset (yet). */
#define NO_OFFSET ((uint64_t)0)
#define DYNAMIC_OFFSET UINT64_MAX

#pragma weak _r_debug

/* One loaded object; map is the loader's record. */
struct object {
    uintptr_t map;
    struct link_map link; /* a copy of what of it is public */
    bool is_first;
};

/* The tables of an object by which symbols are looked up. */
struct tables {
    uintptr_t symbols;
    uintptr_t strings;
    uintptr_t gnu_hash;
    uintptr_t sysv_hash;
};

/* Before there are threads nothing can go away, and reading needs no care. */
static bool is_direct;

/* What was seen when the objects were last looked through. */
static struct {
    uint32_t epoch;
    uintptr_t last_map;
    uintptr_t last_dynamic;
    bool is_done;
    bool has_slot;
    uintptr_t blocks;    /* the loader's table of them; 0: not found yet */
    struct object owner; /* of the slot, and */
    Elf64_Sym symbol;    /* its symbol */
    struct otp_slot_place place;
} seen;

static bool copy(void *to, uintptr_t from, size_t len)
{
    if (is_direct) {
        memcpy(to, (const void *)from, len);
        return true;
    }
    return otp_peek_one(to, from, len);
}

static bool get_object(uintptr_t map, struct object *out)
{
    out->map = map;
    return map != 0 && copy(&out->link, map, sizeof(out->link));
}

static uintptr_t first_map(void)
{
    return &_r_debug == NULL ? 0 : (uintptr_t)_r_debug.r_map;
}

/* glibc adds the load address to these entries in memory. */
static uintptr_t pointer_of(uintptr_t bias, uintptr_t value)
{
    return value < bias ? bias + value : value;
}

static bool read_tables(const struct object *o, struct tables *out)
{
    uintptr_t at = (uintptr_t)o->link.l_ld;
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; at != 0 && i < MAX_ENTRIES; i++, at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn d;
        if (!copy(&d, at, sizeof(d)) || d.d_tag == DT_NULL) {
            break;
        }
        uintptr_t p = pointer_of(o->link.l_addr, d.d_un.d_ptr);
        if (d.d_tag == DT_SYMTAB) {
            out->symbols = p;
        } else if (d.d_tag == DT_STRTAB) {
            out->strings = p;
        } else if (d.d_tag == DT_GNU_HASH) {
            out->gnu_hash = p;
        } else if (d.d_tag == DT_HASH) {
            out->sysv_hash = p;
        }
    }
    return out->symbols != 0 && out->strings != 0;
}

/* Whether symbol idx is defined here and has that name; len counts the NUL. */
static bool is_symbol(const struct tables *t, uint32_t idx, const char *name, size_t len,
                      Elf64_Sym *out)
{
    char text[32];
    return copy(out, t->symbols + (uintptr_t)idx * sizeof(*out), sizeof(*out)) &&
           out->st_shndx != SHN_UNDEF && len <= sizeof(text) &&
           copy(text, t->strings + out->st_name, len) && memcmp(text, name, len) == 0;
}

static bool find_gnu(const struct tables *t, const char *name, Elf64_Sym *out)
{
    uint32_t head[4]; /* buckets, first symbol, words of the filter, shift */
    uint64_t filter;
    uint32_t idx;
    uint32_t h = 5381;
    size_t len = strlen(name) + 1;
    for (const char *c = name; *c != '\0'; c++) {
        h = h * 33 + (unsigned char)*c;
    }
    if (!copy(head, t->gnu_hash, sizeof(head)) || head[0] == 0 || head[2] == 0) {
        return false;
    }
    uintptr_t filters = t->gnu_hash + sizeof(head);
    uintptr_t buckets = filters + (uintptr_t)head[2] * 8;
    uintptr_t chain = buckets + (uintptr_t)head[0] * 4;
    if (!copy(&filter, filters + (uintptr_t)((h / 64) & (head[2] - 1)) * 8, 8) ||
        ((filter >> (h % 64)) & (filter >> ((h >> (head[3] & 31)) % 64)) & 1) == 0 ||
        !copy(&idx, buckets + (uintptr_t)(h % head[0]) * 4, 4) || idx < head[1]) {
        return false;
    }
    for (unsigned i = 0; i < MAX_CHAIN; i++, idx++) {
        uint32_t entry;
        if (!copy(&entry, chain + (uintptr_t)(idx - head[1]) * 4, 4)) {
            return false;
        }
        if ((entry | 1) == (h | 1) && is_symbol(t, idx, name, len, out)) {
            return true;
        }
        if ((entry & 1) != 0) {
            return false;
        }
    }
    return false;
}

static bool find_sysv(const struct tables *t, const char *name, Elf64_Sym *out)
{
    uint32_t head[2]; /* buckets, symbols */
    uint32_t idx;
    uint32_t h = 0;
    size_t len = strlen(name) + 1;
    for (const char *c = name; *c != '\0'; c++) {
        h = (h << 4) + (unsigned char)*c;
        h ^= (h & 0xf0000000U) >> 24;
        h &= 0x0fffffffU;
    }
    if (!copy(head, t->sysv_hash, sizeof(head)) || head[0] == 0) {
        return false;
    }
    uintptr_t at = t->sysv_hash + sizeof(head) + (uintptr_t)(h % head[0]) * 4;
    uintptr_t chain = t->sysv_hash + sizeof(head) + (uintptr_t)head[0] * 4;
    for (unsigned i = 0; i < MAX_CHAIN && copy(&idx, at, 4) && idx != 0 && idx < head[1]; i++) {
        if (is_symbol(t, idx, name, len, out)) {
            return true;
        }
        at = chain + (uintptr_t)idx * 4;
    }
    return false;
}

static bool find_symbol(const struct object *o, const char *name, Elf64_Sym *out)
{
    struct tables t;
    if (!read_tables(o, &t)) {
        return false;
    }
    if (t.gnu_hash != 0) {
        return find_gnu(&t, name, out);
    }
    return t.sysv_hash != 0 && find_sysv(&t, name, out);
}

/* The program header of the object's thread-local data. */
static bool find_tls_header(const struct object *o, Elf64_Phdr *out)
{
    uintptr_t at = 0;
    size_t count = 0;
    if (o->is_first && o->link.l_addr == 0) {
        at = (uintptr_t)getauxval(AT_PHDR);
        count = (size_t)getauxval(AT_PHNUM);
    } else {
        Elf64_Ehdr eh;
        if (!copy(&eh, o->link.l_addr, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
            eh.e_phentsize != sizeof(*out)) {
            return false;
        }
        at = o->link.l_addr + eh.e_phoff;
        count = eh.e_phnum;
    }
    for (size_t i = 0; at != 0 && i < count && i < MAX_HEADERS; i++) {
        if (!copy(out, at + i * sizeof(*out), sizeof(*out))) {
            return false;
        }
        if (out->p_type == PT_TLS) {
            return true;
        }
    }
    return false;
}

/* The beginning of the loader's record, as far as it can be read; words. */
static size_t read_map(const struct object *o, uint64_t words[MAP_WORDS])
{
    size_t count = 0;
    while (count < MAP_WORDS && otp_peek_one(words + count, o->map + count * 8, MAP_STEP * 8)) {
        count += MAP_STEP;
    }
    return count;
}

/* What the loader says of the object's thread-local block. */
static bool read_block(const struct object *o, uint64_t *out_offset, uint64_t *out_module)
{
    enum { IMAGE, IMAGE_BYTES, BLOCK_BYTES, ALIGNMENT, FIRST_BYTE, OFFSET, MODULE, WORDS };
    Elf64_Phdr ph;
    if (!find_tls_header(o, &ph)) {
        return false;
    }
    const uint64_t known[] = {o->link.l_addr + ph.p_vaddr, ph.p_filesz, ph.p_memsz, ph.p_align};
    uint64_t words[MAP_WORDS];
    size_t count = read_map(o, words);
    for (size_t i = sizeof(o->link) / 8; i + WORDS <= count; i++) {
        if (memcmp(words + i, known, sizeof(known)) == 0) {
            *out_offset = words[i + OFFSET];
            *out_module = words[i + MODULE];
            return *out_module > 0 && *out_module < MAX_MODULES;
        }
    }
    return false;
}

/* Whether the list that begins at list says which object has that number: then since when. */
static bool read_generation(uintptr_t list, const struct object *o, uint64_t module, uint64_t *out)
{
    uint64_t head[2];  /* entries, next part of the list */
    uint64_t entry[2]; /* generation, object */
    for (int i = 0; i < MAX_LISTS && list != 0 && list % 8 == 0; i++) {
        if (!copy(head, list, sizeof(head)) || head[0] == 0 || head[0] > MAX_MODULES) {
            return false;
        }
        if (module < head[0]) {
            *out = 0;
            if (!copy(entry, list + sizeof(head) + module * sizeof(entry), sizeof(entry))) {
                return false;
            }
            *out = entry[0];
            return entry[1] == o->map;
        }
        module -= head[0];
        list = head[1];
    }
    return false;
}

/* Looks for the table of blocks in the loader's own data. */
static bool search_loader(const struct object *loader, const Elf64_Sym *s, const struct object *o,
                          uint64_t module, uint64_t *out)
{
    uintptr_t at = loader->link.l_addr + s->st_value;
    uint64_t word;
    for (uint64_t n = 0; n + 8 <= s->st_size && copy(&word, at + n, 8); n += 8) {
        if (word > 4096 && word % 8 == 0 && word >> 47 == 0 &&
            read_generation(word, o, module, out)) {
            seen.blocks = word;
            return true;
        }
    }
    return false;
}

static bool find_generation(const struct object *o, uint64_t module, uint64_t *out)
{
    struct object loader = {0};
    Elf64_Sym s;
    if (seen.blocks != 0 && read_generation(seen.blocks, o, module, out)) {
        return true;
    }
    uintptr_t map = first_map();
    for (int i = 0; i < MAX_OBJECTS && get_object(map, &loader); i++) {
        if (find_symbol(&loader, LOADER_NAME, &s) && ELF64_ST_TYPE(s.st_info) == STT_OBJECT &&
            s.st_size <= LOADER_BYTES_MAX) {
            return search_loader(&loader, &s, o, module, out);
        }
        map = (uintptr_t)loader.link.l_next;
    }
    return false;
}

/* Where the slot is that symbol s of object o names; a kind of NONE: nowhere that we know. */
static void locate(const struct object *o, const Elf64_Sym *s, struct otp_slot_place *out)
{
    uint64_t offset;
    uint64_t module;
    out->kind = OTP_SLOT_NONE;
    if (!read_block(o, &offset, &module)) {
        return;
    }
    if (offset != NO_OFFSET && offset != DYNAMIC_OFFSET) {
        if (offset <= OFFSET_MAX && s->st_value < offset) {
            out->kind = OTP_SLOT_STATIC;
            out->offset = s->st_value - offset;
        }
    } else if (find_generation(o, module, &out->generation)) {
        out->kind = OTP_SLOT_DYNAMIC;
        out->offset = s->st_value;
        out->module = module;
    }
}

static bool is_slot(const Elf64_Sym *s)
{
    return ELF64_ST_TYPE(s->st_info) == STT_TLS && s->st_size == sizeof(void *);
}

/* Walks the objects; the first that defines the slot is the one that all references mean. */
static void look_through(uint32_t epoch)
{
    struct object o = {.is_first = true};
    uintptr_t map = first_map();
    seen.has_slot = false;
    for (int i = 0; i < MAX_OBJECTS && get_object(map, &o); i++) {
        if (!seen.has_slot && find_symbol(&o, SLOT_NAME, &seen.symbol) && is_slot(&seen.symbol)) {
            seen.has_slot = true;
            seen.owner = o;
        }
        seen.last_map = map;
        seen.last_dynamic = (uintptr_t)o.link.l_ld;
        map = (uintptr_t)o.link.l_next;
        o.is_first = false;
    }
    seen.epoch = epoch;
    seen.is_done = map == 0;
}

/* New objects are hung in behind the last one. */
static bool is_unchanged(uint32_t epoch)
{
    struct object o;
    return seen.is_done && seen.epoch == epoch && get_object(seen.last_map, &o) &&
           (uintptr_t)o.link.l_ld == seen.last_dynamic && o.link.l_next == NULL;
}

static void publish(uint32_t epoch, bool is_permanent)
{
    struct otp_slot_place place = {.epoch = epoch, .is_permanent = is_permanent};
    if (seen.has_slot) {
        locate(&seen.owner, &seen.symbol, &place);
    }
    if (memcmp(&place, &seen.place, sizeof(place)) != 0) {
        seen.place = place;
        otp_slot_publish(&place);
    }
}

void otp_slot_start(void)
{
    is_direct = true;
    look_through(otp_load_acquire(&otp_unload_epoch));
    publish(seen.epoch, true);
    is_direct = false;
}

void otp_slot_look_again(void)
{
    if (seen.place.is_permanent == 0 || seen.place.kind == OTP_SLOT_NONE) {
        memset(&seen, 0, sizeof(seen));
    }
}

bool otp_slot_refresh(void)
{
    static uint32_t tries;
    uint32_t epoch = otp_load_acquire(&otp_unload_epoch);
    if (seen.place.is_permanent != 0 && seen.place.kind != OTP_SLOT_NONE) {
        return false; /* what the program began with stays */
    }
    tries = seen.epoch == epoch ? tries + 1 : 0;
    if (!is_unchanged(epoch)) {
        look_through(epoch);
    } else if (!seen.has_slot || seen.place.kind == OTP_SLOT_STATIC) {
        return false;
    }
    publish(epoch, false);
    bool is_open = !seen.is_done || (seen.has_slot && seen.place.kind == OTP_SLOT_NONE);
    return is_open && tries < TRIES_MAX;
}
