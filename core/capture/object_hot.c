/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/object.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/base/real.h"
#include "core/capture/capture.h"
#include "core/capture/snapshot.h"

#define CHUNK_OBJECTS 32U
#define MAX_CHUNKS 512U
#define MAX_OBJECTS (CHUNK_OBJECTS * MAX_CHUNKS)
#define HASH_SLOTS                                                                                 \
    4096U /* each leads to the newest object of that hash; older ones follow by chain */
#define MAX_CHAIN 64

/* Result of _dl_find_object. Source: glibc manual, "Dynamic Linker Introspection". */
struct found {
    unsigned long long flags;
    void *map_start;
    void *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

struct entry {
    struct otp_object object;
    uint32_t older; /* number of the next object in the same hash slot */
};

static struct entry *chunks[MAX_CHUNKS];
static uint32_t next_number = 1;
static uint32_t slots[HASH_SLOTS];

static struct entry *entry_of(uint32_t number)
{
    if (number == OTP_OBJECT_NONE || number >= MAX_OBJECTS) {
        return NULL;
    }
    struct entry *c = otp_load_acquire(&chunks[number / CHUNK_OBJECTS]);
    return c == NULL ? NULL : &c[number % CHUNK_OBJECTS];
}

static struct entry *claim(uint32_t *out_number)
{
    uint32_t number = otp_add_relaxed(&next_number, 1);
    if (number >= MAX_OBJECTS) {
        otp_store_relaxed(&next_number, MAX_OBJECTS);
        return NULL;
    }
    struct entry **slot = &chunks[number / CHUNK_OBJECTS];
    if (otp_hotmem_share((otp_hotmem_slot *)slot, CHUNK_OBJECTS * sizeof(**slot)) == NULL) {
        return NULL;
    }
    *out_number = number;
    return entry_of(number);
}

void otp_object_read_build_id(struct otp_object *o, const void *notes, size_t len)
{
    const unsigned char *bytes = notes;
    size_t pos = 0;
    while (len - pos >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr n;
        memcpy(&n, bytes + pos, sizeof(n));
        size_t name_len = ((size_t)n.n_namesz + 3) & ~(size_t)3;
        size_t desc_len = ((size_t)n.n_descsz + 3) & ~(size_t)3;
        pos += sizeof(n);
        if (name_len > len - pos || desc_len > len - pos - name_len) {
            return;
        }
        const unsigned char *name = bytes + pos;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            n.n_descsz <= OTP_OBJECT_BUILD_ID_MAX) {
            memcpy(o->build_id, name + name_len, n.n_descsz);
            o->build_id_len = (uint8_t)n.n_descsz;
            return;
        }
        pos += name_len + desc_len;
    }
}

/* Reads the ELF header that the loader mapped at the object's start. */
static void read_headers(struct otp_object *o)
{
    Elf64_Ehdr eh;
    if (o->end - o->start < sizeof(eh)) {
        return;
    }
    memcpy(&eh, (const void *)o->start, sizeof(eh));
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_phentsize != sizeof(Elf64_Phdr) ||
        eh.e_phoff > 4096 || eh.e_phnum > 64 ||
        eh.e_phoff + eh.e_phnum * sizeof(Elf64_Phdr) > o->end - o->start) {
        return;
    }
    for (unsigned i = 0; i < eh.e_phnum && o->build_id_len == 0; i++) {
        Elf64_Phdr ph;
        memcpy(&ph, (const void *)(o->start + eh.e_phoff + i * sizeof(ph)), sizeof(ph));
        uintptr_t at = o->bias + ph.p_vaddr;
        if (ph.p_type == PT_NOTE && at >= o->start && at < o->end && ph.p_memsz <= o->end - at) {
            otp_object_read_build_id(o, (const void *)at, ph.p_memsz);
        }
    }
}

static void read_name(struct otp_object *o, const char *name)
{
    size_t len = 0;
    while (name != NULL && len < OTP_OBJECT_NAME_MAX && name[len] != '\0') {
        len++;
    }
    memcpy(o->name, name == NULL ? "" : name, len);
    o->name_len = (uint16_t)len;
    o->is_main = len == 0;
}

