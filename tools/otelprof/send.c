/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof send: delivers files of profiles, and what a spool holds, to where the library would
 * have sent them.
 *
 * I1 A file of a spool is locked while it is being sent and removed only when it has arrived: with
 *    processes that empty the same spool nothing is sent twice (core/export/spool.h).
 * I2 What is refused stays: a wrong endpoint must not cost the profiles.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/export/spool.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/deliver.h"
#include "tools/otelprof/jsonout.h"
#include "tools/otelprof/load.h"
#include "tools/otelprof/progress.h"

#define SECOND_NS UINT64_C(1000000000)
#define TIMEOUT_S 30U

enum { SEND_OUTPUT, SEND_TIMEOUT, SEND_JSON };

struct sending {
    struct otp_delivery delivery;
    uint64_t sent;     /* files */
    uint64_t profiles; /* in them */
    uint64_t failed;   /* files that stay because nobody took them */
    uint64_t busy;     /* files that another process is sending */
    uint64_t passed;   /* files of a folder that are none of a spool */
    bool is_unread;    /* a file could not be read */
    bool is_over;      /* the other side does not answer: no more is tried */
};

static void complain(const char *path, const char *what)
{
    otp_progress_end();
    (void)fprintf(stderr, "otelprof send: %s: %s\n", path, what);
}

static uint64_t profiles_of(const struct otp_profile_set *set)
{
    uint64_t count = 0;
    for (size_t i = 0; i < set->message_count; i++) {
        count += set->messages[i]->profiles.count;
    }
    return count;
}

/* Sends what the open file holds; true when all of it has arrived. */
static bool send_fd(struct sending *s, int fd, const char *path)
{
    struct otp_profile_set set;
    bool is_sent = false;

    otp_profile_set_init(&set);
    if (!otp_load_fd(&set, fd, path, OTP_LOAD_FOLLOW)) {
        s->is_unread = true;
    } else {
        enum otp_delivered result = otp_delivery_send(&s->delivery, &set);
        is_sent = result == OTP_DELIVERED;
        s->is_over = result == OTP_DELIVERY_NOT_NOW;
        s->failed += is_sent ? 0 : 1;
        s->sent += is_sent ? 1 : 0;
        s->profiles += is_sent ? profiles_of(&set) : 0;
        if (!is_sent) {
            complain(path, s->delivery.why);
        }
    }
    otp_profile_set_fini(&set);
    return is_sent;
}

static void send_file(struct sending *s, const char *path)
{
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        complain(path, strerror(errno));
        s->is_unread = true;
        return;
    }
    (void)send_fd(s, fd, path);
    (void)close(fd); /* nothing was written */
}

/* ---- a spool ---- */

static int compare_names(const void *a, const void *b)
{
    /* Names differ in their keys before their times: age is what counts. */
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    int order = strcmp(x + OTP_SPOOL_TIME_AT, y + OTP_SPOOL_TIME_AT);
    return order != 0 ? order : strcmp(x, y);
}

struct names {
    char **items;
    size_t count;
};

static bool add_name(struct names *n, const char *name)
{
    char **items = realloc(n->items, (n->count + 1) * sizeof(*items));
    char *copy = strdup(name);
    if (items != NULL) {
        n->items = items;
    }
    if (items == NULL || copy == NULL) {
        free(copy);
        return false;
    }
    n->items[n->count++] = copy;
    return true;
}

static void free_names(struct names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->items[i]);
    }
    free(n->items);
}

/* The spool's files in the folder, oldest first. */
static bool list_folder(struct sending *s, const char *path, struct names *out)
{
    DIR *folder = opendir(path);
    bool has_room = true;

    if (folder == NULL) {
        complain(path, strerror(errno));
        return false;
    }
    for (struct dirent *e = readdir(folder); e != NULL && has_room; e = readdir(folder)) {
        if (otp_spool_is_name(e->d_name)) {
            has_room = add_name(out, e->d_name);
        } else if (e->d_name[0] != '.') {
            s->passed++;
        }
    }
    (void)closedir(folder); /* nothing was written */
    if (!has_room) {
        complain(path, "no memory");
    } else if (out->count > 0) {
        qsort(out->items, out->count, sizeof(*out->items), compare_names);
    }
    return has_room;
}

/* Opens and locks a file; -1: another process has it, or it is gone. */
static int lock_file(struct sending *s, int folder, const char *name, const char *path)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        if (errno != ENOENT) {
            complain(path, strerror(errno));
            s->is_unread = true;
        }
        return -1;
    }
    bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    bool is_busy = !is_locked && errno == EWOULDBLOCK;
    if ((!is_locked && !is_busy) || fstat(fd, &st) != 0) {
        complain(path, strerror(errno));
        s->is_unread = true;
    } else if (!S_ISREG(st.st_mode)) {
        complain(path, "this is no file: it is left alone");
        s->passed++;
    } else if (is_busy || st.st_nlink == 0) {
        s->busy++;
    } else {
        return fd;
    }
    (void)close(fd); /* nothing was written */
    return -1;
}

