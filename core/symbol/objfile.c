/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/objfile.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/sys.h"

#define CRC_FILE_MAX ((uint64_t)256 << 20)

static void close_again(struct otp_elf_bytes *bytes)
{
    otp_sys_close(bytes->fd);
    bytes->fd = -1;
}

enum otp_status otp_objfile_open(const char *path, struct otp_elf_bytes *bytes,
                                 struct otp_objfile_id *id)
{
    struct stat st;

    memset(bytes, 0, sizeof(*bytes));
    bytes->fd = otp_sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (bytes->fd < 0) {
        return OTP_NOT_FOUND;
    }
    if (OTP_SYS2(SYS_fstat, bytes->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close_again(bytes);
        return OTP_NOT_FOUND;
    }
    bytes->len = (uint64_t)st.st_size;
    id->dev = st.st_dev;
    id->inode = st.st_ino;
    id->size = bytes->len;
    id->mtime_s = st.st_mtim.tv_sec;
    id->mtime_ns = st.st_mtim.tv_nsec;
    return OTP_OK;
}

enum otp_status otp_objfile_reopen(const char *path, const struct otp_objfile_id *id,
                                   struct otp_elf_bytes *bytes)
{
    struct otp_objfile_id now;

    OTP_TRY(otp_objfile_open(path, bytes, &now));
    if (memcmp(&now, id, sizeof(now)) != 0) {
        close_again(bytes);
        return OTP_NOT_FOUND;
    }
    return OTP_OK;
}

/* The reflected polynomial 0xedb88320, four bits at a time. */
static uint32_t crc32_add(uint32_t crc, const unsigned char *p, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

enum otp_status otp_objfile_crc32(const struct otp_elf_bytes *bytes, uint32_t *out_crc)
{
    unsigned char step[2048];
    uint32_t crc = UINT32_MAX;

    if (bytes->len > CRC_FILE_MAX) {
        return OTP_TOO_LARGE;
    }
    for (uint64_t off = 0; off < bytes->len;) {
        uint64_t n = bytes->len - off;
        n = n > sizeof(step) ? sizeof(step) : n;
        OTP_TRY(otp_elf_read(bytes, off, step, n));
        crc = crc32_add(crc, step, n);
        off += n;
    }
    *out_crc = ~crc;
    return OTP_OK;
}
