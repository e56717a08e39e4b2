/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/cfi.h"

#include <string.h>

#include "core/base/probe.h"

#define ENC_OMIT 0xffU
#define ENC_ABSPTR 0x00U
#define ENC_SDATA4 0x0bU
#define ENC_UDATA4 0x03U
#define ENC_PCREL 0x10U
#define ENC_DATAREL 0x30U
#define ENC_FORMAT 0x0fU
#define ENC_BASE 0x70U
#define REG_HANDED_MAX 1U /* rax and rdx; DWARF numbers of the System V psABI */
#define REG_FRAME 6U      /* rbp */
#define REG_STACK 7U      /* rsp */
#define REG_RETURN 16U
#define STACK_DEPTH 8U /* nested DW_CFA_remember_state */
#define MAX_INSTRUCTIONS 4096U

/* A position in the object's memory; after a read that is not possible everything reads as 0. */
struct cursor {
    const struct otp_object_range *object;
    struct otp_probe *probe;
    uintptr_t pos;
    uintptr_t end;
    bool failed;
};

/* How one register is found. */
enum where {
    WHERE_SAME,
    WHERE_OFFSET,
    WHERE_UNDEFINED,
    WHERE_AT_FRAME,
    WHERE_REGISTER,
    WHERE_OTHER
};

struct place {
    enum where where;
    int64_t offset;
};

/* How the frame is found: a register and an offset, or by an expression of a known form. */
enum cfa_kind {
    CFA_PLAIN,
    CFA_PLT,       /* of a linkage table: depends on the place within its entry */
    CFA_REALIGNED, /* saved at rbp + cfa_offset, by functions that realign their stack */
    CFA_KEPT,      /* what is saved at the register + cfa_offset, plus cfa_add */
    CFA_OTHER,
    CFA_UNSAFE /* other, and with a memory access */
};

/* What the instructions have said so far. */
struct row {
    uint64_t cfa_register; /* REG_STACK, REG_FRAME or something else */
    int64_t cfa_offset;
    int64_t cfa_add;
    enum cfa_kind cfa_kind;
    struct place frame;
    struct place ret;
    struct place stack;
    struct place handed[REG_HANDED_MAX + 1]; /* rax and rdx */
};

struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t pointer_encoding;
    bool is_signal;
    bool has_augmentation;
    uintptr_t program;
    uintptr_t end;
};

struct machine {
    struct row row;
    struct row initial;
    struct row saved[STACK_DEPTH];
    uint32_t depth;
    uintptr_t loc;
    const struct cie *cie;
};

static const void *take(struct cursor *c, size_t len)
{
    if (c->failed || len > c->end - c->pos || c->pos < c->object->start ||
        c->end > c->object->end || !otp_probe_is_readable(c->probe, c->pos, len)) {
        c->failed = true;
        return NULL;
    }
    const void *p = (const void *)c->pos;
    c->pos += len;
    return p;
}

static uint64_t number(struct cursor *c, size_t len)
{
    uint64_t v = 0;
    const void *p = take(c, len);
    if (p != NULL) {
        memcpy(&v, p, len);
    }
    return v;
}

static uint64_t uleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t b = number(c, 1);
        v |= (b & 0x7fU) << shift;
        if ((b & 0x80U) == 0) {
            return v;
        }
    }
    c->failed = true;
    return 0;
}

static int64_t sleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint64_t b = number(c, 1);
        v |= (b & 0x7fU) << shift;
        shift += 7;
        if ((b & 0x80U) == 0) {
            if ((b & 0x40U) != 0 && shift < 64) {
                v |= ~UINT64_C(0) << shift;
            }
            return (int64_t)v;
        }
    }
    c->failed = true;
    return 0;
}

static size_t encoded_size(uint8_t encoding)
{
    static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8, 0, 0, 0};
    return sizes[encoding & ENC_FORMAT];
}

