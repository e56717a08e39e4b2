/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource/textfile.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "core/base/sys.h"

#define CHUNK_BYTES 512U
#define FILE_MAX_BYTES ((size_t)4 << 20)
#define PATH_MAX_BYTES 256U

bool otp_textfile_join(const char *root, const char *path, char *out, size_t room)
{
    size_t root_len = root == NULL ? 0 : strlen(root);
    size_t path_len = strlen(path);
    if (root_len + path_len >= room) {
        return false;
    }
    if (root_len > 0) {
        memcpy(out, root, root_len);
    }
    memcpy(out + root_len, path, path_len + 1);
    return true;
}

static int open_file(const char *root, const char *path)
{
    char full[PATH_MAX_BYTES];
    /* Non-blocking: somebody may have put a FIFO there. */
    return otp_textfile_join(root, path, full, sizeof(full))
               ? otp_sys_open(full, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0)
               : -1;
}

bool otp_textfile_lines(const char *root, const char *path, otp_text_line each, void *arg)
{
    char chunk[CHUNK_BYTES];
    char line[OTP_TEXT_LINE_MAX];
    size_t len = 0;
    size_t seen = 0;
    bool is_wanted = true;
    int fd = open_file(root, path);

    if (fd < 0) {
        return false;
    }
    while (is_wanted && seen < FILE_MAX_BYTES) {
        long n = otp_sys_read_full(fd, chunk, sizeof(chunk));
        for (long i = 0; i < n && is_wanted; i++) {
            if (chunk[i] == '\n') {
                is_wanted = each(arg, otp_text_make(line, len));
                len = 0;
            } else if (len < sizeof(line)) {
                line[len++] = chunk[i];
            }
        }
        if (n < (long)sizeof(chunk)) {
            break;
        }
        seen += (size_t)n;
    }
    if (is_wanted && len > 0) {
        (void)each(arg, otp_text_make(line, len));
    }
    otp_sys_close(fd);
    return true;
}

size_t otp_textfile_read(const char *root, const char *path, char *out, size_t room)
{
    int fd = open_file(root, path);
    if (fd < 0) {
        return 0;
    }
    long n = otp_sys_read_full(fd, out, room);
    otp_sys_close(fd);
    return n > 0 ? (size_t)n : 0;
}

size_t otp_textfile_link(const char *root, const char *path, char *out, size_t room)
{
    char full[PATH_MAX_BYTES];
    if (!otp_textfile_join(root, path, full, sizeof(full))) {
        return 0;
    }
    long n = OTP_SYS4(SYS_readlinkat, AT_FDCWD, full, out, room);
    return n > 0 ? (size_t)n : 0;
}
