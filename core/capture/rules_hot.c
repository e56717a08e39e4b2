/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/rules.h"

#include <stddef.h>

#include "core/base/atomic.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/capture/capture.h"

#define SLOT_BITS_MIN 8U
#define SLOT_BITS_MAX 14U
#define KEY_BUSY UINT64_C(1) /* no key: its address would be 0 */
#define CFA_BITS 22
#define RBP_BITS 21
#define KEPT_BITS                                                                                  \
    OTP_RULE_KEPT_OFFSET_BITS /* of CFA_BITS; the rest is what is added to the word                \
                               */
_Static_assert(KEPT_BITS + OTP_RULE_KEPT_ADD_BITS == CFA_BITS, "one after the other");

struct slot {
    uint64_t key;   /* address in the upper 48 bits, epoch in the lower 16; 0: empty */
    uint64_t value; /* object 16, kind 3, two flags, rbp offset 21, cfa offset (and addend) 22 */
};

static struct slot *table;
static uint32_t slot_bits = SLOT_BITS_MAX;

void otp_rules_set_limit(size_t bytes)
{
    uint32_t bits = SLOT_BITS_MAX;
    while (bits > SLOT_BITS_MIN && sizeof(*table) << bits > bytes) {
        bits--;
    }
    slot_bits = bits;
}

static struct slot *get_table(void)
{
    return otp_hotmem_share((otp_hotmem_slot *)&table, sizeof(*table) << slot_bits);
}

static uint64_t key_of(uintptr_t addr)
{
    return (uint64_t)addr << 16 | (otp_load_relaxed(&otp_unload_epoch) & 0xffffU);
}

static struct slot *slot_of(struct slot *t, uint64_t key)
{
    return &t[(key * 0x9e3779b97f4a7c15U) >> (64 - slot_bits)];
}

static uint64_t mask_of(unsigned bits)
{
    return (UINT64_C(1) << bits) - 1;
}

static bool is_within(int32_t value, unsigned bits)
{
    int32_t limit = 1 << (bits - 1);
    return value >= -limit && value < limit;
}

static bool has_room(const struct otp_rule *r)
{
    return is_within(r->rbp_offset, RBP_BITS) && is_within(r->cfa_offset, CFA_BITS);
}

static uint64_t pack(const struct otp_known_rule *k)
{
    /* A complex rule has no use for the first flag: there it says unsafe. */
    bool first = k->rule.kind == OTP_RULE_COMPLEX ? k->rule.is_unsafe : k->rule.is_cfa_from_rbp;
    uint64_t cfa = (uint64_t)(uint32_t)k->rule.cfa_offset & mask_of(CFA_BITS);
    if (k->rule.kind == OTP_RULE_KEPT) {
        cfa = (cfa & mask_of(KEPT_BITS)) | (uint64_t)(uint32_t)k->rule.cfa_add << KEPT_BITS;
    }
    return (uint64_t)k->object << 48 | (uint64_t)k->rule.kind << 45 | (uint64_t)first << 44 |
           (uint64_t)k->rule.is_rbp_saved << 43 |
           ((uint64_t)(uint32_t)k->rule.rbp_offset & mask_of(RBP_BITS)) << CFA_BITS | cfa;
}

static int32_t signed_offset(uint64_t value, unsigned bits)
{
    uint32_t v = (uint32_t)value << (32 - bits);
    return (int32_t)v >> (32 - bits);
}

static void unpack(uint64_t value, struct otp_known_rule *out)
{
    out->object = (uint32_t)(value >> 48);
    out->rule.kind = (enum otp_rule_kind)(value >> 45 & 7U);
    bool first = (value >> 44 & 1U) != 0;
    bool is_kept = out->rule.kind == OTP_RULE_KEPT;
    out->rule.is_cfa_from_rbp = first && out->rule.kind != OTP_RULE_COMPLEX;
    out->rule.is_unsafe = first && out->rule.kind == OTP_RULE_COMPLEX;
    out->rule.is_rbp_saved = (value >> 43 & 1U) != 0;
    out->rule.rbp_offset = signed_offset(value >> CFA_BITS, RBP_BITS);
    out->rule.cfa_offset = signed_offset(value, is_kept ? KEPT_BITS : CFA_BITS);
    out->rule.cfa_add = is_kept ? (int32_t)(value >> KEPT_BITS & mask_of(CFA_BITS - KEPT_BITS)) : 0;
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
    if (t == NULL || known->object > 0xffffU || !has_room(&known->rule)) {
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
