/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* renameat2 */
#include "tools/otelprof/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/civil.h"
#include "core/base/map.h"
#include "core/base/sys.h"

#define NAME_ROOM 160
#define PROGRAM_MAX 64U
#define TEMPORARY ".otelprof-"
#define TEMPORARY_MAX_S 3600 /* older ones were left by a process that was killed */

/* Removes what killed receivers have left of files that they were writing. */
static void sweep(const char *folder)
{
    time_t now = time(NULL);
    DIR *d = opendir(folder);

    for (struct dirent *e = d == NULL ? NULL : readdir(d); e != NULL; e = readdir(d)) {
        struct stat st;
        size_t len = strlen(e->d_name);
        bool is_temporary = strncmp(e->d_name, TEMPORARY, sizeof(TEMPORARY) - 1) == 0 && len > 4 &&
                            strcmp(e->d_name + len - 4, ".new") == 0;
        if (is_temporary && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && now - st.st_mtime > TEMPORARY_MAX_S) {
            (void)unlinkat(dirfd(d), e->d_name, 0); /* another receiver may have been quicker */
        }
    }
    if (d != NULL) {
        (void)closedir(d); /* nothing was written */
    }
}

bool otp_store_open(struct otp_store *s, const char *folder)
{
    struct stat st;

    s->folder = folder;
    s->count = 0;
    s->again = 0;
    if (strlen(folder) > OTP_STORE_PATH - NAME_ROOM - 64) {
        (void)fprintf(stderr, "otelprof receive: the name of the folder is too long\n");
        return false;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "otelprof receive: %s: %s\n", folder, strerror(errno));
        return false;
    }
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode) || access(folder, W_OK) != 0) {
        (void)fprintf(stderr, "otelprof receive: %s is not a folder that can be written to\n",
                      folder);
        return false;
    }
    sweep(folder);
    return true;
}

/* What tells messages apart: the ids of the profiles, or, without them, the bytes. */
static uint64_t identity_of(const struct otp_profiles *m)
{
    static const char zeros[16];
    uint64_t hash = 0;
    for (uint32_t i = 0; i < m->profiles.count; i++) {
        struct otp_text id = otp_profiles_text(m, otp_profiles_profile(m, i)->profile_id);
        if (id.len != sizeof(zeros) || memcmp(id.data, zeros, sizeof(zeros)) == 0) {
            return otp_hash_bytes(m->bytes, m->size, 1);
        }
        hash = otp_hash_bytes(id.data, id.len, hash);
    }
    return hash;
}

static const struct otp_value *find(const struct otp_profiles *m, const char *key)
{
    return m->resources.count == 0
               ? NULL
               : otp_profiles_find_keyvalue(m, otp_profiles_resource(m, 0)->attrs, key);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(".-_", c) != NULL);
}

/* otelprof-PROGRAM-PID-TIME-IDENTITY. Foreign text becomes a name: letters, digits, dot, dash,
 * underscore.
 */
static void name_of(const struct otp_profiles *m, char *out, size_t room)
{
    struct otp_text program = otp_profiles_value_text(m, find(m, "process.executable.name"));
    const struct otp_value *pid = find(m, "process.pid");
    uint64_t time_ns = m->profiles.count > 0 ? otp_profiles_profile(m, 0)->time_ns : 0;
    struct otp_civil c = otp_civil_of(time_ns / 1000000000U);
    char name[PROGRAM_MAX + 1];
    size_t len = 0;

    if (program.len == 0) {
        program = otp_profiles_value_text(m, find(m, "service.name"));
    }
    if (program.len == 0) {
        program = otp_text_of("unknown");
    }
    for (; len < program.len && len < PROGRAM_MAX; len++) {
        name[len] = program.data[len];
        if (!is_plain(name[len])) {
            name[len] = '_';
        }
    }
    name[len] = '\0';
    (void)snprintf(out, room, "otelprof-%s-%lld-%04u%02u%02uT%02u%02u%02uZ-%016llx", name,
                   pid != NULL && pid->kind == OTP_VALUE_INT ? (long long)pid->of.number : 0,
                   (unsigned)(c.year % 10000U), c.month, c.day, c.hour, c.minute, c.second,
                   (unsigned long long)identity_of(m));
}

/* Gives the file its name if that is free; false: errno says why not. */
static bool rename_to_free(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return true;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return false;
    }
    /* File systems without that call: a second name, which fails where one is, instead. */
    return link(from, to) == 0 && unlink(from) == 0;
}

static bool write_file(const char *path, const struct otp_profiles *m)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0) {
        return false;
    }
    int error = otp_sys_write_full(fd, m->bytes, m->size);
    if (close(fd) != 0 && error == 0) {
        error = -errno;
    }
    errno = -error;
    return error == 0;
}

enum otp_stored otp_store_add(struct otp_store *s, const struct otp_profiles *m, char *out_path)
{
    char temporary[OTP_STORE_PATH];
    char name[NAME_ROOM];
    uint64_t noise;
    struct stat st;

    name_of(m, name, sizeof(name));
    (void)snprintf(out_path, OTP_STORE_PATH, "%s/%s.otlp", s->folder, name);
    if (lstat(out_path, &st) == 0) {
        return OTP_STORED_BEFORE;
    }
    otp_sys_random(&noise, sizeof(noise));
    (void)snprintf(temporary, sizeof(temporary), "%s/" TEMPORARY "%ld-%016llx.new", s->folder,
                   (long)getpid(), (unsigned long long)noise);
    if (write_file(temporary, m) && rename_to_free(temporary, out_path)) {
        s->count++;
        return OTP_STORED;
    }
    int error = errno;
    (void)unlink(temporary); /* it may not be there */
    if (error == EEXIST) {
        return OTP_STORED_BEFORE; /* another receiver was quicker */
    }
    (void)snprintf(out_path, OTP_STORE_PATH, "%.1400s: %s", temporary, strerror(error));
    return OTP_NOT_STORED;
}
