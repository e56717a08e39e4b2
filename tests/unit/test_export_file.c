/* SPDX-License-Identifier: Apache-2.0 */
/* The file sink: whole files under unique names, every way of failing, many processes at once. */
#define _GNU_SOURCE /* O_PATH, unshare */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/export/sink.h"
#include "tests/unit/run.h"

static char dir[64];
static char at[512];
static struct otp_sink_file sink;
static uint64_t flush;

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void set_up(void)
{
    strncpy(dir, "/tmp/otp-file-XXXXXX", sizeof(dir));
    ck_assert_ptr_nonnull(mkdtemp(dir));
    umask(022);
    flush = 0;
}

static void tear_down(void)
{
    ck_assert_int_eq(nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* DIR/name; valid until the next call. */
static const char *in_dir(const char *name)
{
    snprintf(at, sizeof(at), "%s/%s", dir, name);
    return at;
}

/* A sink for a name inside dir. */
static void open_sink(const char *name)
{
    static char text[512];
    snprintf(text, sizeof(text), "%s/%s", dir, name);
    struct otp_sink_file_options options = {
        .name = otp_text_of(text),
        .base_fd = AT_FDCWD,
        .program = otp_text_of("prog"),
        .host = otp_text_of("box"),
        .start_ns = 1,
    };
    otp_sink_file_init(&sink, &options);
}

static enum otp_status put(const void *data, size_t len)
{
    struct otp_message m = {.data = data, .len = len, .flush = flush};
    enum otp_status status = otp_sink_put(&sink.base, &m, 0);
    flush += status == OTP_OK ? 1 : 0;
    return status;
}

static void put_good(const char *text)
{
    enum otp_status status = put(text, strlen(text));
    ck_assert_msg(status == OTP_OK, "%s: %s", sink.base.failed_step, strerror(sink.base.error));
    ck_assert_int_eq(sink.base.error, 0);
    ck_assert_ptr_null(sink.base.failed_step);
}

static void put_bad(const char *step, int error)
{
    uint64_t sent = sink.base.sent_messages;
    ck_assert_int_eq((int)put("bytes", 5), OTP_IO);
    ck_assert_msg(sink.base.error == error, "%s: %s", sink.base.failed_step,
                  strerror(sink.base.error));
    ck_assert_str_eq(sink.base.failed_step, step);
    ck_assert_uint_eq(sink.base.sent_messages, sent);
}

static void assert_file(const char *name, const char *want)
{
    char got[64];
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "%s: %s", at, strerror(errno));
    ssize_t n = read(fd, got, sizeof(got));
    close(fd);
    ck_assert_int_eq(n, (ssize_t)strlen(want));
    ck_assert_int_eq(memcmp(got, want, (size_t)n), 0);
}

/* Entries of dir; hidden ones are temporary files and must never be there. */
static size_t count_files(void)
{
    DIR *d = opendir(dir);
    size_t count = 0;
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            ck_assert_msg(e->d_name[0] != '.', "left behind: %s", e->d_name);
            count++;
        }
    }
    closedir(d);
    return count;
}

static size_t count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t count = 0;
    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL) {
        count++;
    }
    closedir(d);
    return count;
}

START_TEST(test_names_of_one_process)
{
    size_t fds = count_fds();
    open_sink("x.otlp.zst");
    ck_assert_int_eq((int)sink.base.format, OTP_FORMAT_OTLP);
    ck_assert_int_eq((int)sink.base.compression, OTP_COMPRESSION_ZSTD);
    put_good("zero");
    put_good("one");
    put_good("");
    assert_file("x.otlp.zst", "zero");
    assert_file("x.1.otlp.zst", "one");
    assert_file("x.2.otlp.zst", "");
    ck_assert_str_eq(sink.path, in_dir("x.2.otlp.zst"));
    ck_assert_uint_eq(count_files(), 3);
    ck_assert_uint_eq(sink.base.sent_messages, 3);
    ck_assert_uint_eq(count_fds(), fds);
    ck_assert_int_eq((int)otp_sink_pump(&sink.base, 0, true), OTP_OK);
    otp_sink_close(&sink.base);
}
END_TEST

