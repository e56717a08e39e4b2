/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the calling thread's record. The writer is this very thread, which stands still while its
 * handler runs, so a writer that keeps to the rules is never seen half way. One that does not (the
 * record belongs to another thread, or is not mapped) must do no harm: each look is a copy that may
 * fail, and the head is copied once more at the end and must be the same.
 */
#include "core/capture/slot.h"

#include <string.h>

#include "core/base/atomic.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/base/peek.h"

/* Source: OTEP 4947, "Thread-Local Context Record". */
struct record {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t valid;
    uint8_t trace_flags;
    uint16_t attr_bytes;
};

_Static_assert(sizeof(struct record) == 28, "OTEP 4947");

#define VALID 1

uint32_t otp_slot_kind;
static uint32_t sequence; /* odd: being changed */
static uint32_t is_ignored;
static struct otp_slot_place current;

void otp_slot_publish(const struct otp_slot_place *p)
{
    (void)otp_add_acq_rel(&sequence, 1);
    current = *p;
    (void)otp_add_acq_rel(&sequence, 1); /* pairs: SLOT */
    otp_store_release(&otp_slot_kind, p->kind);
}

static bool get_place(struct otp_slot_place *out)
{
    uint32_t before = otp_load_acquire(&sequence); /* pairs: SLOT */
    *out = current;
    otp_signal_fence(); /* the processor keeps loads in order */
    return (before & 1) == 0 && otp_load_relaxed(&sequence) == before &&
           (out->is_permanent != 0 || out->epoch == otp_load_acquire(&otp_unload_epoch));
}

void otp_slot_after_fork(void)
{
    if ((sequence & 1) != 0) {
        memset(&current, 0, sizeof(current));
        otp_store_relaxed(&otp_slot_kind, OTP_SLOT_NONE);
        (void)otp_add_acq_rel(&sequence, 1);
    }
}

void otp_slot_ignore(bool value)
{
    otp_store_relaxed(&is_ignored, value);
}

/* The thread's table of blocks. Source: glibc, sysdeps/x86_64/nptl/tls.h and dl-dtv.h. */
struct block {
    uint64_t value; /* of entry -1: entries; of entry 0: generation; else the address */
    uint64_t to_free;
};

#define UNALLOCATED UINT64_MAX

static uintptr_t block_table(void)
{
    uintptr_t table;
    __asm__("mov %%fs:8, %0" : "=r"(table));
    return table;
}

/* Address of the slot in a block that this thread may not have; 0: it has none. */
static uintptr_t dynamic_slot(const struct otp_slot_place *p)
{
    struct block head[2];
    struct block b;
    uintptr_t table = block_table();
    const struct otp_peek pieces[] = {
        {.to = head, .from = table - sizeof(b), .len = sizeof(head)},
        {.to = &b, .from = table + p->module * sizeof(b), .len = sizeof(b)},
    };
    if (!otp_peek(pieces, 2) || head[0].value < p->module || head[1].value < p->generation ||
        b.value == UNALLOCATED || b.value == 0) {
        return 0;
    }
    return b.value + p->offset;
}

static bool read_pointer(const struct otp_slot_place *p, uintptr_t *out)
{
    if (p->kind == OTP_SLOT_STATIC) {
        *out = *(const volatile uintptr_t *)(otp_arch_thread_pointer() + p->offset);
        return true;
    }
    uintptr_t at = p->kind == OTP_SLOT_DYNAMIC ? dynamic_slot(p) : 0;
    return at != 0 && otp_peek_one(out, at, sizeof(*out));
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

/* What a look at a record has brought. */
struct look {
    struct record head;
    struct record again; /* the head, when all else was copied */
    uint16_t attr_bytes; /* copied */
};

/* Bytes of attributes that the last record had: as many are copied with the head of the next. */
static uint32_t usual_bytes;

/* One call for all of it: what has room in max bytes of attributes, or nothing. */
static bool look_at(uintptr_t at, struct look *k, uint8_t *attrs, size_t max)
{
    const struct otp_peek pieces[] = {
        {.to = &k->head, .from = at, .len = sizeof(k->head)},
        {.to = &k->again, .from = at, .len = sizeof(k->again)},
        {.to = attrs, .from = at + sizeof(k->head), .len = max},
        {.to = &k->again, .from = at, .len = sizeof(k->again)},
    };
    if (max == 0) {
        k->attr_bytes = 0;
        return otp_peek(pieces, 2);
    }
    if (!otp_peek(pieces, 4)) {
        return false;
    }
    k->attr_bytes = k->head.attr_bytes < max ? k->head.attr_bytes : (uint16_t)max;
    return true;
}

/* Whether the head is valid and stays the same while attributes, if it has any, are copied. */
static bool read_record(uintptr_t at, struct record *head, struct otp_tag *t)
{
    struct look k;
    if (at % 2 != 0) {
        return false;
    }
    if (!look_at(at, &k, t->data, otp_load_relaxed(&usual_bytes)) && !look_at(at, &k, NULL, 0)) {
        return false;
    }
    if (k.head.valid != VALID) {
        return false;
    }
    size_t wanted = k.head.attr_bytes < OTP_TAG_ATTRS_MAX ? k.head.attr_bytes : OTP_TAG_ATTRS_MAX;
    bool is_short = k.attr_bytes < wanted && !look_at(at, &k, t->data, wanted);
    if (is_short && !look_at(at, &k, NULL, 0)) {
        return false;
    }
    otp_store_relaxed(&usual_bytes, is_short ? 0 : (uint32_t)wanted);
    t->attr_bytes = k.attr_bytes;
    t->lost = (uint16_t)(t->lost + (k.head.attr_bytes > k.attr_bytes)); /* too much, or not there */
    *head = k.head;
    return k.head.valid == VALID && memcmp(&k.head, &k.again, sizeof(k.head)) == 0;
}

void otp_slot_read(struct otp_tag *t)
{
    struct otp_slot_place place;
    struct record head;
    uintptr_t at;
    uintptr_t now;
    uint16_t lost = t->lost;
    if (otp_load_relaxed(&is_ignored) != 0 || !get_place(&place) || !read_pointer(&place, &at) ||
        at == 0) {
        return;
    }
    if (!read_record(at, &head, t) || !read_pointer(&place, &now) || now != at) {
        t->attr_bytes = 0;
        t->lost = lost;
        return;
    }
    bool is_link = !is_zero(head.trace_id, sizeof(head.trace_id)) &&
                   !is_zero(head.span_id, sizeof(head.span_id));
    if (is_link && is_zero(t->span_id, sizeof(t->span_id))) {
        memcpy(t->trace_id, head.trace_id, sizeof(t->trace_id));
        memcpy(t->span_id, head.span_id, sizeof(t->span_id));
    }
}