/* A pointer in one of the encodings that linkers write; others fail. */
static uintptr_t encoded(struct cursor *c, uint8_t encoding, uintptr_t data_base)
{
    uintptr_t at = c->pos;
    size_t size = encoded_size(encoding);
    uint64_t v = size == 0 ? 0 : number(c, size);
    if ((encoding & ENC_FORMAT) == ENC_SDATA4) {
        v = (uint64_t)(int64_t)(int32_t)v;
    }
    uint8_t base = encoding & ENC_BASE;
    if (size == 0 || (base != 0 && base != ENC_PCREL && base != ENC_DATAREL)) {
        c->failed = true;
        return 0;
    }
    return base == ENC_PCREL ? at + v : base == ENC_DATAREL ? data_base + v : v;
}

static struct cursor cursor_at(const struct cursor *like, uintptr_t pos, uintptr_t end)
{
    struct cursor c = *like;
    c.pos = pos;
    c.end = end;
    c.failed = pos < like->object->start || pos > like->object->end || end < pos ||
               end > like->object->end;
    return c;
}

/* Binary search in .eh_frame_hdr for the entry that may hold addr; 0: none. */
static uintptr_t find_fde(struct cursor *c, uintptr_t addr)
{
    uintptr_t base = c->pos;
    uint64_t version = number(c, 1);
    uint8_t frame_encoding = (uint8_t)number(c, 1);
    uint8_t count_encoding = (uint8_t)number(c, 1);
    uint8_t table_encoding = (uint8_t)number(c, 1);
    if (version != 1 || table_encoding != (ENC_DATAREL | ENC_SDATA4) ||
        count_encoding == ENC_OMIT) {
        return 0;
    }
    (void)encoded(c, frame_encoding, base);
    uint64_t count = encoded(c, count_encoding, base);
    uintptr_t table = c->pos;
    if (c->failed || count == 0 || count > (c->object->end - table) / 8) {
        return 0;
    }
    uint64_t low = 0;
    uint64_t high = count;
    while (high - low > 1) { /* entry low begins at or before addr, entry high behind it */
        uint64_t mid = low + (high - low) / 2;
        *c = cursor_at(c, table + mid * 8, c->object->end);
        uintptr_t start = base + (uintptr_t)(int64_t)(int32_t)number(c, 4);
        if (start <= addr) {
            low = mid;
        } else {
            high = mid;
        }
    }
    *c = cursor_at(c, table + low * 8, c->object->end);
    uintptr_t start = base + (uintptr_t)(int64_t)(int32_t)number(c, 4);
    uintptr_t fde = base + (uintptr_t)(int64_t)(int32_t)number(c, 4);
    return c->failed || start > addr ? 0 : fde;
}

static bool read_augmentation(struct cursor *c, struct cie *cie, const char *text)
{
    if (text[0] == '\0') {
        return true;
    }
    if (text[0] != 'z') {
        return false;
    }
    cie->has_augmentation = true;
    uint64_t len = uleb(c);
    uintptr_t behind = c->pos + len;
    for (const char *a = text + 1; *a != '\0'; a++) {
        if (*a == 'R') {
            cie->pointer_encoding = (uint8_t)number(c, 1);
        } else if (*a == 'L') {
            (void)number(c, 1);
        } else if (*a == 'P') {
            uint8_t encoding = (uint8_t)number(c, 1);
            (void)take(c, encoded_size(encoding));
        } else if (*a == 'S') {
            cie->is_signal = true;
        } else if (*a != 'B') {
            return false;
        }
    }
    *c = cursor_at(c, behind, c->end);
    return !c->failed;
}

static bool read_cie(struct cursor *c, struct cie *cie)
{
    memset(cie, 0, sizeof(*cie));
    uint64_t len = number(c, 4);
    *c = cursor_at(c, c->pos, c->pos + len);
    cie->end = c->end;
    uint64_t id = number(c, 4);
    uint64_t version = number(c, 1);
    char text[8] = {0};
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = (char)number(c, 1);
        if (text[i] == '\0') {
            break;
        }
    }
    if (c->failed || id != 0 || (version != 1 && version != 3) || text[sizeof(text) - 1] != '\0') {
        return false;
    }
    cie->code_align = uleb(c);
    cie->data_align = sleb(c);
    cie->return_register = version == 1 ? number(c, 1) : uleb(c);
    bool is_read = read_augmentation(c, cie, text);
    cie->program = c->pos;
    return is_read && !c->failed;
}

