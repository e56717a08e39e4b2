/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/snapshot.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/buf.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/snapshot_table.h"
#include "core/capture/thread.h"
#include "core/symbol/maps.h"

#define MAX_OBJECTS 4096U
#define HEADER_BYTES 2048U
#define NOTE_BYTES 512U
#define PAUSE_MIN_NS UINT64_C(20000000) /* between two looks that somebody wanted */
#define PAUSE_MAX_NS UINT64_C(1000000000)
#define PAUSE_SHARE 50U /* a look takes at most so small a part of the worker's time */
#define PAGE_MASK (~(uint64_t)4095)

struct builder {
    struct otp_heap *heap;
    struct otp_object *objects;
    uint32_t count;
    uint64_t last_inode;
    uint32_t last_dev;
    uint64_t hash; /* of all lines: unchanged means nothing to do */
    int mem;       /* /proc/self/mem: reading what was unmapped fails instead of killing */
};

static uint64_t built_hash;
static struct otp_snapshot *retired;
static uintptr_t permanent_starts[MAX_OBJECTS];
static uint32_t permanent_count;
static bool has_start;

static void read_build_id(struct builder *b, struct otp_object *o, uint64_t at, uint64_t len)
{
    unsigned char notes[NOTE_BYTES];
    len = len > sizeof(notes) ? sizeof(notes) : len;
    if (otp_sys_pread_full(b->mem, notes, (size_t)len, at) != (long)len) {
        return;
    }
    otp_object_read_build_id(o, notes, (size_t)len);
}

/* Fills an object from the ELF header in memory; false: not an ELF object. */
static bool describe(struct builder *b, struct otp_object *o)
{
    union {
        unsigned char bytes[HEADER_BYTES];
        Elf64_Ehdr header;
    } first;
    if (otp_sys_pread_full(b->mem, first.bytes, sizeof(first), o->start) <
            (long)sizeof(Elf64_Ehdr) ||
        memcmp(first.bytes, ELFMAG, SELFMAG) != 0 ||
        first.header.e_phentsize != sizeof(Elf64_Phdr) || first.header.e_phoff > HEADER_BYTES ||
        first.header.e_phnum > (HEADER_BYTES - first.header.e_phoff) / sizeof(Elf64_Phdr)) {
        return false;
    }
    bool has_bias = false;
    for (unsigned i = 0; i < first.header.e_phnum; i++) {
        Elf64_Phdr ph;
        memcpy(&ph, first.bytes + first.header.e_phoff + i * sizeof(ph), sizeof(ph));
        if (ph.p_type == PT_LOAD && !has_bias) {
            o->bias = o->start - (ph.p_vaddr & PAGE_MASK);
            has_bias = true;
        } else if (ph.p_type == PT_GNU_EH_FRAME) {
            o->eh_frame_hdr = ph.p_vaddr;
        } else if (ph.p_type == PT_NOTE && o->build_id_len == 0) {
            read_build_id(b, o, o->bias + ph.p_vaddr, ph.p_memsz);
        }
    }
    o->eh_frame_hdr = o->eh_frame_hdr == 0 ? 0 : o->eh_frame_hdr + o->bias;
    o->is_main = first.header.e_type == ET_EXEC;
    return has_bias;
}

static void set_name(struct otp_object *o, const struct otp_maps_entry *e)
{
    bool is_vdso = e->name.len == 6 && memcmp(e->name.data, "[vdso]", 6) == 0;
    struct otp_text name = is_vdso ? otp_text_of("linux-vdso.so.1") : e->name;
    size_t len = name.len < OTP_OBJECT_NAME_MAX ? name.len : OTP_OBJECT_NAME_MAX;
    memcpy(o->name, name.data, len);
    o->name_len = (uint16_t)len;
}

static bool visit(void *arg, const struct otp_maps_entry *e)
{
    struct builder *b = arg;
    uint32_t dev = e->dev_major << 20 | e->dev_minor;
    b->hash =
        otp_hash_mix(otp_hash_mix(b->hash, e->start), e->end ^ e->inode << 20 ^ e->offset << 8);
    struct otp_object *last = b->count == 0 ? NULL : &b->objects[b->count - 1];
    bool is_vdso = e->name.len == 6 && memcmp(e->name.data, "[vdso]", 6) == 0;
    if (e->inode == 0 && !is_vdso) {
        b->last_inode = 0;
        return true;
    }
    if (last != NULL && !is_vdso && e->inode == b->last_inode && dev == b->last_dev &&
        e->offset != 0) {
        last->end = e->end;
        return true;
    }
    b->last_inode = 0;
    if (e->offset != 0 || (e->perms & OTP_MAPS_READ) == 0 || b->count == MAX_OBJECTS) {
        return true;
    }
    struct otp_object *o = &b->objects[b->count];
    memset(o, 0, sizeof(*o));
    o->start = e->start;
    o->end = e->end;
    if (describe(b, o)) {
        set_name(o, e);
        b->last_inode = e->inode;
        b->last_dev = dev;
        b->count++;
    }
    return true;
}

