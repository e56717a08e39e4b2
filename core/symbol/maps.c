/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/maps.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/sys.h"

#define LINE_MAX_BYTES ((size_t)16 << 10)

/* What is left of a line. */
struct cursor {
    const char *at;
    const char *end;
};

/* 1 to 16 digits of base 10 or 16, then the character that ends the field. */
static bool take_number(struct cursor *c, unsigned base, char ends_with, uint64_t *out)
{
    uint64_t v = 0;
    const char *start = c->at;

    for (; c->at < c->end; c->at++) {
        char ch = *c->at;
        unsigned digit = ch >= '0' && ch <= '9'   ? (unsigned)(ch - '0')
                         : ch >= 'a' && ch <= 'f' ? (unsigned)(ch - 'a') + 10
                                                  : base;
        if (digit >= base) {
            break;
        }
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)digit, &v)) {
            return false;
        }
    }
    *out = v;
    if (c->at == start) {
        return false;
    }
    if (c->at == c->end) {
        return ends_with == '\0';
    }
    return ends_with == '\0' || *c->at++ == ends_with;
}

static bool take_perms(struct cursor *c, unsigned *out)
{
    if (c->end - c->at < 5 || c->at[4] != ' ') {
        return false;
    }
    *out = (c->at[0] == 'r' ? OTP_MAPS_READ : 0U) | (c->at[1] == 'w' ? OTP_MAPS_WRITE : 0U) |
           (c->at[2] == 'x' ? OTP_MAPS_EXEC : 0U) | (c->at[3] == 's' ? OTP_MAPS_SHARED : 0U);
    c->at += 5;
    return true;
}

bool otp_maps_parse(struct otp_text line, struct otp_maps_entry *out)
{
    struct cursor c = {.at = line.data, .end = line.data + line.len};
    uint64_t major;
    uint64_t minor;

    if (!take_number(&c, 16, '-', &out->start) || !take_number(&c, 16, ' ', &out->end) ||
        !take_perms(&c, &out->perms) || !take_number(&c, 16, ' ', &out->offset) ||
        !take_number(&c, 16, ':', &major) || !take_number(&c, 16, ' ', &minor) ||
        !take_number(&c, 10, '\0', &out->inode) || out->start > out->end) {
        return false;
    }
    out->dev_major = (uint32_t)major;
    out->dev_minor = (uint32_t)minor;
    while (c.at < c.end && *c.at == ' ') {
        c.at++;
    }
    out->name = otp_text_make(c.at, (size_t)(c.end - c.at));
    return true;
}

/* Lines that are put together from pieces of any size. */
struct lines {
    char *data; /* LINE_MAX_BYTES */
    size_t len;
    bool too_long; /* the line at hand is skipped to its end */
    bool stopped;
    otp_maps_visit visit;
    void *arg;
};

static void end_line(struct lines *l)
{
    struct otp_maps_entry entry;

    if (!l->too_long && otp_maps_parse(otp_text_make(l->data, l->len), &entry)) {
        l->stopped = !l->visit(l->arg, &entry);
    }
    l->len = 0;
    l->too_long = false;
}

static void add_piece(struct lines *l, const char *piece, size_t len)
{
    while (len > 0 && !l->stopped) {
        const char *newline = memchr(piece, '\n', len);
        size_t n = newline == NULL ? len : (size_t)(newline - piece);
        if (n > LINE_MAX_BYTES - l->len) {
            l->too_long = true;
        } else {
            memcpy(l->data + l->len, piece, n);
            l->len += n;
        }
        if (newline != NULL) {
            end_line(l);
            n++;
        }
        piece += n;
        len -= n;
    }
}

/* The thread's own entry outlives the main thread, after whose end /proc/self has no memory to
 * show. */
static int open_own_maps(void)
{
    int fd = otp_sys_open("/proc/thread-self/maps", O_RDONLY, 0);
    return fd >= 0 ? fd : otp_sys_open("/proc/self/maps", O_RDONLY, 0); /* before Linux 3.17 */
}

enum otp_status otp_maps_read(struct otp_heap *heap, const char *path, otp_maps_visit visit,
                              void *arg)
{
    struct lines l = {.visit = visit, .arg = arg};
    char piece[2048];
    long n = 0;

    int fd = path == NULL ? open_own_maps() : otp_sys_open(path, O_RDONLY, 0);
    if (fd < 0) {
        return OTP_IO;
    }
    l.data = otp_heap_alloc(heap, LINE_MAX_BYTES);
    while (l.data != NULL && !l.stopped && (n = otp_sys_read_full(fd, piece, sizeof(piece))) > 0) {
        add_piece(&l, piece, (size_t)n);
    }
    if (l.data != NULL && !l.stopped && l.len > 0) {
        end_line(&l);
    }
    otp_sys_close(fd);
    otp_heap_free(heap, l.data);
    return l.data == NULL ? OTP_NO_MEMORY : n < 0 ? OTP_IO : OTP_OK;
}
