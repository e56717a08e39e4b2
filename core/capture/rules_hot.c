/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/rules.h"

#include <stddef.h>

#include "core/base/atomic.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/capture/capture.h"

#define SLOTS 16384U
#define KEY_BUSY UINT64_C(1) /* no key: its address would be 0 */
#define OFFSET_BITS 22
#define OFFSET_LIMIT (1 << (OFFSET_BITS - 1))

struct slot {
    uint64_t key;   /* address in the upper 48 bits, epoch in the lower 16; 0: empty */
    uint64_t value; /* object 16, kind 2, two flags, rbp offset 22, cfa offset 22 */
};

static struct slot *table;

static struct slot *get_table(void)
{
    return otp_hotmem_share((otp_hotmem_slot *)&table, SLOTS * sizeof(*table));
}

static uint64_t key_of(uintptr_t addr)
{
    return (uint64_t)addr << 16 | (otp_load_relaxed(&otp_unload_epoch) & 0xffffU);
}

static struct slot *slot_of(struct slot *t, uint64_t key)
{
    return &t[(key * 0x9e3779b97f4a7c15U) >> 50];
}

_Static_assert(SLOTS == 1U << (64 - 50), "the shift above");

static uint64_t pack(const struct otp_known_rule *k)
{
    uint64_t mask = (UINT64_C(1) << OFFSET_BITS) - 1;
    /* A complex rule has no use for the first flag: there it says unsafe. */
    bool first = k->rule.kind == OTP_RULE_COMPLEX ? k->rule.is_unsafe : k->rule.is_cfa_from_rbp;
    return (uint64_t)k->object << 48 | (uint64_t)k->rule.kind << 46 | (uint64_t)first << 45 |
           (uint64_t)k->rule.is_rbp_saved << 44 |
           ((uint64_t)(uint32_t)k->rule.rbp_offset & mask) << OFFSET_BITS |
           ((uint64_t)(uint32_t)k->rule.cfa_offset & mask);
}

static int32_t signed_offset(uint64_t bits)
{
    uint32_t v = (uint32_t)bits << (32 - OFFSET_BITS);
    return (int32_t)v >> (32 - OFFSET_BITS);
}

static void unpack(uint64_t value, struct otp_known_rule *out)
{
    out->object = (uint32_t)(value >> 48);
    out->rule.kind = (enum otp_rule_kind)(value >> 46 & 3U);
    bool first = (value >> 45 & 1U) != 0;
    out->rule.is_cfa_from_rbp = first && out->rule.kind != OTP_RULE_COMPLEX;
    out->rule.is_unsafe = first && out->rule.kind == OTP_RULE_COMPLEX;
    out->rule.is_rbp_saved = (value >> 44 & 1U) != 0;
    out->rule.rbp_offset = signed_offset(value >> OFFSET_BITS);
    out->rule.cfa_offset = signed_offset(value);
}

bool otp_rules_find(uintptr_t addr, struct otp_known_rule *out)
{
    struct slot *t = otp_load_acquire(&table);
    if (t == NULL) {
        return false;
    }
    uint64_t key = key_of(addr);
    struct slot *s = slot_of(t, key);
    if (otp_load_acquire(&s->key) != key) { /* pairs: RULE-KEY */
        return false;
    }
    uint64_t value = otp_load_acquire(&s->value);
    if (otp_load_relaxed(&s->key) != key) {
        return false;
    }
    unpack(value, out);
    return true;
}

void otp_rules_add(uintptr_t addr, const struct otp_known_rule *known)
{
    struct slot *t = get_table();
    bool fits = known->rule.cfa_offset < OFFSET_LIMIT && known->rule.rbp_offset < OFFSET_LIMIT &&
                known->rule.cfa_offset >= -OFFSET_LIMIT &&
                known->rule.rbp_offset >= -OFFSET_LIMIT && known->object <= 0xffffU;
    if (t == NULL || !fits) {
        return;
    }
    uint64_t key = key_of(addr);
    struct slot *s = slot_of(t, key);
    uint64_t before = otp_load_relaxed(&s->key);
    /* One writer at a time: who finds the slot busy or loses the exchange leaves it to the other.
     */
    if (before == KEY_BUSY || !otp_cas_acq_rel(&s->key, &before, KEY_BUSY)) {
        return;
    }
    otp_store_release(&s->value, pack(known));
    otp_store_release(&s->key, key); /* pairs: RULE-KEY */
}