/* Somebody who collects the files must not get the same name twice from one process. */
START_TEST(test_name_is_not_used_again_after_removal)
{
    open_sink("x.otlp");
    put_good("zero");
    ck_assert_int_eq(unlink(in_dir("x.otlp")), 0);
    put_good("one");
    assert_file("x.1.otlp", "one");
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(test_flush_number_in_the_name)
{
    open_sink("%e-%n.jsonl");
    put_good("zero");
    put_good("one");
    assert_file("prog-0.jsonl", "zero");
    assert_file("prog-1.jsonl", "one");
}
END_TEST

START_TEST(test_nothing_is_ever_overwritten)
{
    char name[64];
    FILE *old = fopen(in_dir("x.otlp"), "w");
    ck_assert_ptr_nonnull(old);
    fputs("old", old);
    fclose(old);
    ck_assert_int_eq(symlink("/nowhere/at/all", in_dir("x.0.otlp")), 0);
    snprintf(name, sizeof(name), "x.0.%d.otlp", getpid());
    ck_assert_int_eq(mkdir(in_dir(name), 0755), 0);
    open_sink("x.otlp");
    put_good("new");
    assert_file("x.otlp", "old");
    snprintf(name, sizeof(name), "x.0.%d.2.otlp", getpid());
    assert_file(name, "new");
    ck_assert_uint_eq(count_files(), 4);
}
END_TEST

START_TEST(test_mode_obeys_the_umask)
{
    static const mode_t masks[] = {022, 077, 0, 027};
    open_sink("x-%n.otlp");
    for (size_t i = 0; i < OTP_ARRAY_LEN(masks); i++) {
        char name[32];
        struct stat st;
        umask(masks[i]);
        put_good("x");
        snprintf(name, sizeof(name), "x-%zu.otlp", i);
        ck_assert_int_eq(stat(in_dir(name), &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0644 & ~masks[i]);
    }
}
END_TEST

START_TEST(test_relative_names_start_at_the_base)
{
    struct otp_sink_file_options options = {.name = otp_text_of("sub/x.otlp"),
                                            .base_fd = open(dir, O_PATH | O_CLOEXEC)};
    ck_assert_int_ge(options.base_fd, 0);
    ck_assert_int_eq(mkdir(in_dir("sub"), 0755), 0);
    ck_assert_int_eq(chdir("/"), 0);
    otp_sink_file_init(&sink, &options);
    put_good("fd");
    assert_file("sub/x.otlp", "fd");

    options.base_path = otp_text_of(dir);
    options.base_fd = -1;
    otp_sink_file_init(&sink, &options);
    put_good("path");
    assert_file("sub/x.1.otlp", "path");

    options.name = otp_text_of("y.otlp");
    otp_sink_file_init(&sink, &options);
    put_good("plain");
    assert_file("y.otlp", "plain");
}
END_TEST

START_TEST(test_failures_say_step_and_reason)
{
    struct otp_line line = {0};
    open_sink("missing/x.otlp");
    ck_assert_int_eq((int)otp_sink_check(&sink.base), OTP_IO);
    ck_assert_int_eq(sink.base.error, ENOENT);
    put_bad("open the folder of", ENOENT);
    otp_sink_describe(&sink.base, &line);
    line.text[line.len] = '\0';
    ck_assert_ptr_nonnull(strstr(line.text, "cannot open the folder of file "));
    ck_assert_ptr_nonnull(strstr(line.text, "/missing/x.otlp: no such file or folder"));

    /* Made later: then it works, with nothing lost. */
    ck_assert_int_eq(mkdir(in_dir("missing"), 0755), 0);
    ck_assert_int_eq((int)otp_sink_check(&sink.base), OTP_OK);
    ck_assert_uint_eq(count_files(), 1);
    put_good("later");
    assert_file("missing/x.otlp", "later");

    open_sink("missing/x.otlp/y.otlp");
    put_bad("open the folder of", ENOTDIR);

    char longest[300] = "";
    memset(longest, 'y', 280);
    open_sink(longest);
    put_bad("name", ENAMETOOLONG);
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(test_deleted_folder)
{
    struct otp_sink_file_options options = {.name = otp_text_of("x.otlp")};
    ck_assert_int_eq(mkdir(in_dir("gone"), 0755), 0);
    options.base_fd = open(in_dir("gone"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(options.base_fd, 0);
    ck_assert_int_eq(rmdir(in_dir("gone")), 0);
    otp_sink_file_init(&sink, &options);
    put_bad("create", ENOENT);
}
END_TEST

START_TEST(test_name_of_full_length_works)
{
    char longest[256] = "";
    memset(longest, 'y', 250);
    memcpy(longest + 250, ".otlp", 5);
    open_sink(longest);
    put_good("x");
    assert_file(longest, "x");
    put_bad("name", ENAMETOOLONG);
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(test_file_size_limit)
{
    static char big[3 << 20];
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &set, NULL); /* as in the worker */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    open_sink("x.otlp");
    ck_assert_int_eq((int)put(big, sizeof(big)), OTP_IO);
    ck_assert_int_eq(sink.base.error, EFBIG);
    ck_assert_str_eq(sink.base.failed_step, "write");
    ck_assert_uint_eq(count_files(), 0);
    put_good("small");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    ck_assert_int_eq((int)put(big, sizeof(big)), OTP_OK);
    struct stat st;
    ck_assert_int_eq(stat(in_dir("x.1.otlp"), &st), 0);
    ck_assert_int_eq(st.st_size, sizeof(big));
}
END_TEST

START_TEST(test_descriptor_limit)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int lowest = open("/", O_PATH | O_CLOEXEC);
    close(lowest);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = (rlim_t)lowest;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    open_sink("x.otlp");
    put_bad("open the folder of", EMFILE);
    limit.rlim_cur = (rlim_t)lowest + 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    put_bad("create", EMFILE);
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    put_good("x");
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

/* The numbers 0 to 2 belong to the host even while it has them closed. */
START_TEST(test_low_descriptors_are_left_alone)
{
    int saved = fcntl(0, F_DUPFD_CLOEXEC, 10);
    close(0);
    open_sink("x.otlp");
    put_good("x");
    ck_assert_int_eq(fcntl(0, F_GETFD), -1);
    ck_assert_int_eq(dup2(saved, 0), 0);
    assert_file("x.otlp", "x");
}
END_TEST

/* Runs check in a child, as nobody; the child's exit status must be 0. */
static void in_child(void (*check)(void), bool as_nobody)
{
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (as_nobody && geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(100);
        }
        check();
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %x", status);
}

static void put_without_permission(void)
{
    ck_assert_int_eq((int)otp_sink_check(&sink.base), OTP_IO);
    ck_assert_int_eq(sink.base.error, EACCES);
    ck_assert_str_eq(sink.base.failed_step, "write to the folder of");
    put_bad("create", EACCES);
    struct otp_line line = {0};
    otp_sink_describe(&sink.base, &line);
    line.text[line.len] = '\0';
    ck_assert_ptr_nonnull(strstr(line.text, "permission denied"));
}

START_TEST(test_folder_without_permission)
{
    open_sink("ro/x.otlp");
    ck_assert_int_eq(chmod(dir, 0755), 0);
    ck_assert_int_eq(mkdir(in_dir("ro"), 0555), 0);
    in_child(put_without_permission, true);
    ck_assert_int_eq(chmod(in_dir("ro"), 0755), 0);
}
END_TEST

static void put_when_writable_only(void)
{
    put_good("x");
}

/* A letter box: files can be put in, the folder cannot be listed. */
START_TEST(test_folder_that_cannot_be_read)
{
    ck_assert_int_eq(chmod(dir, 0733), 0);
    open_sink("x.otlp");
    in_child(put_when_writable_only, true);
    assert_file("x.otlp", "x");
}
END_TEST

/* Private mounts; false where this is not allowed. */
static bool mount_tmpfs(const char *options)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", dir, "tmpfs", 0, options) == 0;
}

static void fill_the_disk(void)
{
    static char big[256 << 10];
    if (!mount_tmpfs("size=64k")) {
        _exit(geteuid() == 0 && errno != EPERM ? 1 : 0);
    }
    open_sink("x.otlp");
    put_good("before");
    ck_assert_int_eq((int)put(big, sizeof(big)), OTP_IO);
    ck_assert_int_eq(sink.base.error, ENOSPC);
    ck_assert_str_eq(sink.base.failed_step, "write");
    ck_assert_uint_eq(count_files(), 1);
    put_good("after");
    assert_file("x.1.otlp", "after");

    ck_assert_int_eq(mount("tmpfs", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    ck_assert_int_eq((int)otp_sink_check(&sink.base), OTP_IO);
    ck_assert_int_eq(sink.base.error, EROFS);
    put_bad("create", EROFS);
    ck_assert_uint_eq(count_files(), 2);
    ck_assert_int_eq(mount("tmpfs", dir, NULL, MS_REMOUNT, "size=64k,nr_inodes=3"), 0);
    put_bad("create", ENOSPC);
    ck_assert_uint_eq(count_files(), 2);
}

START_TEST(test_full_and_read_only_disk)
{
    in_child(fill_the_disk, false);
}
END_TEST

/* From now on these system calls of this process fail like that. */
static void make_fail(const int *numbers, const int *errors, size_t count)
{
    struct sock_filter filter[32];
    size_t n = 0;
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        filter[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        filter[n++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errors[i]);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void publish_in_all_cases(void)
{
    char name[64];
    open_sink("x.otlp");
    put_good("zero");
    put_good("one");
    assert_file("x.otlp", "zero");
    assert_file("x.1.otlp", "one");
    open_sink("x.otlp");
    flush = 1;
    put_good("two");
    snprintf(name, sizeof(name), "x.1.%d.otlp", getpid());
    assert_file(name, "two");
    ck_assert_uint_eq(count_files(), 3);
}

static void publish_without_rename2(void)
{
    make_fail((int[]){SYS_renameat2}, (int[]){EINVAL}, 1);
    publish_in_all_cases();
}

static void publish_without_links(void)
{
    make_fail((int[]){SYS_renameat2, SYS_linkat}, (int[]){ENOSYS, EPERM}, 2);
    publish_in_all_cases();
}

static void publish_without_anything(void)
{
    make_fail((int[]){SYS_renameat2, SYS_linkat, SYS_renameat}, (int[]){ENOSYS, EPERM, EIO}, 3);
    open_sink("x.otlp");
    put_bad("publish", EIO);
    ck_assert_uint_eq(count_files(), 0);
}

static void close_fails(void)
{
    make_fail((int[]){SYS_close}, (int[]){EDQUOT}, 1);
    open_sink("x.otlp");
    put_bad("write", EDQUOT);
}

START_TEST(test_publishing_on_file_systems_that_know_less)
{
    static void (*const checks[])(void) = {publish_in_all_cases, publish_without_rename2,
                                           publish_without_links, publish_without_anything,
                                           close_fails};
    in_child(checks[_i], false);
    (void)count_files();
}
END_TEST

/* A temporary file of a killed process that had our number. */
START_TEST(test_stale_temporary_file_is_passed_over)
{
    char name[64];
    snprintf(name, sizeof(name), ".x.otlp.tmp-%d-0", getpid());
    int fd = open(in_dir(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    open_sink("x.otlp");
    put_good("x");
    assert_file("x.otlp", "x");
    assert_file(name, "");
    ck_assert_int_eq(unlink(in_dir(name)), 0);
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

enum { WRITERS = 20, FLUSHES = 5, WORDS = 20000 };

/* Each file holds its writer's number again and again, so that a torn or mixed file shows. */
static void write_numbered(int writer)
{
    static uint32_t words[WORDS];
    open_sink("x.otlp");
    for (flush = 0; flush < FLUSHES;) {
        uint32_t mark = (uint32_t)writer << 8 | (uint32_t)flush;
        for (size_t i = 0; i < WORDS; i++) {
            words[i] = mark;
        }
        if (put(words, sizeof(words)) != OTP_OK) {
            _exit(1);
        }
    }
    _exit(0);
}

static uint32_t read_numbered(const char *name)
{
    static uint32_t words[WORDS + 1];
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(read(fd, words, sizeof(words)), WORDS * sizeof(words[0]));
    close(fd);
    ck_assert_int_eq(memcmp(words, words + 1, (WORDS - 1) * sizeof(words[0])), 0);
    return words[0];
}

START_TEST(test_many_processes_on_one_template)
{
    bool is_seen[WRITERS][FLUSHES] = {{false}};
    int start[2];
    ck_assert_int_eq(pipe(start), 0);
    for (int i = 0; i < WRITERS; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            char c;
            close(start[1]);
            (void)!read(start[0], &c, 1); /* returns when all have been started */
            write_numbered(i);
        }
    }
    close(start[0]);
    close(start[1]);
    for (int i = 0; i < WRITERS; i++) {
        int status;
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_eq(count_files(), (size_t)WRITERS * FLUSHES);
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (e->d_name[0] != '.') {
            uint32_t mark = read_numbered(e->d_name);
            ck_assert_uint_lt(mark >> 8, WRITERS);
            ck_assert_uint_lt(mark & 0xff, FLUSHES);
            ck_assert(!is_seen[mark >> 8][mark & 0xff]);
            is_seen[mark >> 8][mark & 0xff] = true;
        }
    }
    closedir(d);
}
END_TEST

/* Descriptors of the host's first three numbers are left alone; where no other may be had, it is
 * the limit that is told. */
START_TEST(test_no_number_above_the_first_three)
{
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    open_sink("x.otlp");
    int kept = dup(0);
    ck_assert_int_ge(kept, 3);
    close(0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    put_bad("open the folder of", EMFILE);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(dup2(kept, 0), 0);
    close(kept);
    put_good("bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export_file");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, set_up, tear_down);
    tcase_set_timeout(files, 60);
    tcase_add_test(files, test_names_of_one_process);
    tcase_add_test(files, test_name_is_not_used_again_after_removal);
    tcase_add_test(files, test_flush_number_in_the_name);
    tcase_add_test(files, test_nothing_is_ever_overwritten);
    tcase_add_test(files, test_mode_obeys_the_umask);
    tcase_add_test(files, test_relative_names_start_at_the_base);
    tcase_add_test(files, test_failures_say_step_and_reason);
    tcase_add_test(files, test_deleted_folder);
    tcase_add_test(files, test_name_of_full_length_works);
    tcase_add_test(files, test_file_size_limit);
    tcase_add_test(files, test_descriptor_limit);
    tcase_add_test(files, test_low_descriptors_are_left_alone);
    tcase_add_test(files, test_folder_without_permission);
    tcase_add_test(files, test_folder_that_cannot_be_read);
    tcase_add_test(files, test_full_and_read_only_disk);
    tcase_add_loop_test(files, test_publishing_on_file_systems_that_know_less, 0, 5);
    tcase_add_test(files, test_no_number_above_the_first_three);
    tcase_add_test(files, test_stale_temporary_file_is_passed_over);
    tcase_add_test(files, test_many_processes_on_one_template);
    suite_add_tcase(suite, files);

    return unit_run(suite);
}
