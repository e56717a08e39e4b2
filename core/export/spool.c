/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/base/fmt.h"
#include "core/base/map.h"
#include "core/base/sys.h"

#define PREFIX "otelprof-"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define TIME_DIGITS 20U
#define LIST_BYTES 2048U
#define MESSAGE_MAX ((int64_t)64 << 20)
#define TAKE_TRIES 16U /* files that others hold are passed over so often */

/* As the kernel gives them: linux/dirent.h is not for user programs. Source: getdents64(2). */
struct entry_head {
    uint64_t ino;
    int64_t off;
    unsigned short len;
    unsigned char type;
} __attribute__((packed));

static int open_folder(const struct otp_spool *s)
{
    return otp_sys_open(s->folder, O_RDONLY | O_DIRECTORY, 0);
}

static bool is_ours(const struct otp_spool *s, const char *name)
{
    size_t len = strnlen(name, OTP_SPOOL_NAME_MAX);
    size_t ext = strlen(s->extension);
    return len < OTP_SPOOL_NAME_MAX &&
           len > PREFIX_LEN + OTP_SPOOL_KEY_LEN + 1 + TIME_DIGITS + ext &&
           memcmp(name, PREFIX, PREFIX_LEN) == 0 &&
           memcmp(name + PREFIX_LEN, s->key, OTP_SPOOL_KEY_LEN) == 0 &&
           strcmp(name + len - ext, s->extension) == 0;
}

/* Calls see for each file of this key. */
static void list(const struct otp_spool *s, int folder,
                 void (*see)(void *arg, int folder, const char *name), void *arg)
{
    char bytes[LIST_BYTES];
    (void)OTP_SYS3(SYS_lseek, folder, 0, SEEK_SET);
    for (;;) {
        long n = OTP_SYS3(SYS_getdents64, folder, bytes, sizeof(bytes));
        if (n <= 0) {
            return;
        }
        for (long pos = 0; pos + (long)sizeof(struct entry_head) < n;) {
            struct entry_head e;
            memcpy(&e, bytes + pos, sizeof(e));
            const char *name = bytes + pos + 19; /* behind the head, which ends without padding */
            if (is_ours(s, name)) {
                see(arg, folder, name);
            }
            pos += e.len;
        }
    }
}

_Static_assert(sizeof(struct entry_head) == 19, "struct linux_dirent64 up to its name");

/* ---- keeping ---- */

struct totals {
    uint64_t bytes;
    unsigned files;
    char oldest[OTP_SPOOL_NAME_MAX];
};