static void send_spooled(struct sending *s, int folder, const char *name, const char *folder_path)
{
    char path[2048 + OTP_SPOOL_NAME_MAX]; /* for messages */
    (void)snprintf(path, sizeof(path), "%.2000s/%s", folder_path, name);
    int fd = lock_file(s, folder, name, path);
    if (fd < 0) {
        return;
    }
    if (send_fd(s, fd, path) && unlinkat(folder, name, 0) != 0 && errno != ENOENT) {
        complain(path, "it has arrived, but cannot be removed: it would be sent again");
        s->is_over = true;
        s->failed++;
    }
    (void)close(fd); /* with the lock */
}

static void send_folder(struct sending *s, const char *path)
{
    struct names names = {.items = NULL};
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0 || !list_folder(s, path, &names)) {
        if (folder < 0) {
            complain(path, strerror(errno));
        }
        s->is_unread = true;
    }
    for (size_t i = 0; i < names.count && folder >= 0 && !s->is_over; i++) {
        otp_progress_show("sending", i, names.count);
        send_spooled(s, folder, names.items[i], path);
    }
    otp_progress_end();
    free_names(&names);
    if (folder >= 0) {
        (void)close(folder); /* nothing was written */
    }
}

/* ---- the command ---- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void print_result(const struct sending *s)
{
    (void)printf("%llu files with %llu profiles sent", (unsigned long long)s->sent,
                 (unsigned long long)s->profiles);
    if (s->failed > 0) {
        (void)printf(", %llu not taken", (unsigned long long)s->failed);
    }
    if (s->busy > 0) {
        (void)printf(", %llu being sent by others", (unsigned long long)s->busy);
    }
    if (s->passed > 0) {
        (void)printf(", %llu others left alone", (unsigned long long)s->passed);
    }
    (void)printf("\n");
}

static void print_json(const struct sending *s)
{
    struct otp_jsonout j;

    otp_jsonout_begin(&j, stdout);
    otp_jsonout_uint(&j, "files_sent", s->sent);
    otp_jsonout_uint(&j, "profiles_sent", s->profiles);
    otp_jsonout_uint(&j, "files_not_taken", s->failed);
    otp_jsonout_uint(&j, "files_of_others", s->busy);
    otp_jsonout_uint(&j, "files_left_alone", s->passed);
    otp_jsonout_end(&j);
}

static int finish(struct sending *s, bool is_json)
{
    otp_progress_end();
    (is_json ? print_json : print_result)(s);
    otp_delivery_close(&s->delivery);
    if (s->is_unread) {
        return OTP_EXIT_INPUT;
    }
    return s->failed > 0 || s->is_over ? OTP_EXIT_FOUND : OTP_EXIT_OK;
}

static int run_send(const struct otp_args *args)
{
    static struct sending s; /* too large for the stack */
    uint64_t timeout_s = TIMEOUT_S;

    if (args->operand_count == 0) {
        return otp_usage_error(args->command, "no file or folder is named");
    }
    if (otp_args_has(args, SEND_TIMEOUT) &&
        !otp_args_number(args, SEND_TIMEOUT, 1, 86400, &timeout_s)) {
        return OTP_EXIT_USAGE;
    }
    if (!otp_delivery_open(&s.delivery, args->command, args->values[SEND_OUTPUT],
                           timeout_s * SECOND_NS)) {
        return OTP_EXIT_USAGE;
    }
    for (int i = 0; i < args->operand_count && !s.is_over; i++) {
        if (is_folder(args->operands[i])) {
            send_folder(&s, args->operands[i]);
        } else {
            send_file(&s, args->operands[i]);
        }
    }
    return finish(&s, otp_args_has(args, SEND_JSON));
}

static const struct otp_option options[] = {
    [SEND_OUTPUT] = {"output", 'o', "OUT",
                     "otlp, http://…, https://…, grpc://HOST:PORT, tcp:…, unix:…"},
    [SEND_TIMEOUT] = {"timeout", 't', "SECONDS", "the longest that one file may take (30)"},
    [SEND_JSON] = OTP_JSON_OPTION,
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_send = {
    .name = "send",
    .operands = "FILE|DIR…",
    .summary = "deliver profiles, or what a spool holds, to a server",
    .options = options,
    .details =
        "A folder is a spool (OTELPROF_SPOOL): each of its files is sent and, when it has "
        "arrived,\n"
        "removed; files that another process is sending are left to it, other files are left "
        "alone.\n"
        "A FILE of any readable format is sent and stays. The OTEL_EXPORTER_OTLP_ variables say\n"
        "where to and how, as for the library; -o says another place. Exit status 1: something "
        "was\n"
        "not taken, and is still there.\n",
    .run = run_send,
};