static struct place *place_of(struct row *row, uint64_t reg)
{
    if (reg <= REG_HANDED_MAX) {
        return &row->handed[reg];
    }
    return reg == REG_FRAME    ? &row->frame
           : reg == REG_RETURN ? &row->ret
           : reg == REG_STACK  ? &row->stack
                               : NULL;
}

/* A factored offset; of no value that makes sense does the product wrap around. */
static int64_t scaled(const struct machine *m, uint64_t factor)
{
    return (int64_t)(factor * (uint64_t)m->cie->data_align);
}

static void set_place(struct row *row, uint64_t reg, enum where where, int64_t offset)
{
    struct place *p = place_of(row, reg);
    if (p != NULL) {
        p->where = where;
        p->offset = offset;
    }
}

static void restore_place(struct machine *m, uint64_t reg)
{
    struct place *p = place_of(&m->row, reg);
    if (p != NULL) {
        *p = *place_of(&m->initial, reg);
    }
}

static void skip_block(struct cursor *c)
{
    (void)take(c, (size_t)uleb(c));
}

/* A short expression; longer ones are only searched for memory accesses. */
struct expression {
    uint8_t bytes[16];
    uint64_t len;
    bool has_access;
};

static struct expression read_expression(struct cursor *c)
{
    struct expression e = {.len = uleb(c)};
    const uint8_t *p = take(c, (size_t)e.len);
    for (uint64_t i = 0; p != NULL && i < e.len; i++) {
        if (i < sizeof(e.bytes)) {
            e.bytes[i] = p[i];
        }
        e.has_access = e.has_access || p[i] == 0x06 || p[i] == 0x94; /* deref, deref_size */
    }
    return e;
}

/* breg6 OFFSET, of one or two bytes, then what is in tail; false: something else. */
static bool is_frame_offset(const struct expression *e, const char *tail, size_t tail_len,
                            int64_t *out)
{
    size_t number_len = e->len < 1 + tail_len ? 0 : (size_t)e->len - 1 - tail_len;
    if (number_len < 1 || number_len > 2 || e->bytes[0] != 0x76 ||
        memcmp(e->bytes + 1 + number_len, tail, tail_len) != 0) {
        return false;
    }
    unsigned v = e->bytes[1] & 0x7fU;
    if (number_len == 2) {
        v |= (e->bytes[2] & 0x7fU) << 7;
    }
    unsigned sign = 1U << (7 * number_len - 1);
    *out = (int64_t)(v ^ sign) - (int64_t)sign;
    return true;
}

/* Where a register is saved: at rbp + something, in functions that realign their stack. */
static void run_expression(struct cursor *c, struct machine *m, uint64_t reg)
{
    struct expression e = read_expression(c);
    int64_t offset;
    bool is_known = is_frame_offset(&e, "", 0, &offset);
    set_place(&m->row, reg, is_known ? WHERE_AT_FRAME : WHERE_OTHER, is_known ? offset : 0);
}

/* breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus: what linkers write for .plt. */
static bool is_plt(const struct expression *e, int64_t *out_push_at)
{
    static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
    static const uint8_t after[] = {0x2a, 0x33, 0x24, 0x22};
    *out_push_at = e->bytes[6] - 0x30; /* litN */
    return e->len == 11 && memcmp(e->bytes, before, sizeof(before)) == 0 && *out_push_at >= 0 &&
           *out_push_at < 16 && memcmp(e->bytes + 7, after, sizeof(after)) == 0;
}

/* One number of LEB128 in an expression, from *at on. */
static bool read_leb(const struct expression *e, uint64_t *at, bool is_signed, int64_t *out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 28 && *at < e->len && *at < sizeof(e->bytes); shift += 7) {
        uint8_t byte = e->bytes[(*at)++];
        value |= (uint64_t)(byte & 0x7fU) << shift;
        if ((byte & 0x80U) == 0) {
            uint64_t sign = is_signed ? UINT64_C(1) << (shift + 6) : 0;
            *out = (int64_t)((value ^ sign) - sign);
            return true;
        }
    }
    return false;
}

