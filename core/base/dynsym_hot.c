/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/dynsym.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Weak, so that the library asks for no loader by name: a program of another libc, that has neither
 * that file nor these names, must start as well. musl has a pointer to the same structure instead.
 */
#pragma weak _r_debug
extern struct r_debug *_dl_debug_addr __attribute__((weak));

#define MAX_OBJECTS 4096
#define VERSION_HIDDEN 0x8000U

/* The tables of one loaded object. */
struct tables {
    uintptr_t bias;
    const Elf64_Sym *symtab;
    const char *strtab;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const uint16_t *versions;
    bool stays; /* is never unloaded */
};

/* glibc adds the load address to these entries in memory, except for the vdso. */
static uintptr_t pointer_of(uintptr_t bias, uintptr_t value)
{
    return value < bias ? bias + value : value;
}

static bool read_tables(uintptr_t bias, const ElfW(Dyn) * dynamic, struct tables *out)
{
    memset(out, 0, sizeof(*out));
    out->bias = bias;
    if (dynamic == NULL) {
        return false;
    }
    for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++) {
        uintptr_t p = pointer_of(out->bias, d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB) {
            out->symtab = (const Elf64_Sym *)p;
        } else if (d->d_tag == DT_STRTAB) {
            out->strtab = (const char *)p;
        } else if (d->d_tag == DT_GNU_HASH) {
            out->gnu_hash = (const uint32_t *)p;
        } else if (d->d_tag == DT_HASH) {
            out->sysv_hash = (const uint32_t *)p;
        } else if (d->d_tag == DT_VERSYM) {
            out->versions = (const uint16_t *)p;
        } else if (d->d_tag == DT_FLAGS_1) {
            out->stays = (d->d_un.d_val & DF_1_NODELETE) != 0;
        }
    }
    return out->symtab != NULL && out->strtab != NULL;
}

static void *accept(const struct tables *t, uint32_t idx, const char *name)
{
    const Elf64_Sym *s = &t->symtab[idx];
    unsigned type = ELF64_ST_TYPE(s->st_info);
    if (s->st_shndx == SHN_UNDEF || s->st_value == 0 || strcmp(t->strtab + s->st_name, name) != 0) {
        return NULL;
    }
    if (t->versions != NULL && (t->versions[idx] & VERSION_HIDDEN) != 0) {
        return NULL;
    }
    /* An indirect function would have to be called to be resolved; none of those looked for is one.
     */
    return type == STT_FUNC || type == STT_NOTYPE ? (void *)(t->bias + s->st_value) : NULL;
}

static void *find_gnu(const struct tables *t, const char *name)
{
    uint32_t h = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c != 0; c++) {
        h = h * 33 + *c;
    }
    const uint32_t *g = t->gnu_hash;
    uint32_t nbuckets = g[0];
    uint32_t first = g[1];
    uint32_t words = g[2];
    uint32_t shift = g[3];
    if (nbuckets == 0 || words == 0) {
        return NULL;
    }
    const uint64_t *bloom = (const uint64_t *)(const void *)(g + 4);
    uint64_t word = bloom[(h / 64) & (words - 1)];
    if (((word >> (h % 64)) & (word >> ((h >> shift) % 64)) & 1U) == 0) {
        return NULL;
    }
    const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + words);
    const uint32_t *chain = buckets + nbuckets;
    uint32_t idx = buckets[h % nbuckets];
    if (idx < first) {
        return NULL;
    }
    for (;; idx++) {
        uint32_t entry = chain[idx - first];
        void *p = (entry | 1U) == (h | 1U) ? accept(t, idx, name) : NULL;
        if (p != NULL || (entry & 1U) != 0) {
            return p;
        }
    }
}

static void *find_sysv(const struct tables *t, const char *name)
{
    uint32_t h = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c != 0; c++) {
        h = (h << 4) + *c;
        h ^= (h & 0xf0000000U) >> 24;
        h &= 0x0fffffffU;
    }
    uint32_t nbuckets = t->sysv_hash[0];
    uint32_t nchain = t->sysv_hash[1];
    const uint32_t *buckets = t->sysv_hash + 2;
    const uint32_t *chain = buckets + nbuckets;
    if (nbuckets == 0) {
        return NULL;
    }
    uint32_t left = nchain;
    for (uint32_t i = buckets[h % nbuckets]; i != 0 && i < nchain && left-- > 0; i = chain[i]) {
        void *p = accept(t, i, name);
        if (p != NULL) {
            return p;
        }
    }
    return NULL;
}

void *otp_dynsym_find_in(uintptr_t bias, const void *dynamic, const char *name, bool *out_stays)
{
    struct tables t;
    if (!read_tables(bias, dynamic, &t)) {
        return NULL;
    }
    *out_stays = t.stays;
    if (t.gnu_hash != NULL) {
        return find_gnu(&t, name);
    }
    return t.sysv_hash != NULL ? find_sysv(&t, name) : NULL;
}

/* An object is known here by its dynamic section, which no two share. */
static const struct link_map *map_after(const struct link_map *first, const void *own_dynamic)
{
    const struct link_map *m = first;
    for (int i = 0; m != NULL && i < MAX_OBJECTS; i++, m = m->l_next) {
        if (m->l_ld == own_dynamic) {
            return m->l_next;
        }
    }
    return first;
}

bool otp_dynsym_is_glibc(void)
{
    return &_r_debug != NULL;
}

static const struct link_map *first_map(void)
{
    if (otp_dynsym_is_glibc()) {
        return _r_debug.r_map;
    }
    return &_dl_debug_addr != NULL && _dl_debug_addr != NULL ? _dl_debug_addr->r_map : NULL;
}

struct otp_dynsym otp_dynsym_find(const char *name, const void *own_dynamic)
{
    struct otp_dynsym found = {0};
    const struct link_map *m = first_map();
    if (own_dynamic != NULL) {
        m = map_after(m, own_dynamic);
    }
    for (int i = 0; m != NULL && i < MAX_OBJECTS; i++, m = m->l_next) {
        /* The vdso has no name a function could be looked up by here, and unrelocated tables. */
        if (m->l_name != NULL && strncmp(m->l_name, "linux-vdso", 10) == 0) {
            continue;
        }
        bool stays;
        found.addr = otp_dynsym_find_in(m->l_addr, m->l_ld, name, &stays);
        if (found.addr != NULL) {
            found.object = m;
            return found;
        }
    }
    return found;
}
