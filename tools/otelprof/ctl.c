/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof ctl: asks the control socket of a running process (core/engine/control.h). Names of that
 * kind are anybody's to take, so it is the kernel that says whether the process is at the other
 * end.
 */
#define _GNU_SOURCE /* struct ucred, setns */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/fmt.h"
#include "core/conf/command.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/jsonout.h"

#define WAIT_SECONDS 30 /* a flush names functions for the first time */
#define PATH_BYTES 64

struct answer {
    size_t len;
    char text[OTP_COMMAND_ANSWER_MAX + 1];
};

enum { CTL_JSON, CTL_WAIT };

/* The id that the process has in its innermost namespace: by that it calls its socket. */
static uint64_t inner_pid(uint64_t pid)
{
    char path[PATH_BYTES];
    char line[256];
    uint64_t inner = pid;

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/status", pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "NSpid:", 6) == 0) {
            const char *last = strrchr(line, '\t');
            uint64_t value;
            if (last != NULL && otp_fmt_parse_u64(last + 1, strcspn(last + 1, "\n"), &value)) {
                inner = value;
            }
        }
    }
    if (f != NULL) {
        (void)fclose(f); /* only read from */
    }
    return inner;
}

/* Names of sockets belong to a network namespace: that of the process, if it is another. */
static void enter_network_of(uint64_t pid)
{
    char path[PATH_BYTES];
    struct stat own;
    struct stat other;

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/ns/net", pid);
    if (stat("/proc/self/ns/net", &own) != 0 || stat(path, &other) != 0 ||
        (own.st_ino == other.st_ino && own.st_dev == other.st_dev)) {
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)setns(fd, CLONE_NEWNET); /* refused: then nothing answers, and that is what is said */
        (void)close(fd);
    }
}

static bool is_process(int fd, uint64_t pid)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.pid > 0 &&
           (uint64_t)who.pid == pid;
}