static void add_up(void *arg, int folder, const char *name)
{
    struct totals *t = arg;
    struct stat st;
    if (OTP_SYS4(SYS_newfstatat, folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    t->bytes += (uint64_t)st.st_size;
    t->files++;
    if (t->oldest[0] == '\0' || strcmp(name, t->oldest) < 0) {
        memcpy(t->oldest, name, strlen(name) + 1);
    }
}

/* Removes the oldest files until len more bytes have room. */
static void make_room(struct otp_spool *s, int folder, size_t len)
{
    for (unsigned i = 0; i < s->files_max; i++) {
        struct totals t = {0};
        list(s, folder, add_up, &t);
        if (t.files == 0 || (t.bytes + len <= s->bytes_max && t.files < s->files_max)) {
            return;
        }
        if (OTP_SYS3(SYS_unlinkat, folder, t.oldest, 0) == 0) {
            s->dropped++;
        }
    }
}

static void put_padded(struct otp_line *line, uint64_t v)
{
    char digits[OTP_FMT_NUMBER_MAX];
    size_t len = otp_fmt_u64(digits, v);
    otp_line_bytes(line, "00000000000000000000", TIME_DIGITS - len);
    otp_line_bytes(line, digits, len);
}

static void make_name(struct otp_spool *s, struct otp_line *line)
{
    line->len = 0;
    otp_line_str(line, PREFIX);
    otp_line_str(line, s->key);
    otp_line_str(line, "-");
    put_padded(line, otp_sys_realtime_ns());
    otp_line_str(line, "-");
    otp_line_u64(line, (uint64_t)otp_sys_getpid());
    otp_line_str(line, "-");
    otp_line_u64(line, s->number++);
    otp_line_str(line, s->extension);
    line->text[line->len] = '\0';
}

static int write_file(int folder, const char *name, const void *data, size_t len)
{
    char temp[OTP_SPOOL_NAME_MAX + 8] = ".tmp-";
    memcpy(temp + 5, name, strlen(name) + 1);
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = (int)OTP_SYS4(SYS_openat, folder, temp, flags, 0600);
    if (fd < 0) {
        return fd;
    }
    int r = otp_sys_write_full(fd, data, len);
    long closed = OTP_SYS1(SYS_close, fd);
    r = r != 0 ? r : closed < 0 && closed != -EINTR ? (int)closed : 0;
    if (r == 0) {
        r = (int)OTP_SYS4(SYS_renameat, folder, temp, folder, name);
    }
    if (r != 0) {
        (void)OTP_SYS3(SYS_unlinkat, folder, temp, 0);
    }
    return r;
}

enum otp_status otp_spool_put(struct otp_spool *s, const void *data, size_t len)
{
    struct otp_line name;
    if (len > s->bytes_max) {
        s->error = EFBIG;
        return OTP_TOO_LARGE;
    }
    int folder = open_folder(s);
    if (folder < 0) {
        s->error = -folder;
        return OTP_IO;
    }
    make_room(s, folder, len);
    make_name(s, &name);
    int r = write_file(folder, name.text, data, len);
    otp_sys_close(folder);
    s->error = -r;
    return r == 0 ? OTP_OK : OTP_IO;
}

/* ---- taking ---- */

struct search {
    char after[OTP_SPOOL_NAME_MAX]; /* older ones were tried */
    char found[OTP_SPOOL_NAME_MAX]; /* the oldest behind it */
};

static void look(void *arg, int folder, const char *name)
{
    struct search *f = arg;
    (void)folder;
    if (strcmp(name, f->after) > 0 && (f->found[0] == '\0' || strcmp(name, f->found) < 0)) {
        memcpy(f->found, name, strlen(name) + 1);
    }
}

/* Locks the file of that name; false: another has it, or it is gone. */
static bool lock(struct otp_spool *s, int folder, const char *name)
{
    struct stat st;
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    if (otp_fd_adopt(&s->taken, OTP_SYS4(SYS_openat, folder, name, flags, 0)) != 0) {
        return false;
    }
    /* It may have been delivered and removed between the look and the lock. */
    if (OTP_SYS2(SYS_flock, s->taken.fd, LOCK_EX | LOCK_NB) == 0 &&
        OTP_SYS2(SYS_fstat, s->taken.fd, &st) == 0 && st.st_nlink > 0 && S_ISREG(st.st_mode)) {
        memcpy(s->taken_name, name, strlen(name) + 1);
        return true;
    }
    otp_spool_release(s);
    return false;
}

static struct otp_queue_item *read_taken(struct otp_spool *s, const struct otp_queue *q)
{
    int64_t size = otp_sys_file_size(s->taken.fd);
    if (size <= 0 || size > MESSAGE_MAX) {
        otp_spool_done(s); /* nothing that anybody could deliver */
        return NULL;
    }
    struct otp_queue_item *item = otp_queue_new_item(q, (size_t)size);
    if (item != NULL && otp_sys_pread_full(s->taken.fd, item->bytes, (size_t)size, 0) == size) {
        return item;
    }
    otp_queue_free_item(q, item);
    otp_spool_release(s);
    return NULL;
}

struct otp_queue_item *otp_spool_take(struct otp_spool *s, const struct otp_queue *q)
{
    struct search f = {0};
    int folder = s->folder[0] == '\0' ? -1 : open_folder(s);
    bool is_locked = false;

    for (unsigned i = 0; folder >= 0 && i < TAKE_TRIES && !is_locked; i++) {
        f.found[0] = '\0';
        list(s, folder, look, &f);
        if (f.found[0] == '\0') {
            break;
        }
        is_locked = lock(s, folder, f.found);
        memcpy(f.after, f.found, sizeof(f.after));
    }
    if (folder >= 0) {
        otp_sys_close(folder);
    }
    return is_locked ? read_taken(s, q) : NULL;
}

void otp_spool_release(struct otp_spool *s)
{
    (void)otp_fd_close(&s->taken);
    s->taken_name[0] = '\0';
}

void otp_spool_done(struct otp_spool *s)
{
    int folder = s->taken_name[0] == '\0' ? -1 : open_folder(s);
    if (folder >= 0) {
        (void)OTP_SYS3(SYS_unlinkat, folder, s->taken_name, 0);
        otp_sys_close(folder);
    }
    otp_spool_release(s);
}

/* ---- the beginning ---- */

bool otp_spool_init(struct otp_spool *s, const struct otp_spool_options *o)
{
    size_t base = o->folder.len > 0 && o->folder.data[0] != '/' ? o->base_path.len + 1 : 0;
    memset(s, 0, sizeof(*s));
    s->taken = OTP_FD_NONE;
    s->bytes_max = OTP_SPOOL_BYTES_MAX;
    s->files_max = OTP_SPOOL_FILES_MAX;
    if (o->folder.len == 0 || base + o->folder.len >= sizeof(s->folder) ||
        o->extension.len >= sizeof(s->extension)) {
        s->error = ENAMETOOLONG;
        return false;
    }
    if (base > 0) {
        memcpy(s->folder, o->base_path.data, o->base_path.len);
        s->folder[base - 1] = '/';
    }
    memcpy(s->folder + base, o->folder.data, o->folder.len);
    memcpy(s->extension, o->extension.data, o->extension.len);
    bool has_identity = o->identity.len > 0;
    uint64_t hash = otp_hash_bytes(has_identity ? o->identity.data : "", o->identity.len, 0);
    (void)otp_fmt_hex(s->key, hash, OTP_SPOOL_KEY_LEN);
    long made = OTP_SYS2(SYS_mkdir, s->folder, 0700);
    int folder = made == 0 || made == -EEXIST ? open_folder(s) : (int)made;
    s->error = folder < 0 ? -folder : 0;
    if (folder >= 0) {
        otp_sys_close(folder);
        return true;
    }
    s->folder[0] = '\0';
    return false;
}
