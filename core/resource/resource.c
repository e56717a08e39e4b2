/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's attributes come first and whatever is found out only fills what they leave open, so
 * the order of the steps below is the order of precedence. telemetry.sdk.* cannot be set by the
 * user.
 */
#include "core/resource/resource.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "core/base/civil.h"
#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/resource/identity.h"
#include "core/resource/process_context.h"
#include "core/resource/store.h"
#include "core/resource/textfile.h"
#include "core/resource/user.h"

#define SECOND_NS 1000000000U
#define TICK_NS 10000000U /* /proc counts in hundredths of a second on x86-64 */
#define BOOTTIME_CLOCK 7  /* CLOCK_BOOTTIME; what /proc/PID/stat counts from */
#define START_FIELD 19U   /* of starttime, behind the ')' of the name; the state is 0 */
#define COMMAND_MAX 1024U
#define PATH_ROOM 2048U
#define SERVICE_ROOM 300U

/* "/a/b (deleted)": what was executed has been removed or replaced since. */
static struct otp_text executable_path(const char *root, char *room, size_t bytes)
{
    static const char deleted[] = " (deleted)";
    size_t tail = sizeof(deleted) - 1;
    size_t len = otp_textfile_link(root, "/proc/self/exe", room, bytes);
    if (len > tail && memcmp(room + len - tail, deleted, tail) == 0) {
        len -= tail;
    }
    /* A link that fills the room has been cut: then its end is not the program's name. */
    return otp_text_make(room, len < bytes ? len : 0);
}

static struct otp_text base_name(struct otp_text path)
{
    size_t begin = path.len;
    while (begin > 0 && path.data[begin - 1] != '/') {
        begin--;
    }
    return otp_text_make(path.data + begin, path.len - begin);
}