/* bregN OFFSET, deref, plus_uconst ADD, of rsp or rbp. */
static bool is_kept(const struct expression *e, struct row *row)
{
    uint64_t at = 1;
    if ((e->bytes[0] != 0x77 && e->bytes[0] != 0x76) || !read_leb(e, &at, true, &row->cfa_offset) ||
        at + 2 >= sizeof(e->bytes) || e->bytes[at] != 0x06 || e->bytes[at + 1] != 0x23) {
        return false;
    }
    at += 2;
    row->cfa_register = e->bytes[0] == 0x77 ? REG_STACK : REG_FRAME;
    return read_leb(e, &at, false, &row->cfa_add) && at == e->len;
}

static void run_cfa_expression(struct cursor *c, struct row *row)
{
    struct expression e = read_expression(c);
    int64_t value = 0;
    row->cfa_kind = e.has_access ? CFA_UNSAFE : CFA_OTHER;
    if (is_plt(&e, &value)) {
        row->cfa_kind = CFA_PLT;
        row->cfa_offset = value;
    } else if (is_frame_offset(&e, "\x06", 1, &value)) {
        row->cfa_kind = CFA_REALIGNED;
        row->cfa_offset = value;
    } else if (is_kept(&e, row)) {
        row->cfa_kind = CFA_KEPT;
    }
}

/* A register's value is in another one. */
static void run_other_register(struct cursor *c, struct machine *m, uint64_t reg)
{
    uint64_t from = uleb(c);
    bool is_known = from < REG_RETURN;
    set_place(&m->row, reg, is_known ? WHERE_REGISTER : WHERE_OTHER, is_known ? (int64_t)from : 0);
}

/* Instructions that say how a register is found. */
static bool run_register(struct cursor *c, struct machine *m, uint8_t op)
{
    uint64_t reg = uleb(c);
    switch (op) {
    case 0x05: /* offset_extended */
        set_place(&m->row, reg, WHERE_OFFSET, scaled(m, uleb(c)));
        return true;
    case 0x11: /* offset_extended_sf */
        set_place(&m->row, reg, WHERE_OFFSET, scaled(m, (uint64_t)sleb(c)));
        return true;
    case 0x06: /* restore_extended */
        restore_place(m, reg);
        return true;
    case 0x07: /* undefined */
        set_place(&m->row, reg, WHERE_UNDEFINED, 0);
        return true;
    case 0x08: /* same_value */
        set_place(&m->row, reg, WHERE_SAME, 0);
        return true;
    case 0x09: /* register */
        run_other_register(c, m, reg);
        return true;
    case 0x10: /* expression */
        run_expression(c, m, reg);
        return true;
    case 0x16: /* val_expression */
        skip_block(c);
        set_place(&m->row, reg, WHERE_OTHER, 0);
        return true;
    case 0x14: /* val_offset */
    case 0x15: /* val_offset_sf */
        (void)uleb(c);
        set_place(&m->row, reg, WHERE_OTHER, 0);
        return true;
    default:
        return false;
    }
}

/* Instructions that say where the frame is, and the stack of rows. */
static bool run_frame(struct cursor *c, struct machine *m, uint8_t op)
{
    struct row *row = &m->row;
    switch (op) {
    case 0x0c: /* def_cfa */
        row->cfa_register = uleb(c);
        row->cfa_offset = (int64_t)uleb(c);
        row->cfa_kind = CFA_PLAIN;
        return true;
    case 0x12: /* def_cfa_sf */
        row->cfa_register = uleb(c);
        row->cfa_offset = scaled(m, (uint64_t)sleb(c));
        row->cfa_kind = CFA_PLAIN;
        return true;
    case 0x0d: /* def_cfa_register */
        row->cfa_register = uleb(c);
        return true;
    case 0x0e: /* def_cfa_offset */
        row->cfa_offset = (int64_t)uleb(c);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        row->cfa_offset = scaled(m, (uint64_t)sleb(c));
        return true;
    case 0x0f: /* def_cfa_expression */
        run_cfa_expression(c, row);
        return true;
    case 0x0a: /* remember_state */
        if (m->depth == STACK_DEPTH) {
            return false;
        }
        m->saved[m->depth++] = *row;
        return true;
    case 0x0b: /* restore_state */
        if (m->depth == 0) {
            return false;
        }
        *row = m->saved[--m->depth];
        return true;
    case 0x00: /* nop */
        return true;
    case 0x2e: /* GNU_args_size */
        (void)uleb(c);
        return true;
    default:
        return run_register(c, m, op);
    }
}