static bool is_permanent(uintptr_t start)
{
    for (uint32_t i = 0; i < permanent_count; i++) {
        if (permanent_starts[i] == start) {
            return true;
        }
    }
    return false;
}

/* The table that was replaced is given back once no capture can be using it. */
static void reclaim(void)
{
    if (retired == NULL) {
        return;
    }
    /* The exchange that replaced it was a full barrier, a refresh ago. */
    struct otp_thread *t;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        /* Also one that has ended: what it still frees and allocates may be sampled. */
        if (otp_load_acquire(&t->state) != OTP_THREAD_FREE && otp_load_acquire(&t->busy) != 0) {
            return;
        }
    }
    otp_hotmem_unmap(retired, retired->bytes);
    retired = NULL;
}

static void publish(const struct builder *b, uint32_t epoch)
{
    size_t bytes = sizeof(struct otp_snapshot) + b->count * sizeof(struct otp_snapshot_entry);
    struct otp_snapshot *s = otp_hotmem_map(bytes);
    if (s == NULL) {
        return;
    }
    s->bytes = bytes;
    s->epoch = epoch;
    s->count = b->count;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct otp_object *o = &b->objects[i];
        struct otp_snapshot_entry *e = &s->entries[i];
        e->range.start = o->start;
        e->range.end = o->end;
        e->range.eh_frame_hdr = o->eh_frame_hdr;
        e->range.number = otp_object_number(o);
        if (!has_start) {
            permanent_starts[permanent_count++] = o->start;
        }
        e->is_permanent = is_permanent(o->start);
    }
    has_start = true;
    retired = otp_exchange_acq_rel(&otp_snapshot_current, s); /* pairs: SNAPSHOT */
}

/* True when there is a new table. */
static bool refresh(struct otp_heap *heap)
{
    bool is_new = false;
    reclaim();
    otp_store_release(&otp_snapshot_is_missed, 0);
    uint32_t epoch = otp_load_acquire(&otp_unload_epoch);
    struct builder b = {.heap = heap, .mem = otp_sys_open("/proc/self/mem", O_RDONLY, 0)};
    b.objects = otp_heap_alloc(heap, MAX_OBJECTS * sizeof(b.objects[0]));
    if (retired == NULL && b.mem >= 0 && b.objects != NULL &&
        otp_maps_read(heap, NULL, visit, &b) == OTP_OK && b.count > 0 &&
        otp_load_acquire(&otp_unload_epoch) == epoch) {
        bool is_same = b.hash == built_hash && otp_snapshot_current != NULL &&
                       otp_snapshot_current->epoch == epoch;
        if (!is_same) {
            publish(&b, epoch);
            built_hash = b.hash;
            is_new = true;
        }
    }
    if (b.mem >= 0) {
        otp_sys_close(b.mem);
    }
    otp_heap_free(heap, b.objects);
    return is_new;
}

void otp_snapshot_refresh(struct otp_heap *heap)
{
    if (otp_snapshot_is_needed()) {
        (void)refresh(heap);
    }
}

uint64_t otp_snapshot_follow(struct otp_heap *heap)
{
    static uint64_t pause_ns = PAUSE_MIN_NS;
    static uint64_t next_ns;
    if (otp_load_acquire(&otp_snapshot_is_missed) == 0 || !otp_snapshot_is_needed()) {
        return UINT64_MAX;
    }
    uint64_t began_ns = otp_sys_monotonic_ns();
    if (began_ns < next_ns) {
        return next_ns;
    }
    bool is_new = refresh(heap);
    uint64_t took_ns = otp_sys_monotonic_ns() - began_ns;
    pause_ns = is_new ? PAUSE_MIN_NS : pause_ns * 2;
    pause_ns = pause_ns > took_ns * PAUSE_SHARE ? pause_ns : took_ns * PAUSE_SHARE;
    pause_ns = pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
    next_ns = began_ns + pause_ns;
    return UINT64_MAX;
}