static bool is_executable(const char *path, const char *root)
{
    struct stat a;
    struct stat b;
    char exe[256];
    return otp_textfile_join(root, "/proc/self/exe", exe, sizeof(exe)) &&
           OTP_SYS4(SYS_newfstatat, AT_FDCWD, path, &a, 0) == 0 &&
           OTP_SYS4(SYS_newfstatat, AT_FDCWD, exe, &b, 0) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* False for the kernel's own names of files, "/proc/self/exe" and those of descriptors. */
static bool is_chosen(const char *path)
{
    return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/dev/fd/", 8) != 0;
}

size_t otp_resource_program(char *out, size_t room, const char *root, const char *started)
{
    char path[PATH_ROOM];
    char thread_name[16] = "";
    struct otp_text name = base_name(executable_path(root, path, sizeof(path)));

    if (started != NULL && is_chosen(started) && is_executable(started, root)) {
        name = base_name(otp_text_of(started));
    }
    if (name.len == 0 && OTP_SYS2(SYS_prctl, PR_GET_NAME, thread_name) == 0) {
        name = otp_text_make(thread_name, strnlen(thread_name, sizeof(thread_name)));
    }
    name.len = name.len < room ? name.len : room;
    memcpy(out, name.data, name.len);
    return name.len;
}

size_t otp_resource_host(char *out, size_t room)
{
    struct utsname names;
    if (OTP_SYS1(SYS_uname, &names) != 0) {
        return 0;
    }
    size_t len = strnlen(names.nodename, sizeof(names.nodename));
    len = len < room ? len : room;
    memcpy(out, names.nodename, len);
    return len;
}

/* 2024-02-29T12:05:07.123Z */
static void set_time(struct otp_resource *r, const char *key, uint64_t ns)
{
    struct otp_civil c = otp_civil_of(ns / SECOND_NS);
    char text[] = "YYYY-mm-ddTHH:MM:SS.mmmZ";
    otp_civil_digits(text, c.year, 4);
    otp_civil_digits(text + 5, c.month, 2);
    otp_civil_digits(text + 8, c.day, 2);
    otp_civil_digits(text + 11, c.hour, 2);
    otp_civil_digits(text + 14, c.minute, 2);
    otp_civil_digits(text + 17, c.second, 2);
    otp_civil_digits(text + 20, (uint32_t)(ns / 1000000U % 1000U), 3);
    otp_resource_set(r, key, otp_text_make(text, sizeof(text) - 1));
}

/* Start of the process after the machine's, in ticks. Source: proc(5), /proc/PID/stat. */
static bool read_start_ticks(const char *root, uint64_t *out_ticks)
{
    char stat[1024];
    size_t len = otp_textfile_read(root, "/proc/self/stat", stat, sizeof(stat));
    size_t pos = len;
    size_t digits = 0;

    /* The name may hold anything; the last ')' ends it. */
    while (pos > 0 && stat[pos - 1] != ')') {
        pos--;
    }
    for (unsigned blanks = 0; pos > 0 && pos < len && blanks <= START_FIELD; pos++) {
        blanks += stat[pos] == ' ' ? 1 : 0;
    }
    while (pos + digits < len && stat[pos + digits] != ' ') {
        digits++;
    }
    return otp_fmt_parse_u64(stat + pos, digits, out_ticks);
}

/*
 * Against the boot clock rather than the boot time of /proc/stat: that one is in whole seconds, and
 * reading the file is slow where there are many interrupts.
 */
static void set_creation_time(struct otp_resource *r, const char *root)
{
    struct timespec boot = {0};
    uint64_t ticks;

    if (!read_start_ticks(root, &ticks) || ticks > UINT64_MAX / TICK_NS ||
        OTP_SYS2(SYS_clock_gettime, BOOTTIME_CLOCK, &boot) != 0) {
        return;
    }
    uint64_t since_boot = (uint64_t)boot.tv_sec * SECOND_NS + (uint64_t)boot.tv_nsec;
    uint64_t now = otp_sys_realtime_ns();
    uint64_t started = ticks * TICK_NS;
    if (started <= since_boot && since_boot - started <= now) {
        set_time(r, "process.creation.time", now - (since_boot - started));
    }
}

static void detect_executable(struct otp_resource *r, const struct otp_resource_input *in)
{
    char path_room[PATH_ROOM];
    struct otp_text path = executable_path(in->root, path_room, sizeof(path_room));
    struct otp_text name = path.len > 0 ? base_name(path) : in->program;
    char service[SERVICE_ROOM] = "unknown_service:";
    size_t len = strlen(service);

    otp_resource_set(r, "process.executable.name", name);
    otp_resource_set(r, "process.executable.path", path);
    if (name.len > 0 && name.len <= sizeof(service) - len) {
        memcpy(service + len, name.data, name.len);
        len += name.len;
    } else {
        len--; /* nothing behind the colon: without it */
    }
    otp_resource_set(r, "service.name", otp_text_make(service, len));
}

static void detect_process(struct otp_resource *r, const char *root)
{
    char command[COMMAND_MAX];
    size_t len = otp_textfile_read(root, "/proc/self/cmdline", command, sizeof(command));

    otp_resource_set_int(r, "process.pid", otp_sys_getpid());
    otp_resource_set(r, "process.command", otp_text_make(command, strnlen(command, len)));
    set_creation_time(r, root);
}

/* A random UUID, version 4. Source: RFC 9562, section 5.4. */
static void set_instance_id(struct otp_resource *r)
{
    unsigned char id[16];
    char text[36];
    size_t used = 0;

    otp_sys_random(id, sizeof(id));
    id[6] = (unsigned char)((id[6] & 0x0fU) | 0x40U);
    id[8] = (unsigned char)((id[8] & 0x3fU) | 0x80U);
    for (size_t i = 0; i < sizeof(id); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[used++] = '-';
        }
        otp_fmt_hex_bytes(text + used, id + i, 1);
        used += 2;
    }
    otp_resource_set(r, "service.instance.id", otp_text_make(text, used));
}

