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
#define TAKE_TRIES 32U /* files that others hold are passed over so often */
#define TEMP ".tmp-"
#define TEMP_LEN (sizeof(TEMP) - 1)
#define TEMP_MAX_S 3600 /* no file takes so long to be written */

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

_Static_assert(OTP_SPOOL_TIME_AT == PREFIX_LEN + OTP_SPOOL_KEY_LEN + 1, "the parts of a name");

static bool are_digits(const char *text, size_t len, bool is_hex)
{
    for (size_t i = 0; i < len; i++) {
        bool is_letter = is_hex && text[i] >= 'a' && text[i] <= 'f';
        if (!is_letter && (text[i] < '0' || text[i] > '9')) {
            return false;
        }
    }
    return true;
}

bool otp_spool_is_name(const char *name)
{
    size_t len = strnlen(name, OTP_SPOOL_NAME_MAX);
    return len < OTP_SPOOL_NAME_MAX && len > OTP_SPOOL_TIME_AT + TIME_DIGITS &&
           memcmp(name, PREFIX, PREFIX_LEN) == 0 &&
           are_digits(name + PREFIX_LEN, OTP_SPOOL_KEY_LEN, true) &&
           name[OTP_SPOOL_TIME_AT - 1] == '-' &&
           are_digits(name + OTP_SPOOL_TIME_AT, TIME_DIGITS, false) &&
           name[OTP_SPOOL_TIME_AT + TIME_DIGITS] == '-';
}

/* Calls see for each file of this key, and for what is being written with is_temp. */
static void list(const struct otp_spool *s, int folder,
                 void (*see)(void *arg, int folder, const char *name, bool is_temp), void *arg)
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
            bool is_temp = strncmp(name, TEMP, TEMP_LEN) == 0;
            if (is_ours(s, is_temp ? name + TEMP_LEN : name)) {
                see(arg, folder, name, is_temp);
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

static void add_up(void *arg, int folder, const char *name, bool is_temp)
{
    struct totals *t = arg;
    struct stat st;
    if (OTP_SYS4(SYS_newfstatat, folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (is_temp) {
        if ((int64_t)(otp_sys_realtime_ns() / 1000000000U) - st.st_mtime > TEMP_MAX_S) {
            (void)OTP_SYS3(SYS_unlinkat, folder, name, 0);
        }
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
    char temp[OTP_SPOOL_NAME_MAX + TEMP_LEN] = TEMP;
    memcpy(temp + TEMP_LEN, name, strlen(name) + 1);
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

static void look(void *arg, int folder, const char *name, bool is_temp)
{
    struct search *f = arg;
    (void)folder;
    if (!is_temp && strcmp(name, f->after) > 0 &&
        (f->found[0] == '\0' || strcmp(name, f->found) < 0)) {
        memcpy(f->found, name, strlen(name) + 1);
    }
}

/* Locks the file of that name; false: another has it, or it is gone, or nobody of ours wrote it. */
static bool lock(int folder, const char *name, struct otp_spooled *out)
{
    struct stat st;
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    if (otp_fd_adopt(&out->fd, OTP_SYS4(SYS_openat, folder, name, flags, 0)) != 0) {
        return false;
    }
    /* It may have been delivered and removed between the look and the lock. */
    if (OTP_SYS2(SYS_flock, out->fd.fd, LOCK_EX | LOCK_NB) == 0 &&
        OTP_SYS2(SYS_fstat, out->fd.fd, &st) == 0 && st.st_nlink > 0 && S_ISREG(st.st_mode) &&
        st.st_uid == (uid_t)OTP_SYS0(SYS_geteuid)) {
        memcpy(out->name, name, strlen(name) + 1);
        return true;
    }
    otp_spool_release(out);
    return false;
}

/* NULL: no memory for it, or it is nothing that anybody could deliver; then it is let go. */
static struct otp_queue_item *read_taken(struct otp_spool *s, const struct otp_queue *q,
                                         struct otp_spooled *f)
{
    int64_t size = otp_sys_file_size(f->fd.fd);
    if (size <= 0 || size > MESSAGE_MAX) {
        (void)otp_spool_done(s, f);
        return NULL;
    }
    struct otp_queue_item *item = otp_queue_new_item(q, (size_t)size);
    if (item != NULL && otp_sys_pread_full(f->fd.fd, item->bytes, (size_t)size, 0) == size) {
        item->file = f;
        return item;
    }
    otp_queue_free_item(q, item);
    otp_spool_release(f);
    return NULL;
}

struct otp_queue_item *otp_spool_take(struct otp_spool *s, const struct otp_queue *q,
                                      struct otp_spooled *out)
{
    struct search f = {0};
    struct otp_queue_item *item = NULL;
    int folder = s->folder[0] == '\0' ? -1 : open_folder(s);

    for (unsigned i = 0; folder >= 0 && i < TAKE_TRIES && item == NULL; i++) {
        f.found[0] = '\0';
        list(s, folder, look, &f);
        if (f.found[0] == '\0') {
            break;
        }
        if (lock(folder, f.found, out)) {
            item = read_taken(s, q, out);
        }
        memcpy(f.after, f.found, sizeof(f.after));
    }
    if (folder >= 0) {
        otp_sys_close(folder);
    }
    return item;
}

void otp_spool_release(struct otp_spooled *f)
{
    (void)otp_fd_close(&f->fd);
    f->name[0] = '\0';
}

bool otp_spool_done(struct otp_spool *s, struct otp_spooled *f)
{
    long r = f->name[0] == '\0' ? -ENOENT : open_folder(s);
    if (r >= 0) {
        int folder = (int)r;
        r = OTP_SYS3(SYS_unlinkat, folder, f->name, 0);
        otp_sys_close(folder);
    }
    otp_spool_release(f);
    if (r < 0 && r != -ENOENT) {
        s->error = (int)-r;
        s->folder[0] = '\0';
        return false;
    }
    return true;
}

/* ---- the beginning ---- */

bool otp_spool_init(struct otp_spool *s, const struct otp_spool_options *o)
{
    size_t base = o->folder.len > 0 && o->folder.data[0] != '/' ? o->base_path.len + 1 : 0;
    memset(s, 0, sizeof(*s));
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
