/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file per message. The bytes go to a temporary name in the same folder first, so that a reader
 * sees a file under its name only when it is whole. Publishing never replaces a file: each way of
 * giving the name fails when the name is taken, and then the next name of the template is tried.
 *
 * I1 Whatever fails, the temporary file is removed.
 * I2 The folder is opened once for each message: it may be renamed meanwhile, not exchanged.
 */
#define _GNU_SOURCE /* O_PATH */
#include "core/export/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sys.h"
#include "core/base/utf8.h"
#include "core/export/fd.h"

#define FILE_MODE 0644U
#define TEMP_ATTEMPTS 100U
#define NAME_ATTEMPTS 1000U
#define CHUNK_BYTES ((size_t)1 << 20) /* written between two looks at the descriptor */
#define TEMP_STEM_MAX 200U            /* bytes of the final name that the temporary one shows */

static enum otp_status fail(struct otp_sink_file *f, const char *step, int error)
{
    f->base.failed_step = step;
    f->base.error = error;
    f->base.hint = NULL;
    return OTP_IO;
}

/* Splits f->path: folder to f->folder (resolved against the base), the name is returned. */
static const char *split_path(struct otp_sink_file *f)
{
    const struct otp_text *base = &f->options.base_path;
    const char *slash = strrchr(f->path, '/');
    size_t folder_len = slash == NULL ? 0 : (size_t)(slash - f->path);
    size_t used = 0;

    if (f->path[0] != '/' && base->len > 0) {
        if (base->len + 1 >= sizeof(f->folder)) {
            return NULL;
        }
        memcpy(f->folder, base->data, base->len);
        f->folder[base->len] = '/';
        used = base->len + 1;
    }
    if (folder_len + 2 > sizeof(f->folder) - used) {
        return NULL;
    }
    if (slash == NULL || slash == f->path) {
        f->folder[used++] = slash == NULL ? '.' : '/';
    }
    memcpy(f->folder + used, f->path, folder_len);
    f->folder[used + folder_len] = '\0';
    return slash == NULL ? f->path : slash + 1;
}

static enum otp_status expand(struct otp_sink_file *f, uint64_t flush, unsigned attempt)
{
    struct otp_template_values values = {
        .program = f->options.program,
        .host = f->options.host,
        .pid = (uint64_t)otp_sys_getpid(),
        .start_ns = f->options.start_ns,
        .flush = flush,
    };
    enum otp_status status =
        otp_template_expand(f->options.name, &values, attempt, f->path, sizeof(f->path));
    return status == OTP_OK ? OTP_OK : fail(f, "name", ENAMETOOLONG);
}

