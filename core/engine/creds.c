/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/creds.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/sys.h"

#define STATUS_BYTES 8192
#define MAX_GROUPS 1024

#define IDS 3

/* Real, effective and saved id, in the order of /proc/self/status. */
struct ids {
    uint32_t id[IDS];
};

/* Reads count numbers behind a line's label; the number of those that were there. */
static size_t read_numbers(const char *text, const char *label, uint32_t *out, size_t count)
{
    const char *p = text;
    size_t label_len = strlen(label);
    while (p != NULL && strncmp(p, label, label_len) != 0) {
        p = strchr(p, '\n');
        p = p == NULL ? NULL : p + 1;
    }
    size_t n = 0;
    for (p = p == NULL ? NULL : p + label_len;
         p != NULL && n < count && *p != '\n' && *p != '\0';) {
        size_t len = 0;
        uint64_t value;
        while (p[len] >= '0' && p[len] <= '9') {
            len++;
        }
        if (len == 0) {
            p++;
            continue;
        }
        if (!otp_fmt_parse_u64(p, len, &value)) {
            break;
        }
        out[n++] = (uint32_t)value;
        p += len;
    }
    return n;
}

static bool read_status(const char *path, char *out)
{
    int fd = otp_sys_open(path, O_RDONLY, 0);
    if (fd < 0) {
        return false;
    }
    long n = otp_sys_read_full(fd, out, STATUS_BYTES - 1);
    otp_sys_close(fd);
    if (n <= 0) {
        return false;
    }
    out[n] = '\0';
    return true;
}

void otp_creds_follow(void)
{
    static char leader[STATUS_BYTES];
    static uint32_t groups[MAX_GROUPS];
    struct ids uid;
    struct ids gid;
    struct ids own_uid;
    struct ids own_gid;
    (void)OTP_SYS3(SYS_getresuid, &own_uid.id[0], &own_uid.id[1], &own_uid.id[2]);
    (void)OTP_SYS3(SYS_getresgid, &own_gid.id[0], &own_gid.id[1], &own_gid.id[2]);
    if (!read_status("/proc/self/status", leader) ||
        read_numbers(leader, "Uid:", uid.id, IDS) != IDS ||
        read_numbers(leader, "Gid:", gid.id, IDS) != IDS ||
        (memcmp(&uid, &own_uid, sizeof(uid)) == 0 && memcmp(&gid, &own_gid, sizeof(gid)) == 0)) {
        return;
    }
    size_t count = read_numbers(leader, "Groups:", groups, MAX_GROUPS);
    (void)OTP_SYS2(SYS_setgroups, count, groups);
    (void)OTP_SYS3(SYS_setresgid, gid.id[0], gid.id[1], gid.id[2]);
    (void)OTP_SYS3(SYS_setresuid, uid.id[0], uid.id[1], uid.id[2]);
}
