/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/strtab.h"

#include <string.h>

#include "core/base/sys.h"

#define FIRST_READ ((uint64_t)256)

enum otp_status otp_strtab_open(struct otp_strtab *t, struct otp_heap *heap,
                                const struct otp_elf_bytes *bytes, uint64_t offset, uint64_t len)
{
    t->offset = offset;
    t->len = len;
    if (offset > bytes->len || len > bytes->len - offset) {
        t->len = 0;
        return OTP_TRUNCATED;
    }
    if (bytes->image != NULL) {
        t->kept = bytes->image + offset;
        return OTP_OK;
    }
    if (len > OTP_STRTAB_KEPT_MAX) {
        return OTP_OK;
    }
    t->owned = otp_heap_alloc(heap, len);
    if (t->owned == NULL) {
        return OTP_NO_MEMORY;
    }
    t->kept = t->owned;
    return otp_elf_read(bytes, offset, t->owned, len);
}

void otp_strtab_close(struct otp_strtab *t, struct otp_heap *heap)
{
    otp_heap_free(heap, t->owned);
    memset(t, 0, sizeof(*t));
}

/* Reads in growing steps until the NUL is there. */
static bool read_name(const struct otp_strtab *t, const struct otp_elf_bytes *bytes, uint64_t off,
                      struct otp_buf *scratch, struct otp_text *out)
{
    uint64_t step = FIRST_READ;

    otp_buf_clear(scratch);
    while (off < t->len && scratch->len < OTP_STRTAB_NAME_MAX) {
        uint64_t n = t->len - off;
        n = n > step ? step : n;
        unsigned char *to = otp_buf_reserve(scratch, n);
        if (to == NULL || otp_elf_read(bytes, t->offset + off, to, n) != OTP_OK) {
            return false;
        }
        const unsigned char *end = memchr(to, '\0', n);
        if (end != NULL) {
            scratch->len += (size_t)(end - to);
            *out = otp_text_make((const char *)scratch->data, scratch->len);
            return true;
        }
        scratch->len += n;
        off += n;
        step *= 4;
    }
    return false;
}

static bool kept_name(const struct otp_strtab *t, uint64_t off, struct otp_text *out)
{
    if (off >= t->len) {
        return false;
    }
    const char *name = (const char *)t->kept + off;
    uint64_t left = t->len - off;
    left = left > OTP_STRTAB_NAME_MAX + 1 ? OTP_STRTAB_NAME_MAX + 1 : left;
    const char *end = memchr(name, '\0', left);
    if (end == NULL) {
        return false;
    }
    *out = otp_text_make(name, (size_t)(end - name));
    return true;
}

bool otp_strtab_get(const struct otp_strtab *t, const struct otp_elf_bytes *bytes, uint64_t off,
                    struct otp_buf *scratch, struct otp_text *out)
{
    struct otp_elf_bytes opened;

    if (t->kept != NULL) {
        return kept_name(t, off, out);
    }
    if (bytes != NULL) {
        return read_name(t, bytes, off, scratch, out);
    }
    if (off >= t->len || otp_objfile_reopen(t->path, &t->id, &opened) != OTP_OK) {
        return false;
    }
    bool ok = read_name(t, &opened, off, scratch, out);
    otp_sys_close(opened.fd);
    return ok;
}
