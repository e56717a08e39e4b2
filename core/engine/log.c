/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the engine: one write each, from a fixed buffer, to the host's stderr or a file. */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/stat.h>

#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/base/utf8.h"
#include "core/engine/state.h"
#include "core/export/sink.h"

#define STDERR 2
#define SHOWN_PATH 256U
#define NOT_FOR_US (-4096) /* no error of the kernel's */

static const char *level_name(enum otp_log_level level)
{
    static const char *const names[] = {"", "error: ", "warning: ", "", "debug: "};
    return (size_t)level < OTP_ARRAY_LEN(names) ? names[level] : "";
}

/* What descriptor 2 was when the program began. */
static struct stat first_stderr;
static bool has_stderr;

void otp_engine_log_start(void)
{
    has_stderr = OTP_SYS2(SYS_fstat, STDERR, &first_stderr) == 0;
}

/*
 * A program that closes its standard error may get the number for a file of its own, or for a
 * connection: nothing of ours must get there. What is to be had for the purpose is what it began
 * with, a terminal or null device, or a file that is appended to, which is what logs are. flags are
 * the host's.
 */
static bool is_for_messages(int fd, long flags)
{
    struct stat now;
    if (OTP_SYS2(SYS_fstat, fd, &now) < 0) {
        return false;
    }
    bool is_first =
        has_stderr && now.st_dev == first_stderr.st_dev && now.st_ino == first_stderr.st_ino;
    bool is_log = S_ISREG(now.st_mode) && flags >= 0 && (flags & O_APPEND) != 0;
    return is_first || is_log || S_ISCHR(now.st_mode);
}

static bool has_room(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return OTP_SYS3(SYS_poll, &p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
}

/*
 * A copy of the host's stderr, for one line: kept longer, it would keep a pipe open that the host
 * closes. The copy shares the host's description, which may block; poll promises a pipe room for a
 * short line.
 */
static int copy_stderr(void)
{
    int host = (int)OTP_SYS2(SYS_pidfd_open, otp_sys_getpid(), 0);
    if (host < 0) {
        return host;
    }
    int fd = (int)OTP_SYS3(SYS_pidfd_getfd, host, STDERR, 0);
    otp_sys_close(host);
    if (fd >= 0 && (!is_for_messages(fd, OTP_SYS2(SYS_fcntl, fd, F_GETFL)) || !has_room(fd))) {
        otp_sys_close(fd);
        return NOT_FOR_US;
    }
    return fd;
}

/*
 * The worker's descriptor table is its own. A copy of the host's stderr shares the host's place in
 * a file, so that neither overwrites the other; older kernels give none, there it is opened by
 * name.
 */
static int open_host_stderr(void)
{
    int fd = copy_stderr();
    if (fd >= 0 || fd == NOT_FOR_US) {
        return fd;
    }
    fd = otp_sys_open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK, 0);
    if (fd >= 0 && !is_for_messages(fd, -1)) {
        otp_sys_close(fd);
        return NOT_FOR_US;
    }
    return fd;
}

/* A number of 2 does not tell whose it is: what we open gets it when the host has closed its own.
 */
static int open_stderr(bool *is_host_s)
{
    *is_host_s = !otp_worker_is_self();
    if (!*is_host_s) {
        return open_host_stderr();
    }
    bool is_fit = is_for_messages(STDERR, OTP_SYS2(SYS_fcntl, STDERR, F_GETFL));
    return is_fit && has_room(STDERR) ? STDERR : -1;
}

static void put_line(int fd, enum otp_log_level level, const char *text, size_t len)
{
    struct otp_line line = {0};
    otp_line_str(&line, "otelprof[");
    otp_line_u64(&line, (uint64_t)otp_sys_getpid());
    otp_line_str(&line, "]: ");
    otp_line_str(&line, level_name(level));
    otp_line_bytes(&line, text, len);
    line.len = line.len == sizeof(line.text) ? sizeof(line.text) - 1 : line.len;
    otp_line_str(&line, "\n");
    struct otp_sys_hush hush;
    if (otp_sys_hush(&hush)) {
        (void)OTP_SYS3(SYS_write, fd, line.text, line.len);
        otp_sys_unhush(&hush);
    }
}

/* Stderr, instead of a file that cannot be opened: said once. */
static int open_instead(struct otp_text path, int error, bool *is_host_s)
{
    static bool is_said;
    int fd = open_stderr(is_host_s);
    if (fd >= 0 && !is_said) {
        struct otp_line line = {0};
        is_said = true;
        otp_line_str(&line, "OTELPROF_LOG_FILE=\"");
        otp_utf8_show(&line, path, SHOWN_PATH);
        otp_line_str(&line, "\" cannot be opened: ");
        otp_line_str(&line, otp_errno_text(error));
        otp_line_str(&line, ", using stderr");
        put_line(fd, OTP_LOG_ERROR, line.text, line.len);
    }
    return fd;
}

static int open_target(const struct otp_conf *conf, bool *is_host_s)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK; /* a FIFO waits */
    if (conf->log_file.len == 0) {
        return open_stderr(is_host_s);
    }
    int fd = otp_sys_open(conf->log_file.data, flags, 0644);
    *is_host_s = false;
    return fd >= 0 ? fd : open_instead(conf->log_file, -fd, is_host_s);
}

void otp_engine_log(enum otp_log_level level, const char *text, size_t len)
{
    const struct otp_conf *conf = &otp_engine.conf;
    if (level > conf->log) {
        return;
    }
    bool is_host_s;
    int fd = open_target(conf, &is_host_s);
    if (fd < 0) {
        return;
    }
    put_line(fd, level, text, len);
    if (!is_host_s) {
        otp_sys_close(fd);
    }
}

void otp_engine_log_number(enum otp_log_level level, const char *before, uint64_t number,
                           const char *after)
{
    struct otp_line line = {0};
    otp_line_str(&line, before);
    otp_line_u64(&line, number);
    otp_line_str(&line, after);
    otp_engine_log(level, line.text, line.len);
}
