/* SPDX-License-Identifier: Apache-2.0 */
/* Resource attributes: of this process, of made-up /proc and /etc trees, and those of the user. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/base/utf8.h"
#include "core/resource/identity.h"
#include "core/resource/resource.h"
#include "tests/unit/run.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
#define UID_LOW "6ba7b810_9dad_11d1_80b4_00c04fd430c8"

static struct otp_resource r;
static struct otp_resource_input in;
static char root[64];
static char last_line[600];
static size_t line_count;

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s", root, name);
    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void set_up(void)
{
    strncpy(root, "/tmp/otp-res-XXXXXX", sizeof(root));
    ck_assert_ptr_nonnull(mkdtemp(root));
    make_folder("/proc");
    make_folder("/proc/self");
    make_folder("/etc");
    make_folder("/usr");
    make_folder("/usr/lib");
    memset(&in, 0, sizeof(in));
    in.version = otp_text_of("1.2.3");
    in.root = root;
}

static void tear_down(void)
{
    ck_assert_int_eq(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void write_bytes(const char *name, const void *bytes, size_t len)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s", root, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

static void link_executable(const char *to)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/proc/self/exe", root);
    unlink(path);
    ck_assert_int_eq(symlink(to, path), 0);
}

static void keep_line(void *arg, const char *line, size_t len)
{
    ck_assert_ptr_eq(arg, &r);
    ck_assert_uint_lt(len, sizeof(last_line));
    memcpy(last_line, line, len);
    last_line[len] = '\0';
    ck_assert_ptr_null(strchr(last_line, '\n'));
    line_count++;
}

static void detect(void)
{
    line_count = 0;
    memset(&r, 0xa5, sizeof(r));
    otp_resource_detect(&r, &in, keep_line, &r);
    for (size_t i = 0; i < r.count; i++) {
        const struct otp_resource_attr *a = &r.attrs[i];
        ck_assert_uint_gt(a->key.len, 0);
        ck_assert(otp_utf8_is_valid(a->key));
        ck_assert(a->is_int || otp_utf8_is_valid(a->text));
        for (size_t j = 0; j < i; j++) {
            ck_assert(r.attrs[j].key.len != a->key.len ||
                      memcmp(r.attrs[j].key.data, a->key.data, a->key.len) != 0);
        }
    }
}

static void assert_attr(const char *key, const char *want)
{
    const struct otp_resource_attr *a = otp_resource_find(&r, key);
    if (want == NULL) {
        ck_assert_msg(a == NULL, "%s is there", key);
        return;
    }
    ck_assert_msg(a != NULL, "%s is missing", key);
    ck_assert(!a->is_int);
    ck_assert_msg(a->text.len == strlen(want) && memcmp(a->text.data, want, a->text.len) == 0,
                  "%s is %.*s, not %s", key, (int)a->text.len, a->text.data, want);
}

START_TEST(test_this_process)
{
    struct utsname names;
    static char path[4096];
    static char service[5000];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    ck_assert_int_gt(n, 0);
    path[n] = '\0';
    in.root = NULL;
    detect();
    ck_assert_uint_eq(line_count, 0);
    assert_attr("telemetry.sdk.name", "libotelprof");
    assert_attr("telemetry.sdk.language", "cpp");
    assert_attr("telemetry.sdk.version", "1.2.3");
    assert_attr("process.executable.path", path);
    assert_attr("process.executable.name", strrchr(path, '/') + 1);
    snprintf(service, sizeof(service), "unknown_service:%s", strrchr(path, '/') + 1);
    assert_attr("service.name", service);
    const struct otp_resource_attr *pid = otp_resource_find(&r, "process.pid");
    ck_assert_ptr_nonnull(pid);
    ck_assert(pid->is_int);
    ck_assert_int_eq(pid->number, getpid());
    ck_assert_int_eq(uname(&names), 0);
    assert_attr("host.name", names.nodename);
    assert_attr("host.arch", "amd64");
    assert_attr("os.type", "linux");
    otp_resource_detect(&r, &in, NULL, NULL);
}
END_TEST

/* The clock that the kernel stamps with and the one that we ask differ by a tick or two. */
START_TEST(test_creation_time)
{
    struct tm tm = {0};
    struct timespec now;
    unsigned ms;
    in.root = NULL;
    detect();
    clock_gettime(CLOCK_REALTIME, &now);
    const struct otp_resource_attr *a = otp_resource_find(&r, "process.creation.time");
    ck_assert_ptr_nonnull(a);
    ck_assert_uint_eq(a->text.len, strlen("2024-02-29T12:05:07.123Z"));
    char text[32] = "";
    memcpy(text, a->text.data, a->text.len);
    ck_assert_int_eq(sscanf(text, "%d-%d-%dT%d:%d:%d.%3uZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                            &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms),
                     7);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    double created = (double)timegm(&tm) + ms / 1000.0;
    double age = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - created;
    /* Each test runs in a process of its own, forked just now. */
    ck_assert_msg(age > -0.05 && age < 60, "%s: %f s old", text, age);
}
END_TEST

START_TEST(test_instance_id_is_a_random_uuid)
{
    char before[37] = "";
    for (int i = 0; i < 50; i++) {
        detect();
        const struct otp_resource_attr *a = otp_resource_find(&r, "service.instance.id");
        ck_assert_ptr_nonnull(a);
        ck_assert_uint_eq(a->text.len, 36);
        char text[37] = "";
        memcpy(text, a->text.data, 36);
        ck_assert_str_ne(text, before);
        ck_assert_int_eq(text[14], '4');
        ck_assert_ptr_nonnull(strchr("89ab", text[19]));
        ck_assert(text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-');
        ck_assert_uint_eq(strspn(text, "0123456789abcdef-"), 36);
        memcpy(before, text, sizeof(before));
    }
}
END_TEST

START_TEST(test_nothing_to_find_out)
{
    in.root = "/nonexistent";
    detect();
    assert_attr("service.name", "unknown_service");
    assert_attr("process.executable.name", NULL);
    assert_attr("process.executable.path", NULL);
    assert_attr("process.command", NULL);
    assert_attr("process.creation.time", NULL);
    assert_attr("container.id", NULL);
    assert_attr("host.id", NULL);
    assert_attr("os.description", NULL);
    assert_attr("os.type", "linux");
    in.program = otp_text_of("prog");
    detect();
    assert_attr("service.name", "unknown_service:prog");
    assert_attr("process.executable.name", "prog");

    static char longest[300];
    memset(longest, 'a', sizeof(longest) - 1);
    in.root = longest;
    detect();
    assert_attr("process.executable.path", NULL);
}
END_TEST

static const struct {
    const char *link;
    const char *path;
    const char *name;
} executables[] = {
    {"/usr/bin/prog", "/usr/bin/prog", "prog"},
    {"/opt/new prog (deleted)", "/opt/new prog", "new prog"},
    {"/memfd:x (deleted)", "/memfd:x", "memfd:x"},
    {"/d/\xff\xfe"
     "caf\xe9",
     "/d/\xef\xbf\xbd\xef\xbf\xbd"
     "caf\xef\xbf\xbd",
     "\xef\xbf\xbd\xef\xbf\xbd"
     "caf\xef\xbf\xbd"},
};

START_TEST(test_executable)
{
    char service[300];
    char program[16] = "";
    link_executable(executables[_i].link);
    detect();
    assert_attr("process.executable.path", executables[_i].path);
    assert_attr("process.executable.name", executables[_i].name);
    snprintf(service, sizeof(service), "unknown_service:%s", executables[_i].name);
    assert_attr("service.name", service);
    size_t len = otp_resource_program(program, 3, root, NULL);
    ck_assert_uint_eq(len, 3);
    ck_assert_int_eq(memcmp(program, strrchr(executables[_i].link, '/') + 1, 3), 0);
    ck_assert_int_eq(program[3], '\0');
}
END_TEST

/* The name it was started by counts when it leads to the executable: not a script's, and not the
 * loader's. */
START_TEST(test_program_is_named_as_it_was_started)
{
    char exe[300];
    char alias[300];
    char script[300];
    char program[32];
    snprintf(exe, sizeof(exe), "%s/prog3.11", root);
    snprintf(alias, sizeof(alias), "%s/prog", root);
    snprintf(script, sizeof(script), "%s/script", root);
    write_bytes("/prog3.11", "x", 1);
    write_bytes("/script", "x", 1);
    unlink(alias);
    ck_assert_int_eq(symlink(exe, alias), 0);
    link_executable(exe);
    ck_assert_uint_eq(otp_resource_program(program, sizeof(program), root, alias), 4);
    ck_assert_int_eq(memcmp(program, "prog", 4), 0);
    ck_assert_uint_eq(otp_resource_program(program, sizeof(program), root, script), 8);
    ck_assert_uint_eq(otp_resource_program(program, sizeof(program), root, ""), 8);
    ck_assert_uint_eq(otp_resource_program(program, sizeof(program), root, NULL), 8);
    ck_assert_int_eq(memcmp(program, "prog3.11", 8), 0);
    unlink(alias);
    size_t len = otp_resource_program(program, sizeof(program), NULL, NULL);
    ck_assert_uint_gt(len, 3);
    ck_assert_uint_eq(otp_resource_program(exe, sizeof(exe), NULL, "/proc/self/exe"), len);
    ck_assert_int_eq(memcmp(exe, program, len), 0);
}
END_TEST

/* A path that is cut has lost its end, which is the program's name. */
START_TEST(test_endless_path_is_left_out)
{
    static char path[3000];
    for (size_t i = 0; i < sizeof(path) - 1; i++) {
        path[i] = i % 100 == 0 ? '/' : 'p';
    }
    link_executable(path);
    in.program = otp_text_of("prog");
    detect();
    assert_attr("process.executable.path", NULL);
    assert_attr("process.executable.name", "prog");
}
END_TEST

START_TEST(test_program_without_proc)
{
    char program[16];
    char host[4];
    size_t len = otp_resource_program(program, sizeof(program), "/nonexistent", NULL);
    ck_assert_uint_ge(len, 1);
    ck_assert_int_eq(memcmp(program, program_invocation_short_name, len), 0);
    ck_assert_uint_le(otp_resource_host(host, sizeof(host)), sizeof(host));
}
END_TEST

START_TEST(test_command_is_the_first_argument_alone)
{
    write_bytes("/proc/self/cmdline", "./prog\0--password=x\0", 20);
    detect();
    assert_attr("process.command", "./prog");
    write_bytes("/proc/self/cmdline", "", 0);
    detect();
    assert_attr("process.command", NULL);
    static char longest[5000];
    memset(longest, 'c', sizeof(longest));
    write_bytes("/proc/self/cmdline", longest, sizeof(longest));
    detect();
    ck_assert_uint_eq(otp_resource_find(&r, "process.command")->text.len, 1024);
}
END_TEST

static const struct {
    const char *stat;
    bool is_good;
} stats[] = {
    {"1 (a) S 1 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 100 4096\n", true},
    {"1 (a b) S 9 9) S 1 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 100 4096\n", true},
    {"1 (a) S 1 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 100", true},
    {"1 (a) S 1 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 x 4096\n", false},
    {"1 (a) S 1 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 18446744073709551615 1\n", false},
    {"1 (a) S 1 1\n", false},
    {"1 (a)", false},
    {"(", false},
    {"", false},
};

START_TEST(test_stat_of_any_kind)
{
    write_text("/proc/self/stat", stats[_i].stat);
    detect();
    ck_assert_msg((otp_resource_find(&r, "process.creation.time") != NULL) == stats[_i].is_good,
                  "%s", stats[_i].stat);
}
END_TEST

START_TEST(test_os_release)
{
    write_text("/usr/lib/os-release", "NAME=Wrong\n");
    write_text("/etc/os-release", "# NAME=x\nPRETTY_NAME=\"Good OS 12\"\nNAME='Good OS'\n"
                                  "VERSION_ID=12\nXNAME=y\nBUILD_ID=\"\nNAME=again\n");
    detect();
    assert_attr("os.description", "Good OS 12");
    assert_attr("os.name", "Good OS");
    assert_attr("os.version", "12");
    assert_attr("os.build_id", "\"");
    char path[128];
    snprintf(path, sizeof(path), "%s/etc/os-release", root);
    ck_assert_int_eq(unlink(path), 0);
    detect();
    assert_attr("os.name", "Wrong");
    assert_attr("os.version", NULL);
}
END_TEST

START_TEST(test_machine_id)
{
    write_text("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    detect();
    assert_attr("host.id", "0123456789abcdef0123456789abcdef");
    write_text("/etc/machine-id", "uninitialized\n");
    detect();
    assert_attr("host.id", NULL);
    write_text("/etc/machine-id", "0123456789abcdef0123456789abcdef0\n");
    detect();
    assert_attr("host.id", NULL);
}
END_TEST

static const struct {
    const char *line;
    const char *container;
    const char *pod;
} cgroups[] = {
    {"0::/", NULL, NULL},
    {"0::/user.slice/user-0.slice/session-1.scope", NULL, NULL},
    {"12:cpu:/docker/" ID, ID, NULL},
    {"1:name=systemd:/docker/" OTHER "/docker/" ID, ID, NULL},
    {"0::/system.slice/docker-" ID ".scope", ID, NULL},
    {"0::/system.slice/docker-" ID ".scope/init.scope", ID, NULL},
    {"0::/machine.slice/libpod-" ID ".scope/container", ID, NULL},
    {"0::/machine.slice/libpod-conmon-" ID ".scope", NULL, NULL},
    {"11:memory:/kubepods/burstable/pod" UID "/" ID, ID, UID},
    {"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_LOW
     ".slice/cri-containerd-" ID ".scope",
     ID, UID},
    {"11:cpu:/system.slice/containerd.service/kubepods-pod" UID_LOW ".slice:cri-containerd:" ID, ID,
     UID},
    {"0::/kubepods/pod" UID "x/y", NULL, UID},
    {"0::/kubepods/pod" UID "0/y", NULL, NULL},
    {"0::/pod"
     "6ba7b810-9dad-11d1-80b4-00c04fd430c",
     NULL, NULL},
    {"0::/ecs/task/" ID, ID, NULL},
    {"0::/x/" ID "0", NULL, NULL},
    {"0::/x/0" ID, NULL, NULL},
    {"0::/x/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", NULL, NULL},
    {"", NULL, NULL},
    {".scope", NULL, NULL},
};

static void assert_ids(const struct otp_container_ids *ids, const char *container, const char *pod)
{
    ck_assert(ids->has_container == (container != NULL));
    ck_assert(ids->has_pod == (pod != NULL));
    ck_assert(container == NULL || memcmp(ids->container, container, 64) == 0);
    ck_assert(pod == NULL || memcmp(ids->pod, pod, 36) == 0);
}

/* The line stands alone in memory, so that the sanitizer sees a read behind its end. */
static char *exact_copy(const char *line)
{
    char *copy = malloc(strlen(line) + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, line, strlen(line));
    return realloc(copy, strlen(line) > 0 ? strlen(line) : 1);
}

START_TEST(test_cgroup_line)
{
    struct otp_container_ids ids = {.has_container = false};
    char *line = exact_copy(cgroups[_i].line);
    otp_identity_from_cgroup(otp_text_make(line, strlen(cgroups[_i].line)), &ids);
    assert_ids(&ids, cgroups[_i].container, cgroups[_i].pod);
    free(line);
}
END_TEST

static const struct {
    const char *line;
    const char *container;
    const char *pod;
} mounts[] = {
    {"1 2 8:1 /var/lib/docker/containers/" ID "/hostname /etc/hostname rw - ext4 /dev/a rw", ID,
     NULL},
    {"1 2 8:1 /containers/overlay-containers/" ID "/userdata/hosts /etc/hosts rw - ext4 a rw", ID,
     NULL},
    {"1 2 8:1 /var/lib/kubelet/pods/" UID "/etc-hosts /etc/hosts rw - ext4 a rw", NULL, UID},
    {"1 2 8:1 /lib/kubelet/pods/" UID "/containers/c/1 /dev/termination-log rw - x a rw", NULL,
     UID},
    /* A host shows the mounts of its containers, and an image its layers. */
    {"1 2 0:9 / /var/lib/docker/containers/" ID "/mounts/shm rw - tmpfs shm rw", NULL, NULL},
    {"1 2 8:1 /docker/containers/" ID "/hostname /mnt/hostname rw - x a rw", NULL, NULL},
    {"1 2 8:1 /kubelet/pods/" UID "/etc-hosts /mnt/etc/hosts rw - x a rw", NULL, NULL},
    {"1 2 8:1 /var/lib/docker/overlay2/" ID "/merged /etc/hosts rw - x a rw", NULL, NULL},
    {"1 2 8:1 /containerd/sandboxes/" ID "/hostname /etc/hostname rw - x a rw", NULL, NULL},
    {"1 2 8:1 /docker/containers/" ID "0/hostname /etc/hostname rw", NULL, NULL},
    {"1 2 8:1", NULL, NULL},
    {"", NULL, NULL},
};

START_TEST(test_mount_line)
{
    struct otp_container_ids ids = {.has_container = false};
    char *line = exact_copy(mounts[_i].line);
    otp_identity_from_mountinfo(otp_text_make(line, strlen(mounts[_i].line)), &ids);
    assert_ids(&ids, mounts[_i].container, mounts[_i].pod);
    free(line);
}
END_TEST

START_TEST(test_container_from_files)
{
    write_text("/proc/self/cgroup", "12:cpu:/\n0::/kubepods/pod" UID "/" ID "\n");
    write_text("/proc/self/mountinfo",
               "1 2 8:1 /docker/containers/" OTHER "/hostname /etc/hostname rw - x a rw\n");
    detect();
    assert_attr("container.id", ID);
    assert_attr("k8s.pod.uid", UID);
    write_text("/proc/self/cgroup", "0::/\n");
    detect();
    assert_attr("container.id", OTHER);
    assert_attr("k8s.pod.uid", NULL);
    write_text("/proc/self/mountinfo",
               "1 2 8:1 / / rw - x a rw\n"
               "1 2 8:1 /docker/containers/" OTHER "/hostname /etc/hostname rw - x a rw\n"
               "1 2 8:1 /kubelet/pods/" UID "/etc-hosts /etc/hosts rw - x a rw\n");
    detect();
    assert_attr("container.id", OTHER);
    assert_attr("k8s.pod.uid", UID);
}
END_TEST

START_TEST(test_user_attributes_win)
{
    link_executable("/bin/prog");
    in.attributes = otp_text_of("process.pid=x,host.name = my host ,k%3d=%2C%25%e2%82%ac+,"
                                "telemetry.sdk.name=mine,empty=,a=b=c,dup=1,,dup=2,"
                                "service.instance.id=me,service.name=named");
    detect();
    ck_assert_uint_eq(line_count, 0);
    assert_attr("process.pid", "x");
    assert_attr("host.name", "my host");
    assert_attr("k=", ",%\xe2\x82\xac+");
    assert_attr("telemetry.sdk.name", "libotelprof");
    assert_attr("empty", "");
    assert_attr("a", "b=c");
    assert_attr("dup", "2");
    assert_attr("service.instance.id", "me");
    assert_attr("service.name", "named");
    in.service_name = otp_text_of("stronger");
    detect();
    assert_attr("service.name", "stronger");
    assert_attr("empty", "");
    in.service_name = otp_text_of("");
    in.attributes = otp_text_of("service.name=");
    detect();
    assert_attr("service.name", "unknown_service:prog");
    in.service_name = otp_text_of("bad\xff");
    detect();
    assert_attr("service.name", "bad\xef\xbf\xbd");
}
END_TEST

static const char *const bad_lists[] = {
    "novalue", "good=1,novalue", "=x",    " =x",   "a=%",
    "a=%1",    "a=%g1",          "a=%1g", "%=1",   "a=%ff",
    "a=\xff",  "a=%00",          "a=%c3", "%80=x", "good=1,a=%zz,other=2",
};

START_TEST(test_bad_list_is_dropped_whole)
{
    char *exact = exact_copy(bad_lists[_i]);
    in.attributes = otp_text_make(exact, strlen(bad_lists[_i]));
    detect();
    free(exact);
    ck_assert_msg(line_count == 1, "%s: %zu lines", bad_lists[_i], line_count);
    ck_assert_ptr_eq(strstr(last_line, "OTEL_RESOURCE_ATTRIBUTES: \""), last_line);
    ck_assert_ptr_nonnull(strstr(last_line, "allowed: "));
    ck_assert_ptr_nonnull(strstr(last_line, "using none of the attributes"));
    assert_attr("good", NULL);
    assert_attr("other", NULL);
    assert_attr("a", NULL);
    assert_attr("os.type", "linux");
}
END_TEST

START_TEST(test_list_of_many_attributes)
{
    static char list[4000];
    size_t len = 0;
    for (int i = 0; i < 96; i++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "key%d=%d,", i, i);
    }
    in.attributes = otp_text_make(list, len);
    detect();
    ck_assert_uint_eq(line_count, 0);
    assert_attr("key95", "95");
    assert_attr("os.type", "linux");
    assert_attr("telemetry.sdk.version", "1.2.3");
    snprintf(list + len, sizeof(list) - len, "key96=96");
    in.attributes = otp_text_of(list);
    detect();
    ck_assert_uint_eq(line_count, 1);
    assert_attr("key1", NULL);
}
END_TEST

START_TEST(test_list_of_long_attributes)
{
    static char list[60000];
    memset(list, 'v', sizeof(list));
    memcpy(list, "k=", 2);
    in.root = NULL;
    for (size_t len = 16384; len < sizeof(list); len += 1234) {
        in.attributes = otp_text_make(list, len);
        detect();
        bool is_kept = otp_resource_find(&r, "k") != NULL;
        ck_assert_uint_eq(line_count, is_kept ? 0 : 1);
        ck_assert(is_kept == (len <= 20480 + 1));
        ck_assert_uint_lt(strlen(last_line), 300);
        ck_assert_ptr_nonnull(otp_resource_find(&r, "service.name"));
        ck_assert_ptr_nonnull(otp_resource_find(&r, "process.executable.path"));
    }
}
END_TEST

START_TEST(test_report_is_one_harmless_line)
{
    in.attributes = otp_text_of("a=%zz\n\033[31m\xff");
    detect();
    ck_assert_uint_eq(line_count, 1);
    ck_assert_ptr_nonnull(strstr(last_line, "\"a=%zz??[31m?\""));
}
END_TEST

/* Files of any bytes, and lists of any bytes: no harm, and only valid text comes out. */
START_TEST(test_random_input)
{
    static const char *const files[] = {"/proc/self/cgroup", "/proc/self/mountinfo",
                                        "/proc/self/stat",   "/proc/self/cmdline",
                                        "/etc/os-release",   "/etc/machine-id"};
    static const char likely[] = "/=%,-_.:pod0123456789abcdef \n\"NAME()scope";
    static char bytes[6000];
    unsigned seed = 4711;
    for (int round = 0; round < 300; round++) {
        for (size_t f = 0; f < OTP_ARRAY_LEN(files); f++) {
            size_t len = (size_t)rand_r(&seed) % sizeof(bytes);
            for (size_t i = 0; i < len; i++) {
                int v = rand_r(&seed);
                bytes[i] =
                    v % 8 == 0 ? (char)(v >> 8) : likely[(size_t)(v >> 8) % (sizeof(likely) - 1)];
            }
            write_bytes(files[f], bytes, len);
        }
        in.attributes = otp_text_make(bytes, (size_t)rand_r(&seed) % 40);
        in.service_name = otp_text_make(bytes + 40, (size_t)rand_r(&seed) % 40);
        detect();
        ck_assert_uint_le(line_count, 1);
        ck_assert_ptr_nonnull(otp_resource_find(&r, "service.name"));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resource");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_this_process);
    tcase_add_test(all, test_creation_time);
    tcase_add_test(all, test_instance_id_is_a_random_uuid);
    tcase_add_test(all, test_nothing_to_find_out);
    tcase_add_loop_test(all, test_executable, 0, (int)OTP_ARRAY_LEN(executables));
    tcase_add_test(all, test_program_is_named_as_it_was_started);
    tcase_add_test(all, test_endless_path_is_left_out);
    tcase_add_test(all, test_program_without_proc);
    tcase_add_test(all, test_command_is_the_first_argument_alone);
    tcase_add_loop_test(all, test_stat_of_any_kind, 0, (int)OTP_ARRAY_LEN(stats));
    tcase_add_test(all, test_os_release);
    tcase_add_test(all, test_machine_id);
    tcase_add_loop_test(all, test_cgroup_line, 0, (int)OTP_ARRAY_LEN(cgroups));
    tcase_add_loop_test(all, test_mount_line, 0, (int)OTP_ARRAY_LEN(mounts));
    tcase_add_test(all, test_container_from_files);
    tcase_add_test(all, test_user_attributes_win);
    tcase_add_loop_test(all, test_bad_list_is_dropped_whole, 0, (int)OTP_ARRAY_LEN(bad_lists));
    tcase_add_test(all, test_list_of_many_attributes);
    tcase_add_test(all, test_list_of_long_attributes);
    tcase_add_test(all, test_report_is_one_harmless_line);
    tcase_add_test(all, test_random_input);
    suite_add_tcase(suite, all);

    return unit_run(suite);
}