static enum otp_status open_folder(struct otp_sink_file *f, struct otp_fd *out)
{
    int base = f->options.base_path.len > 0 ? AT_FDCWD : f->options.base_fd;
    long fd = OTP_SYS4(SYS_openat, base, f->folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    int r = otp_fd_adopt(out, fd);
    return r == 0 ? OTP_OK : fail(f, "open the folder of", -r);
}

/*
 * A device, FIFO, socket or folder under the plain name was meant to be written to: a numbered file
 * beside it (/dev/full.0) is not what anybody asked for. The links in /dev stand for descriptors.
 */
static enum otp_status check_name(struct otp_sink_file *f, const struct otp_fd *folder,
                                  const char *name)
{
    struct stat st;
    const int here = AT_SYMLINK_NOFOLLOW;
    bool is_link = strcmp(f->folder, "/dev") == 0 &&
                   OTP_SYS4(SYS_newfstatat, folder->fd, name, &st, here) == 0 &&
                   S_ISLNK(st.st_mode);

    if (!is_link &&
        (OTP_SYS4(SYS_newfstatat, folder->fd, name, &st, 0) != 0 || S_ISREG(st.st_mode))) {
        return OTP_OK;
    }
    bool is_folder = !is_link && S_ISDIR(st.st_mode);
    enum otp_status status = fail(f, "write to", is_folder ? EISDIR : EEXIST);
    f->base.hint = is_folder ? NULL : "a device, FIFO or socket; an output is a file of its own";
    f->base.is_hopeless = true;
    return status;
}

/* .NAME.tmp-PID-N, with the name cut so that the rest always fits. */
static void make_temp_name(struct otp_sink_file *f, const char *name)
{
    size_t stem = strnlen(name, TEMP_STEM_MAX);
    size_t len = 0;
    f->temp[len++] = '.';
    memcpy(f->temp + len, name, stem);
    len += stem;
    memcpy(f->temp + len, ".tmp-", 5);
    len += 5;
    len += otp_fmt_u64(f->temp + len, (uint64_t)otp_sys_getpid());
    f->temp[len++] = '-';
    len += otp_fmt_u64(f->temp + len, f->temp_count++);
    f->temp[len] = '\0';
}

/* Names left by a process of the same number that was killed are passed over. */
static enum otp_status create_temp(struct otp_sink_file *f, const struct otp_fd *folder,
                                   const char *name, struct otp_fd *out)
{
    int r = -EEXIST;
    for (unsigned i = 0; i < TEMP_ATTEMPTS && r == -EEXIST; i++) {
        make_temp_name(f, name);
        long fd = OTP_SYS4(SYS_openat, folder->fd, f->temp,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
        r = otp_fd_adopt(out, fd);
        if (fd >= 0 && r != 0) {
            (void)OTP_SYS3(SYS_unlinkat, folder->fd, f->temp, 0);
        }
    }
    return r == 0 ? OTP_OK : fail(f, "create", -r);
}

static enum otp_status write_temp(struct otp_sink_file *f, struct otp_fd *temp,
                                  const struct otp_message *m)
{
    const char *bytes = m->data;
    size_t done = 0;
    int r = 0;

    while (done < m->len && r == 0) {
        size_t part = m->len - done < CHUNK_BYTES ? m->len - done : CHUNK_BYTES;
        r = otp_fd_is_ours(temp) ? otp_sys_write_full(temp->fd, bytes + done, part) : -EBADF;
        done += part;
    }
    /* Some file systems say only at the close that the disk is full. */
    int closed = otp_fd_close(temp);
    r = r == 0 ? closed : r;
    return r == 0 ? OTP_OK : fail(f, "write", -r);
}

/*
 * Gives the temporary file its name: 0, -EEXIST when the name is taken, another -errno. Three ways,
 * because not every file system knows the first two. The last one shows an empty file for a moment.
 */
static int publish(const struct otp_sink_file *f, int folder, const char *name)
{
    long r = OTP_SYS5(SYS_renameat2, folder, f->temp, folder, name, RENAME_NOREPLACE);
    if (r == 0 || r == -EEXIST) {
        return (int)r;
    }
    r = OTP_SYS5(SYS_linkat, folder, f->temp, folder, name, 0);
    if (r == 0) {
        (void)OTP_SYS3(SYS_unlinkat, folder, f->temp, 0);
        return 0;
    }
    if (r == -EEXIST) {
        return (int)r;
    }
    r = OTP_SYS4(SYS_openat, folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 FILE_MODE);
    if (r < 0) {
        return (int)r;
    }
    otp_sys_close((int)r);
    r = OTP_SYS4(SYS_renameat, folder, f->temp, folder, name);
    if (r < 0) {
        (void)OTP_SYS3(SYS_unlinkat, folder, name, 0);
    }
    return (int)r;
}

/* Tries one name of the template after the other, beginning with attempt. */
static enum otp_status publish_somewhere(struct otp_sink_file *f, const struct otp_fd *folder,
                                         uint64_t flush, unsigned attempt)
{
    int r = -EEXIST;
    for (unsigned i = 0; i < NAME_ATTEMPTS && r == -EEXIST; i++) {
        OTP_TRY(expand(f, flush, attempt + i));
        const char *slash = strrchr(f->path, '/');
        r = otp_fd_is_ours(folder) ? publish(f, folder->fd, slash == NULL ? f->path : slash + 1)
                                   : -EBADF;
    }
    return r == 0 ? OTP_OK : fail(f, "publish", -r);
}

static enum otp_status put_in_folder(struct otp_sink_file *f, const struct otp_fd *folder,
                                     const char *name, const struct otp_message *m)
{
    struct otp_fd temp;
    bool is_numbered = f->is_named && !otp_template_has_flush(f->options.name);

    OTP_TRY(create_temp(f, folder, name, &temp));
    enum otp_status status = write_temp(f, &temp, m);
    if (status == OTP_OK) {
        status = publish_somewhere(f, folder, m->flush, is_numbered ? 1 : 0);
    }
    if (status != OTP_OK && otp_fd_is_ours(folder)) {
        (void)OTP_SYS3(SYS_unlinkat, folder->fd, f->temp, 0);
    }
    return status;
}

static enum otp_status file_put(struct otp_sink *s, const struct otp_message *m,
                                uint64_t deadline_ns)
{
    struct otp_sink_file *f = (struct otp_sink_file *)(void *)s;
    struct otp_fd folder;

    (void)deadline_ns; /* a local write has no time limit that the kernel would keep */
    OTP_TRY(expand(f, m->flush, 0));
    const char *name = split_path(f);
    if (name == NULL) {
        return fail(f, "name", ENAMETOOLONG);
    }
    OTP_TRY(open_folder(f, &folder));
    enum otp_status status = check_name(f, &folder, name);
    if (status == OTP_OK) {
        status = put_in_folder(f, &folder, name, m);
    }
    (void)otp_fd_close(&folder);
    if (status == OTP_OK) {
        f->is_named = true;
        s->sent_messages++;
        s->error = 0;
        s->failed_step = NULL;
        s->hint = NULL;
    }
    return status;
}

static enum otp_status file_check(struct otp_sink *s)
{
    struct otp_sink_file *f = (struct otp_sink_file *)(void *)s;
    struct otp_fd folder;

    OTP_TRY(expand(f, 0, 0));
    const char *name = split_path(f);
    if (name == NULL) {
        return fail(f, "name", ENAMETOOLONG);
    }
    OTP_TRY(open_folder(f, &folder));
    enum otp_status status = check_name(f, &folder, name);
    long r = OTP_SYS3(SYS_faccessat, folder.fd, ".", W_OK | X_OK);
    (void)otp_fd_close(&folder);
    OTP_TRY(status);
    return r == 0 ? OTP_OK : fail(f, "write to the folder of", (int)-r);
}

static enum otp_status file_pump(struct otp_sink *s, uint64_t deadline_ns, bool is_last)
{
    (void)s;
    (void)deadline_ns;
    (void)is_last;
    return OTP_OK;
}

static void file_describe(const struct otp_sink *s, struct otp_line *line)
{
    const struct otp_sink_file *f = (const struct otp_sink_file *)(const void *)s;
    otp_sink_describe_target(s, "file ", otp_text_of(f->path), line);
    if (f->path[0] != '/' && f->options.base_path.len > 0) {
        otp_line_str(line, " in ");
        otp_utf8_show(line, f->options.base_path, OTP_SHOWN_TARGET_MAX / 2);
    }
}

static void file_close(struct otp_sink *s)
{
    (void)s;
}

void otp_sink_file_init(struct otp_sink_file *f, const struct otp_sink_file_options *options)
{
    static const struct otp_sink_ops ops = {
        .put = file_put,
        .pump = file_pump,
        .check = file_check,
        .describe = file_describe,
        .close = file_close,
        .abandon = file_close,
    };
    memset(&f->base, 0, sizeof(f->base));
    f->base.ops = &ops;
    f->base.wake_ns = UINT64_MAX;
    f->options = *options;
    f->is_named = false;
    f->temp_count = 0;
    f->path[0] = '\0';
    (void)otp_format_of_name(options->name, &f->base.format, &f->base.compression);
}