/* Bytes by which an instruction moves the location; 0 for all others, that are then not consumed.
 */
static bool read_advance(struct cursor *c, const struct machine *m, uint8_t op, uint64_t *out)
{
    if (op >> 6 == 1) {
        *out = (op & 0x3fU) * m->cie->code_align;
    } else if (op >= 0x02 && op <= 0x04) {
        *out = number(c, (size_t)1 << (op - 2)) * m->cie->code_align;
    } else {
        return false;
    }
    return true;
}

/* Runs instructions up to the row for addr; false: something was not understood. */
static bool run(struct cursor *c, struct machine *m, uintptr_t addr)
{
    for (unsigned n = 0; c->pos < c->end && n < MAX_INSTRUCTIONS; n++) {
        uint8_t op = (uint8_t)number(c, 1);
        uint64_t advance;
        if (read_advance(c, m, op, &advance)) {
            m->loc += advance;
            if (m->loc > addr) {
                return !c->failed;
            }
        } else if (op >> 6 == 2) {
            set_place(&m->row, op & 0x3fU, WHERE_OFFSET, scaled(m, uleb(c)));
        } else if (op >> 6 == 3) {
            restore_place(m, op & 0x3fU);
        } else if (!run_frame(c, m, op)) {
            return false;
        }
        if (c->failed) {
            return false;
        }
    }
    return c->pos >= c->end;
}

static bool is_kept_small(const struct row *row)
{
    const int64_t limit = INT64_C(1) << (OTP_RULE_KEPT_OFFSET_BITS - 1);
    return row->cfa_offset >= -limit && row->cfa_offset < limit && row->cfa_add >= 0 &&
           row->cfa_add < INT64_C(1) << OTP_RULE_KEPT_ADD_BITS;
}

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

/* The return address is where calls put it, and no number is out of range. */
static bool is_plain_return(const struct row *row)
{
    return row->ret.where == WHERE_OFFSET && row->ret.offset == -8 && fits(row->cfa_offset) &&
           fits(row->frame.offset);
}

/* Only functions that go on in another frame save what they return. */
static bool is_landing(const struct row *row)
{
    return row->handed[0].where == WHERE_OFFSET && row->handed[1].where == WHERE_OFFSET &&
           row->frame.where == WHERE_OFFSET;
}

/* The forms in which an expression says where the frame is. */
static void take_expression(const struct row *row, uintptr_t addr, struct otp_rule *rule)
{
    bool is_frame = row->frame.where == WHERE_SAME || row->frame.where == WHERE_OFFSET;
    if (row->cfa_kind == CFA_PLT && row->frame.where == WHERE_SAME) {
        rule->kind = OTP_RULE_SIMPLE;
        rule->cfa_offset = 8 + ((int64_t)(addr & 15) >= row->cfa_offset ? 8 : 0);
    } else if (row->cfa_kind == CFA_REALIGNED && row->frame.where == WHERE_AT_FRAME) {
        rule->kind = OTP_RULE_REALIGNED;
    } else if (row->cfa_kind == CFA_KEPT && is_frame && is_kept_small(row)) {
        rule->kind = OTP_RULE_KEPT;
        rule->is_unsafe = false;
        rule->is_cfa_from_rbp = row->cfa_register == REG_FRAME;
        rule->cfa_add = (int32_t)row->cfa_add;
    }
}

static bool is_in_registers(const struct row *row)
{
    return row->ret.where == WHERE_REGISTER && row->stack.where == WHERE_REGISTER &&
           (row->frame.where == WHERE_REGISTER || row->frame.where == WHERE_SAME);
}

static int32_t registers_of(const struct row *row)
{
    int64_t frame = row->frame.where == WHERE_SAME ? REG_FRAME : row->frame.offset;
    return (int32_t)(row->ret.offset | row->stack.offset << 4 | frame << 8);
}

static bool is_word_behind(const struct place *p, int64_t base)
{
    int64_t behind = p->offset + base;
    return p->where == WHERE_OFFSET && behind >= 0 && behind % 8 == 0 &&
           behind / 8 <= OTP_RULE_BEHIND_MAX;
}

