/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/address.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/sys.h"

#define LINE_MAX_BYTES 1024U /* of a hosts file; the rest of a longer line is not seen */
#define HOSTS_MAX_BYTES ((size_t)4 << 20) /* more than that is no hosts file */
#define IPV6_GROUPS 8U

bool otp_address_split(struct otp_text text, struct otp_text *out_host, uint16_t *out_port)
{
    size_t host_len = text.len;
    uint64_t port;

    while (host_len > 0 && text.data[host_len - 1] != ':') {
        host_len--;
    }
    if (host_len < 2 || !otp_fmt_parse_u64(text.data + host_len, text.len - host_len, &port) ||
        port == 0 || port > UINT16_MAX) {
        return false;
    }
    struct otp_text host = otp_text_make(text.data, host_len - 1);
    if (host.data[0] == '[') {
        if (host.len < 3 || host.data[host.len - 1] != ']') {
            return false;
        }
        host = otp_text_make(host.data + 1, host.len - 2);
    } else if (memchr(host.data, ':', host.len) != NULL) {
        return false;
    }
    *out_host = host;
    *out_port = (uint16_t)port;
    return true;
}

/* Four decimal numbers without zeros in front (they would be octal to others). */
static bool parse_ipv4(struct otp_text text, unsigned char out[4])
{
    size_t pos = 0;
    for (unsigned part = 0; part < 4; part++) {
        size_t len = 0;
        uint64_t v;
        while (pos + len < text.len && text.data[pos + len] != '.') {
            len++;
        }
        if (len > 3 || !otp_fmt_parse_u64(text.data + pos, len, &v) || v > UINT8_MAX ||
            (len > 1 && text.data[pos] == '0')) {
            return false;
        }
        out[part] = (unsigned char)v;
        pos += len;
        if (part < 3 && (pos >= text.len || text.data[pos++] != '.')) {
            return false;
        }
    }
    return pos == text.len;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads up to 4 hex digits; the number of them. */
static size_t parse_group(struct otp_text text, uint16_t *out)
{
    size_t len = 0;
    unsigned v = 0;
    while (len < text.len && len < 4 && hex_value(text.data[len]) >= 0) {
        v = v << 4 | (unsigned)hex_value(text.data[len]);
        len++;
    }
    *out = (uint16_t)v;
    return len;
}

/* The groups of an IPv6 address as they stand, and where the "::" is. */
struct groups {
    uint16_t v[IPV6_GROUPS];
    size_t count;
    size_t gap; /* groups before the "::"; IPV6_GROUPS + 1: there is none */
};

/* The last two groups may be written as IPv4. */
static bool add_ipv4_tail(struct groups *g, struct otp_text text)
{
    unsigned char quad[4];
    if (g->count > IPV6_GROUPS - 2 || !parse_ipv4(text, quad)) {
        return false;
    }
    g->v[g->count++] = (uint16_t)(quad[0] << 8 | quad[1]);
    g->v[g->count++] = (uint16_t)(quad[2] << 8 | quad[3]);
    return true;
}

static bool read_groups(struct otp_text text, struct groups *g)
{
    size_t pos = 0;
    while (pos < text.len) {
        struct otp_text rest = otp_text_make(text.data + pos, text.len - pos);
        bool is_gap = rest.len >= 2 && rest.data[0] == ':' && rest.data[1] == ':';
        if (is_gap) {
            if (g->gap <= IPV6_GROUPS) {
                return false;
            }
            g->gap = g->count;
            pos += 2;
            continue;
        }
        bool is_after_group = pos > 0 && text.data[pos - 1] != ':';
        if (is_after_group) {
            /* One ':' and a group behind it. */
            if (rest.data[0] != ':' || rest.len == 1) {
                return false;
            }
            pos++;
            rest = otp_text_make(text.data + pos, text.len - pos);
        }
        uint16_t v;
        size_t len = parse_group(rest, &v);
        if (len > 0 && len < rest.len && rest.data[len] == '.') {
            return add_ipv4_tail(g, rest);
        }
        if (len == 0 || g->count == IPV6_GROUPS) {
            return false;
        }
        g->v[g->count++] = v;
        pos += len;
    }
    return true;
}

static bool parse_ipv6(struct otp_text text, unsigned char out[16])
{
    struct groups g = {.gap = IPV6_GROUPS + 1};

    if (text.len < 2 || !read_groups(text, &g)) {
        return false;
    }
    bool has_gap = g.gap <= IPV6_GROUPS;
    if (has_gap ? g.count == IPV6_GROUPS : g.count != IPV6_GROUPS) {
        return false;
    }
    memset(out, 0, 16);
    for (size_t i = 0; i < g.count; i++) {
        size_t to = has_gap && i >= g.gap ? i + IPV6_GROUPS - g.count : i;
        out[2 * to] = (unsigned char)(g.v[i] >> 8);
        out[2 * to + 1] = (unsigned char)(g.v[i] & 0xffU);
    }
    return true;
}

bool otp_address_parse(struct otp_text host, uint16_t port, struct otp_address *out)
{
    unsigned char bytes[16];
    struct otp_address a = {0};

    if (parse_ipv4(host, bytes)) {
        a.len = sizeof(a.to.in);
        a.to.in.sin_family = AF_INET;
        a.to.in.sin_port = (in_port_t)__builtin_bswap16(port);
        memcpy(&a.to.in.sin_addr, bytes, 4);
    } else if (parse_ipv6(host, bytes)) {
        a.len = sizeof(a.to.in6);
        a.to.in6.sin6_family = AF_INET6;
        a.to.in6.sin6_port = (in_port_t)__builtin_bswap16(port);
        memcpy(&a.to.in6.sin6_addr, bytes, 16);
    } else {
        return false;
    }
    *out = a;
    return true;
}

static void add(struct otp_addresses *all, const struct otp_address *a)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].len == a->len && memcmp(&all->items[i].to, &a->to, a->len) == 0) {
            return;
        }
    }
    if (all->count < OTP_ADDRESSES_MAX) {
        all->items[all->count++] = *a;
    }
}