/* A connection to the process under its name of that number, or -1. */
static int connect_name(uint64_t pid, uint64_t inner, int number)
{
    struct sockaddr_un a;
    memset(&a, 0, sizeof(a));
    a.sun_family = AF_UNIX;
    char *name = a.sun_path + 1;
    size_t room = sizeof(a.sun_path) - 1;
    int len = number == 0
                  ? snprintf(name, room, OTP_COMMAND_SOCKET "%" PRIu64, inner)
                  : snprintf(name, room, OTP_COMMAND_SOCKET "%" PRIu64 ".%d", inner, number);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    if (fd >= 0 && (connect(fd, (const struct sockaddr *)&a, bytes) != 0 || !is_process(fd, pid))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int connect_to(uint64_t pid)
{
    uint64_t inner = inner_pid(pid);
    int fd = -1;

    enter_network_of(pid);
    for (int i = 0; i < OTP_COMMAND_SOCKETS && fd < 0; i++) {
        fd = connect_name(pid, inner, i);
    }
    return fd;
}

static int fail(uint64_t pid, const char *reason)
{
    (void)fprintf(stderr, "otelprof ctl: process %" PRIu64 ": %s\n", pid, reason);
    return OTP_EXIT_INPUT;
}

static int explain_no_socket(uint64_t pid)
{
    if (pid > INT32_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)) {
        return fail(pid, "there is no such process");
    }
    return fail(pid, "it has no control socket (OTELPROF_CONTROL=true opens one)");
}

static bool send_all(int fd, const char *request)
{
    ssize_t n;
    do {
        n = send(fd, request, strlen(request), MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n >= 0 || errno == EPIPE; /* what is there to read may be why it was refused */
}

/* One packet there, one back; the length of the answer, or -1. A call with a time-out ends when
 * this process is stopped and goes on, and is begun again. */
static ssize_t ask(int fd, const char *request, struct answer *reply, uint64_t seconds)
{
    struct timeval limit = {.tv_sec = (time_t)seconds};
    ssize_t n = -1;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
        send_all(fd, request)) {
        do {
            n = recv(fd, reply->text, sizeof(reply->text) - 1, 0);
        } while (n < 0 && errno == EINTR);
    }
    reply->len = n < 0 ? 0 : (size_t)n;
    reply->text[reply->len] = '\0';
    return n;
}

/* ---- the answer to status ---- */

struct field {
    const char *group; /* up to the point, not terminated */
    int group_len;
    const char *name;
    const char *value;
};

/* Cuts the next line off *text; false at the end, or at a line that is none of ours. */
static bool next_field(char **text, struct field *out)
{
    char *line = *text;
    char *end = strchr(line, '\n');
    char *space = strchr(line, ' ');
    char *point = strchr(line, '.');

    if (end == NULL || space == NULL || space > end || point == NULL || point > space) {
        return false;
    }
    *end = '\0';
    *space = '\0';
    *text = end + 1;
    *out = (struct field){
        .group = line, .group_len = (int)(point - line), .name = point + 1, .value = space + 1};
    return true;
}

static bool same_group(const struct field *a, const struct field *b)
{
    return a->group_len == b->group_len && memcmp(a->group, b->group, (size_t)a->group_len) == 0;
}

/* Each group of fields is an object; for other requests it is enough that it is done. */
static void print_json(char *text, bool is_status)
{
    struct field last = {.group = "", .group_len = -1};
    struct otp_jsonout j;
    struct field f;

    otp_jsonout_begin(&j, stdout);
    if (!is_status) {
        otp_jsonout_bool(&j, "done", true);
    }
    while (is_status && next_field(&text, &f)) {
        if (!same_group(&last, &f)) {
            if (last.group_len >= 0) {
                otp_jsonout_close(&j);
            }
            otp_jsonout_key(&j, otp_text_make(f.group, (size_t)f.group_len));
            otp_jsonout_object(&j, NULL);
        }
        uint64_t number;
        if (otp_fmt_parse_u64(f.value, strlen(f.value), &number)) {
            otp_jsonout_uint(&j, f.name, number);
        } else {
            otp_jsonout_string(&j, f.name, f.value);
        }
        last = f;
    }
    if (last.group_len >= 0) {
        otp_jsonout_close(&j);
    }
    otp_jsonout_end(&j);
}

static void print_plain(char *text)
{
    struct field f;

    while (next_field(&text, &f)) {
        bool is_silent =
            f.group_len == 7 && memcmp(f.group, "dropped", 7) == 0 && strcmp(f.value, "0") == 0;
        if (!is_silent) { /* losses are there when they are */
            (void)printf("%-10.*s %-24s %s\n", f.group_len, f.group, f.name, f.value);
        }
    }
}

static int show(uint64_t pid, struct answer *reply, bool as_json, bool is_status)
{
    static const char bad[] = "error: ";
    char *text = reply->text;

    if (strncmp(text, bad, sizeof(bad) - 1) == 0) {
        text[strcspn(text, "\n")] = '\0';
        return fail(pid, text + sizeof(bad) - 1);
    }
    if (strncmp(text, "ok\n", 3) != 0) {
        return fail(pid, "the answer makes no sense");
    }
    if (as_json) {
        print_json(text + 3, is_status);
    } else if (is_status) {
        print_plain(text + 3);
    }
    return OTP_EXIT_OK;
}

/* The request in one text: the words with one blank between them. False: it is too long. */
static bool join(const struct otp_args *args, char *out, size_t room)
{
    size_t len = 0;
    for (int i = 1; i < args->operand_count; i++) {
        int n = snprintf(out + len, room - len, "%s%s", i > 1 ? " " : "", args->operands[i]);
        if (n < 0 || (size_t)n >= room - len) {
            return false;
        }
        len += (size_t)n;
    }
    return true;
}

static int run_ctl(const struct otp_args *args)
{
    static struct otp_conf
        scratch; /* large; only to be told what is wrong before anybody is asked */
    static struct answer reply;
    char request[OTP_COMMAND_MAX + 1];
    enum otp_command_kind kind = OTP_COMMAND_STATUS;
    const char *why = "the request is too long";
    uint64_t pid;
    uint64_t seconds = WAIT_SECONDS;

    if (args->operand_count < 2) {
        return otp_usage_error(args->command, "a process id and a request are needed");
    }
    const char *id = args->operands[0];
    if (!otp_fmt_parse_u64(id, strlen(id), &pid) || pid == 0) {
        return otp_usage_error(args->command, "\"%s\" is not a process id", id);
    }
    if (otp_args_has(args, CTL_WAIT) && !otp_args_number(args, CTL_WAIT, 1, 3600, &seconds)) {
        return OTP_EXIT_USAGE;
    }
    if (!join(args, request, sizeof(request)) ||
        !otp_command_parse(otp_text_of(request), &scratch, &kind, &why)) {
        return otp_usage_error(args->command, "%s", why);
    }
    int fd = connect_to(pid);
    if (fd < 0) {
        return explain_no_socket(pid);
    }
    ssize_t n = ask(fd, request, &reply, seconds);
    int error = errno;
    (void)close(fd);
    if (n <= 0) {
        return fail(pid, n == 0            ? "it hung up without an answer"
                         : error == EAGAIN ? "no answer in time"
                                           : strerror(error));
    }
    return show(pid, &reply, otp_args_has(args, CTL_JSON), kind == OTP_COMMAND_STATUS);
}

static const struct otp_option options[] = {
    [CTL_JSON] = OTP_JSON_OPTION,
    [CTL_WAIT] = {"wait", 0, "SECONDS", "the longest to wait for an answer (30)"},
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_ctl = {
    .name = "ctl",
    .operands = "PID start|stop|flush|status|set NAME=VALUE",
    .summary = "control a running process",
    .options = options,
    .details =
        "  start             begin to take samples\n"
        "  stop              write what there is and take no more\n"
        "  flush             write what there is now\n"
        "  status            what is sampled, lost and waiting, and what it costs\n"
        "  set NAME=VALUE    cpu-hz=N, heap-interval=SIZE, interval=TIME, cpu-budget=PERCENT;\n"
        "                    also by the variable's name, as OTELPROF_CPU_HZ=N\n\n"
        "The process must run with OTELPROF_CONTROL=true; its user and root may ask. For a "
        "process\n"
        "in another network namespace (a container), ask as root or from inside.\n",
    .run = run_ctl,
};