static bool is_in_memory(const struct row *row)
{
    return row->cfa_kind == CFA_PLAIN && row->cfa_register < REG_RETURN &&
           row->cfa_register != REG_STACK && row->cfa_register != REG_FRAME &&
           is_word_behind(&row->ret, row->cfa_offset) &&
           is_word_behind(&row->stack, row->cfa_offset) &&
           is_word_behind(&row->frame, row->cfa_offset);
}

static struct otp_rule memory_of(const struct row *row)
{
    int64_t ret = (row->ret.offset + row->cfa_offset) / 8;
    int64_t stack = (row->stack.offset + row->cfa_offset) / 8;
    return (struct otp_rule){.kind = OTP_RULE_IN_MEMORY,
                             .cfa_offset =
                                 (int32_t)((int64_t)row->cfa_register | ret << 4 | stack << 12),
                             .rbp_offset = (int32_t)(row->frame.offset + row->cfa_offset)};
}

static struct otp_rule boil_down(const struct row *row, uintptr_t addr)
{
    struct otp_rule rule = {.kind = OTP_RULE_COMPLEX,
                            .is_unsafe = row->cfa_kind == CFA_UNSAFE || row->cfa_kind == CFA_KEPT};
    if (row->ret.where == WHERE_UNDEFINED) {
        rule.kind = OTP_RULE_END;
        return rule;
    }
    if (is_in_registers(row)) {
        rule.kind = OTP_RULE_IN_REGISTERS;
        rule.cfa_offset = registers_of(row);
        return rule;
    }
    if (is_in_memory(row)) {
        return memory_of(row);
    }
    if (!is_plain_return(row)) {
        return rule;
    }
    bool is_base = row->cfa_register == REG_STACK || row->cfa_register == REG_FRAME;
    bool is_frame = row->frame.where == WHERE_SAME || row->frame.where == WHERE_OFFSET;
    rule.is_rbp_saved = row->frame.where == WHERE_OFFSET;
    rule.rbp_offset = (int32_t)row->frame.offset;
    rule.cfa_offset = (int32_t)row->cfa_offset;
    if (row->cfa_kind == CFA_PLAIN && is_base && is_frame) {
        rule.kind = is_landing(row) ? OTP_RULE_LANDS : OTP_RULE_SIMPLE;
        rule.is_cfa_from_rbp = row->cfa_register == REG_FRAME;
    } else {
        take_expression(row, addr, &rule);
    }
    return rule;
}

struct otp_rule otp_cfi_rule(const struct otp_object_range *object, uintptr_t addr)
{
    const struct otp_rule none = {.kind = OTP_RULE_COMPLEX};
    struct otp_probe probe = {0};
    struct cursor whole = {.object = object, .probe = &probe};
    struct cursor c = cursor_at(&whole, object->eh_frame_hdr, object->end);
    uintptr_t fde = object->eh_frame_hdr == 0 ? 0 : find_fde(&c, addr);
    if (fde == 0) {
        return none;
    }
    c = cursor_at(&whole, fde, object->end);
    uint64_t len = number(&c, 4);
    c = cursor_at(&c, c.pos, c.pos + len);
    uintptr_t id_at = c.pos;
    uint64_t back = number(&c, 4);
    struct cie cie;
    struct cursor at_cie = cursor_at(&whole, id_at - back, object->end);
    if (c.failed || len >= 0xfffffff0U || back == 0 || !read_cie(&at_cie, &cie) || cie.is_signal ||
        cie.return_register != REG_RETURN) {
        return none;
    }
    uintptr_t start = encoded(&c, cie.pointer_encoding, 0);
    uintptr_t size = encoded(&c, cie.pointer_encoding & ENC_FORMAT, 0);
    if (cie.has_augmentation) {
        skip_block(&c);
    }
    if (c.failed || addr < start || addr - start >= size) {
        return none;
    }
    struct machine m = {.cie = &cie, .loc = start};
    struct cursor initial = cursor_at(&whole, cie.program, cie.end);
    if (!run(&initial, &m, UINTPTR_MAX)) {
        return none;
    }
    m.initial = m.row;
    m.loc = start;
    return run(&c, &m, addr) ? boil_down(&m.row, addr) : none;
}