/* Cuts the next blank-separated word off the text; empty at its end or at a comment. */
static struct otp_text next_word(struct otp_text *text)
{
    size_t begin = 0;
    while (begin < text->len && (text->data[begin] == ' ' || text->data[begin] == '\t')) {
        begin++;
    }
    size_t end = begin;
    while (end < text->len && text->data[end] > ' ' && text->data[end] != '#') {
        end++;
    }
    struct otp_text word = otp_text_make(text->data + begin, end - begin);
    *text = otp_text_make(text->data + end, text->len - end);
    return word;
}

static bool same_host(struct otp_text a, struct otp_text b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        unsigned char x = (unsigned char)a.data[i];
        unsigned char y = (unsigned char)b.data[i];
        bool is_letter = (x | 0x20) >= 'a' && (x | 0x20) <= 'z';
        if (x != y && !(is_letter && (x ^ y) == 0x20)) {
            return false;
        }
    }
    return true;
}

/* One line of a hosts file: an address, then names. */
static void read_hosts_line(struct otp_text line, struct otp_text host, uint16_t port,
                            struct otp_addresses *all)
{
    struct otp_address a;
    struct otp_text word = next_word(&line);

    if (!otp_address_parse(word, port, &a)) {
        return;
    }
    do {
        word = next_word(&line);
        if (word.len > 0 && same_host(word, host)) {
            add(all, &a);
            return;
        }
    } while (word.len > 0);
}

static void read_hosts(const char *path, struct otp_text host, uint16_t port,
                       struct otp_addresses *all)
{
    char line[LINE_MAX_BYTES];
    char chunk[LINE_MAX_BYTES];
    size_t line_len = 0;
    size_t seen = 0;
    int fd = otp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);

    while (fd >= 0 && seen < HOSTS_MAX_BYTES) {
        long n = otp_sys_read_full(fd, chunk, sizeof(chunk));
        if (n <= 0) {
            break;
        }
        seen += (size_t)n;
        for (size_t i = 0; i < (size_t)n; i++) {
            if (chunk[i] == '\n') {
                read_hosts_line(otp_text_make(line, line_len), host, port, all);
                line_len = 0;
            } else if (line_len < sizeof(line)) {
                line[line_len++] = chunk[i];
            }
        }
    }
    if (fd >= 0) {
        read_hosts_line(otp_text_make(line, line_len), host, port, all);
        otp_sys_close(fd);
    }
}

enum otp_status otp_address_find(struct otp_text host, uint16_t port, const char *hosts_path,
                                 struct otp_addresses *out)
{
    static const char *const loopback[] = {"127.0.0.1", "::1"};
    struct otp_address a;

    out->count = 0;
    if (otp_address_parse(host, port, &a)) {
        add(out, &a);
        return OTP_OK;
    }
    read_hosts(hosts_path, host, port, out);
    if (same_host(host, otp_text_of("localhost"))) {
        for (size_t i = 0; i < OTP_ARRAY_LEN(loopback); i++) {
            if (otp_address_parse(otp_text_of(loopback[i]), port, &a)) {
                add(out, &a);
            }
        }
    }
    return out->count == 0 ? OTP_NOT_FOUND : OTP_OK;
}

bool otp_address_unix(struct otp_text path, struct otp_address *out)
{
    struct otp_address a = {0};
    bool is_abstract = path.len > 1 && path.data[0] == '@';

    if (path.len == 0 || path.len >= sizeof(a.to.un.sun_path)) {
        return false;
    }
    a.to.un.sun_family = AF_UNIX;
    memcpy(a.to.un.sun_path, path.data, path.len);
    if (is_abstract) {
        a.to.un.sun_path[0] = '\0';
    }
    /* A path carries its NUL, an abstract name ends with its length. */
    a.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.len + (is_abstract ? 0 : 1));
    *out = a;
    return true;
}