/* KEY=VALUE of os-release with its quotes; the value in place. Source: os-release(5). */
static bool take_os_value(struct otp_text line, const char *key, struct otp_text *out)
{
    size_t len = strlen(key);
    if (line.len <= len + 1 || memcmp(line.data, key, len) != 0 || line.data[len] != '=') {
        return false;
    }
    struct otp_text value = otp_text_make(line.data + len + 1, line.len - len - 1);
    char quote = value.data[0];
    if ((quote == '"' || quote == '\'') && value.len >= 2 && value.data[value.len - 1] == quote) {
        value = otp_text_make(value.data + 1, value.len - 2);
    }
    *out = value;
    return true;
}

static bool read_os_line(void *arg, struct otp_text line)
{
    static const struct {
        const char *name;
        const char *key;
    } names[] = {{"NAME", "os.name"},
                 {"VERSION_ID", "os.version"},
                 {"BUILD_ID", "os.build_id"},
                 {"PRETTY_NAME", "os.description"}};
    struct otp_text value;
    for (size_t i = 0; i < OTP_ARRAY_LEN(names); i++) {
        if (take_os_value(line, names[i].name, &value)) {
            otp_resource_set(arg, names[i].key, value);
        }
    }
    return true;
}

/* 32 hex digits, else the file has not been set up. Source: machine-id(5). */
static void detect_machine(struct otp_resource *r, const char *root)
{
    char id[33];
    size_t len = otp_textfile_read(root, "/etc/machine-id", id, sizeof(id));
    size_t digits = 0;
    while (digits < len &&
           ((id[digits] >= '0' && id[digits] <= '9') || (id[digits] >= 'a' && id[digits] <= 'f'))) {
        digits++;
    }
    if (digits == 32) {
        otp_resource_set(r, "host.id", otp_text_make(id, digits));
    }
}

static void detect_host(struct otp_resource *r, const char *root)
{
    char host[65];
    otp_resource_set(r, "host.name", otp_text_make(host, otp_resource_host(host, sizeof(host))));
    otp_resource_set(r, "host.arch", otp_text_of("amd64"));
    detect_machine(r, root);
    otp_resource_set(r, "os.type", otp_text_of("linux"));
    if (!otp_textfile_lines(root, "/etc/os-release", read_os_line, r)) {
        (void)otp_textfile_lines(root, "/usr/lib/os-release", read_os_line, r);
    }
}

static bool read_cgroup_line(void *arg, struct otp_text line)
{
    otp_identity_from_cgroup(line, arg);
    return true;
}

static bool read_mount_line(void *arg, struct otp_text line)
{
    struct otp_container_ids *ids = arg;
    otp_identity_from_mountinfo(line, ids);
    return !ids->has_container || !ids->has_pod;
}

static void detect_container(struct otp_resource *r, const char *root)
{
    struct otp_container_ids ids = {.has_container = false};

    (void)otp_textfile_lines(root, "/proc/self/cgroup", read_cgroup_line, &ids);
    if (!ids.has_container || !ids.has_pod) {
        (void)otp_textfile_lines(root, "/proc/self/mountinfo", read_mount_line, &ids);
    }
    if (ids.has_container) {
        otp_resource_set(r, "container.id", otp_text_make(ids.container, sizeof(ids.container)));
    }
    if (ids.has_pod) {
        otp_resource_set(r, "k8s.pod.uid", otp_text_make(ids.pod, sizeof(ids.pod)));
    }
}

void otp_resource_detect(struct otp_resource *r, const struct otp_resource_input *in,
                         otp_resource_report report, void *arg)
{
    r->count = 0;
    r->used = 0;
    (void)otp_resource_add_user(r, in->attributes, report, arg);
    if (in->service_name.len > 0) {
        /* It wins over a service.name among the attributes. */
        otp_resource_remove(r, "service.name");
        otp_resource_set(r, "service.name", in->service_name);
    }
    otp_resource_set(r, "telemetry.sdk.name", otp_text_of("libotelprof"));
    otp_resource_set(r, "telemetry.sdk.language", otp_text_of("cpp"));
    otp_resource_set(r, "telemetry.sdk.version", in->version);
    r->has_context = in->root == NULL && otp_process_context_read(r);
    set_instance_id(r);
    detect_executable(r, in);
    detect_process(r, in->root);
    detect_host(r, in->root);
    detect_container(r, in->root);
}
