/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/dns.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/reader.h"

#define HEAD_BYTES 12U
#define LABEL_MAX 63U
#define CLASS_IN 1U
#define FLAG_RESPONSE 0x8000U
#define FLAG_RECURSE 0x0100U
#define FLAG_CUT 0x0200U
#define OPCODE_MASK 0x7800U
#define RCODE_MASK 0x000fU
#define RCODE_NO_NAME 3U
#define POINTER_MARK 0xc0U
#define RECORDS_MAX 64U

static size_t put_u16(unsigned char *out, unsigned v)
{
    out[0] = (unsigned char)(v >> 8);
    out[1] = (unsigned char)(v & 0xffU);
    return 2;
}

/* The labels of a name and the empty one behind them; 0: it is no name. */
static size_t put_name(struct otp_text name, unsigned char *out)
{
    size_t len = 0;
    size_t begin = 0;
    if (name.len == 0 || name.len > OTP_DNS_NAME_MAX) {
        return 0;
    }
    for (size_t i = 0; i <= name.len; i++) {
        if (i < name.len && name.data[i] != '.') {
            continue;
        }
        size_t label = i - begin;
        if (label == 0 || label > LABEL_MAX) {
            return 0;
        }
        out[len++] = (unsigned char)label;
        memcpy(out + len, name.data + begin, label);
        len += label;
        begin = i + 1;
    }
    out[len++] = 0;
    return len;
}

size_t otp_dns_write(const struct otp_dns_question *q, unsigned char out[OTP_DNS_MESSAGE_MAX])
{
    memset(out, 0, HEAD_BYTES);
    put_u16(out, q->id);
    put_u16(out + 2, FLAG_RECURSE);
    put_u16(out + 4, 1); /* one question */
    size_t name_len = put_name(q->name, out + HEAD_BYTES);
    size_t len = HEAD_BYTES + name_len;
    if (name_len == 0) {
        return 0;
    }
    len += put_u16(out + len, q->type);
    len += put_u16(out + len, CLASS_IN);
    return len;
}

static unsigned get_u16(struct otp_reader *r)
{
    unsigned high = otp_reader_u8(r);
    return high << 8 | otp_reader_u8(r);
}

/* Steps over a name; a pointer ends it, and is not followed. */
static void skip_name(struct otp_reader *r)
{
    while (!r->failed) {
        unsigned len = otp_reader_u8(r);
        if ((len & POINTER_MARK) == POINTER_MARK) {
            (void)otp_reader_u8(r);
            return;
        }
        if (len == 0 || len > LABEL_MAX) {
            r->failed = r->failed || len != 0;
            return;
        }
        (void)otp_reader_bytes(r, len);
    }
}

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

/* The question must come back as it was sent, but for the case of letters. */
static bool is_same_question(const struct otp_dns_question *q, struct otp_reader *r)
{
    unsigned char sent[OTP_DNS_MESSAGE_MAX];
    size_t len = otp_dns_write(q, sent);
    if (len == 0) {
        return false;
    }
    const unsigned char *got = otp_reader_bytes(r, len - HEAD_BYTES);
    for (size_t i = HEAD_BYTES; got != NULL && i < len; i++) {
        if (lower(got[i - HEAD_BYTES]) != lower(sent[i])) {
            return false;
        }
    }
    return got != NULL;
}

static void add_address(struct otp_addresses *all, const void *bytes, bool is_v4, uint16_t port)
{
    if (all->count == OTP_ADDRESSES_MAX) {
        return;
    }
    struct otp_address *a = &all->items[all->count++];
    memset(a, 0, sizeof(*a));
    if (is_v4) {
        a->len = sizeof(a->to.in);
        a->to.in.sin_family = AF_INET;
        a->to.in.sin_port = (in_port_t)__builtin_bswap16(port);
        memcpy(&a->to.in.sin_addr, bytes, 4);
    } else {
        a->len = sizeof(a->to.in6);
        a->to.in6.sin6_family = AF_INET6;
        a->to.in6.sin6_port = (in_port_t)__builtin_bswap16(port);
        memcpy(&a->to.in6.sin6_addr, bytes, 16);
    }
}

/* Aliases lead from the name that was asked to the addresses; the server has followed them. */
static bool read_record(const struct otp_dns_question *q, struct otp_reader *r, uint16_t port,
                        struct otp_addresses *all)
{
    skip_name(r);
    unsigned type = get_u16(r);
    unsigned class = get_u16(r);
    (void)otp_reader_u32_be(r); /* how long it may be kept */
    unsigned len = get_u16(r);
    const void *bytes = otp_reader_bytes(r, len);
    bool is_v4 = q->type == OTP_DNS_TYPE_A;
    if (bytes == NULL || r->failed || type != q->type || class != CLASS_IN ||
        len != (is_v4 ? 4U : 16U)) {
        return false;
    }
    add_address(all, bytes, is_v4, port);
    return true;
}

enum otp_dns_result otp_dns_read(const struct otp_dns_question *q, struct otp_text answer,
                                 uint16_t port, struct otp_addresses *all)
{
    struct otp_reader r;
    bool has_found = false;

    otp_reader_init(&r, answer.data, answer.len);
    unsigned id = get_u16(&r);
    unsigned flags = get_u16(&r);
    unsigned questions = get_u16(&r);
    unsigned records = get_u16(&r);
    (void)otp_reader_u32_be(&r); /* counts of what stands behind the answers */
    if (r.failed || id != q->id || (flags & (FLAG_RESPONSE | OPCODE_MASK)) != FLAG_RESPONSE ||
        questions != 1 || !is_same_question(q, &r)) {
        return OTP_DNS_FOREIGN;
    }
    if ((flags & RCODE_MASK) == RCODE_NO_NAME) {
        return OTP_DNS_NO_NAME;
    }
    if ((flags & RCODE_MASK) != 0) {
        return OTP_DNS_FAILED;
    }
    for (unsigned i = 0; i < records && i < RECORDS_MAX && !r.failed; i++) {
        has_found = read_record(q, &r, port, all) || has_found;
    }
    if (has_found) {
        return OTP_DNS_FOUND; /* also in an answer that is cut: one address will do */
    }
    return (flags & FLAG_CUT) != 0 ? OTP_DNS_CUT : OTP_DNS_NO_DATA;
}