static void describe(struct otp_object *o, const struct found *f, uint32_t epoch)
{
    memset(o, 0, sizeof(*o));
    o->start = (uintptr_t)f->map_start;
    o->end = (uintptr_t)f->map_end;
    o->bias = f->link_map->l_addr;
    o->eh_frame_hdr = (uintptr_t)f->eh_frame;
    o->map = (uintptr_t)f->link_map;
    o->epoch = epoch;
    read_name(o, f->link_map->l_name);
    read_headers(o);
}

static bool is_same_place(const struct otp_object *o, const struct found *f)
{
    return o->start == (uintptr_t)f->map_start && o->end == (uintptr_t)f->map_end &&
           o->map == (uintptr_t)f->link_map && o->eh_frame_hdr == (uintptr_t)f->eh_frame;
}

static bool is_same_object(const struct otp_object *a, const struct otp_object *b)
{
    return a->bias == b->bias && a->name_len == b->name_len && a->build_id_len == b->build_id_len &&
           memcmp(a->build_id, b->build_id, a->build_id_len) == 0 &&
           memcmp(a->name, b->name, a->name_len) == 0;
}

static uint32_t *slot_of(uintptr_t start)
{
    return &slots[otp_hash_mix(0, start) & (HASH_SLOTS - 1)];
}

/* Gives o a number. newest: what the slot held when it was searched. */
static uint32_t add(uint32_t *slot, uint32_t newest, const struct otp_object *o)
{
    uint32_t number;
    struct entry *e = claim(&number);
    if (e == NULL) {
        otp_count(OTP_COUNT_OBJECTS_FULL, OTP_OF_BOTH, 1);
        return OTP_OBJECT_NONE;
    }
    e->object = *o;
    do {
        e->older = newest;
    } while (!otp_cas_acq_rel(slot, &newest, number)); /* pairs: OBJECT-PUBLISH */
    return number;
}

/* The number of what f describes: known in this epoch, known from before, or new. */
static uint32_t number_of(const struct found *f)
{
    uint32_t epoch = otp_load_acquire(&otp_unload_epoch);
    uint32_t *slot = slot_of((uintptr_t)f->map_start);
    uint32_t newest = otp_load_acquire(slot); /* pairs: OBJECT-PUBLISH */
    struct otp_object now;
    bool is_described = false;
    uint32_t n = newest;
    for (int i = 0; n != OTP_OBJECT_NONE && i < MAX_CHAIN; i++) {
        struct entry *e = entry_of(n);
        if (is_same_place(&e->object, f)) {
            if (otp_load_relaxed(&e->object.epoch) == epoch) {
                return n;
            }
            if (!is_described) {
                describe(&now, f, epoch);
                is_described = true;
            }
            if (is_same_object(&e->object, &now)) {
                otp_store_relaxed(&e->object.epoch, epoch);
                return n;
            }
        }
        n = e->older;
    }
    describe(&now, f, epoch);
    return add(slot, newest, &now);
}

uint32_t otp_object_number(const struct otp_object *o)
{
    uint32_t *slot = slot_of(o->start);
    uint32_t newest = otp_load_acquire(slot); /* pairs: OBJECT-PUBLISH */
    uint32_t n = newest;
    for (int i = 0; n != OTP_OBJECT_NONE && i < MAX_CHAIN; i++, n = entry_of(n)->older) {
        const struct otp_object *known = &entry_of(n)->object;
        if (known->start == o->start && known->end == o->end && is_same_object(known, o)) {
            return n;
        }
    }
    return add(slot, newest, o);
}

bool otp_object_find(uintptr_t pc, struct otp_object_range *out)
{
    struct found f;
    if (otp_real.find_object == NULL) {
        return otp_snapshot_find(pc, out);
    }
    if (otp_real.find_object((void *)pc, &f) != 0) {
        return false;
    }
    out->start = (uintptr_t)f.map_start;
    out->end = (uintptr_t)f.map_end;
    out->eh_frame_hdr = (uintptr_t)f.eh_frame;
    out->number = number_of(&f);
    return true;
}

const struct otp_object *otp_object_get(uint32_t number)
{
    struct entry *e = entry_of(number);
    return e == NULL ? NULL : &e->object;
}
