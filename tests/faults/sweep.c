/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep [-o] [-n MOST] -l LIBRARY -w FOLDER [!]CALL=ERROR... -- PROGRAM ARGUMENT...
 *
 * Runs the program without the library, then with it, and counts for each CALL how often the
 * library makes it (N). Then once more for n = 1 ... N, and the n-th fails with ERROR; then twice
 * so that all fail from the first, and from the middle on (but for EINTR, and not from the middle
 * where ERROR is followed by ":first"). Standard output, exit status and standard error (but for
 * the library's own lines) must each time be those of the first run.
 *
 * The program and all its children run under a seccomp filter that asks this program about the
 * calls. The address of the call tells whose it is: the library makes its system calls itself. What
 * the host or libc calls goes on untouched. With -o it is the other way around: the n-th call that
 * is not the library's fails, and the reference is the program without the library whose n-th
 * fails.
 *
 * -n MOST: when N is greater, not every n is taken but MOST of them, evenly.
 * !CALL=ERROR: this call of the library fails always, whatever else is tried.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_CALLS 64
#define MAX_RANGES 4096
#define RUN_LIMIT_MS 30000
#define OWN_LINES_MAX 40  /* of the library, in one run */
#define FAULTS_MAX 30000U /* beyond that it asks again and again without a pause */
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

struct name {
    const char *name;
    int value;
};

#define CALL(n)                                                                                    \
    {                                                                                              \
#n, SYS_##n                                                                                \
    }
static const struct name known_calls[] = {
    CALL(mmap),
    CALL(munmap),
    CALL(madvise),
    CALL(openat),
    CALL(read),
    CALL(pread64),
    CALL(write),
    CALL(close),
    CALL(fstat),
    CALL(newfstatat),
    CALL(getdents64),
    CALL(readlinkat),
    CALL(renameat2),
    CALL(renameat),
    CALL(linkat),
    CALL(unlinkat),
    CALL(faccessat),
    CALL(mkdir),
    CALL(flock),
    CALL(lseek),
    CALL(clone),
    CALL(clone3),
    CALL(futex),
    CALL(timer_create),
    CALL(timer_settime),
    CALL(timer_delete),
    CALL(clock_gettime),
    CALL(clock_getres),
    CALL(nanosleep),
    CALL(sched_yield),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigtimedwait),
    CALL(tgkill),
    CALL(prctl),
    CALL(close_range),
    CALL(unshare),
    CALL(perf_event_open),
    CALL(fcntl),
    CALL(ioctl),
    CALL(socket),
    CALL(connect),
    CALL(sendto),
    CALL(recvfrom),
    CALL(getsockopt),
    CALL(setsockopt),
    CALL(poll),
    CALL(ppoll),
    CALL(memfd_create),
    CALL(ftruncate),
    CALL(process_vm_readv),
    CALL(getrandom),
    CALL(uname),
    CALL(getcwd),
    CALL(getrlimit),
    CALL(getresuid),
    CALL(getresgid),
    CALL(pidfd_open),
    CALL(pidfd_getfd),
    CALL(mprotect),
    CALL(fork),
    CALL(vfork),
};

#define ERROR(n)                                                                                   \
    {                                                                                              \
#n, n                                                                                      \
    }
static const struct name known_errors[] = {
    ERROR(ENOMEM),       ERROR(EMFILE),     ERROR(ENFILE), ERROR(EAGAIN), ERROR(ENOSPC),
    ERROR(EPERM),        ERROR(EINTR),      ERROR(EACCES), ERROR(ENOSYS), ERROR(EINVAL),
    ERROR(EIO),          ERROR(ENOENT),     ERROR(EROFS),  ERROR(EEXIST), ERROR(EPIPE),
    ERROR(ECONNREFUSED), ERROR(ESRCH),      ERROR(EBADF),  ERROR(EFBIG),  ERROR(EDQUOT),
    ERROR(ENAMETOOLONG), ERROR(ECONNRESET), ERROR(ERANGE),
};

struct call {
    const char *name;
    const char *error_name;
    int number;
    int error;
    bool is_given;      /* fails always, in each run: what the system is like */
    bool is_from_first; /* if it fails for good, then from the first on */
    unsigned seen;      /* in the run that measures */
};

static struct call calls[MAX_CALLS];
static size_t call_count;
static const char *library;
static const char *folder;
static char **program;
static bool is_others; /* -o */
static unsigned most = 1000000;
static unsigned passed;
static unsigned failed;

/* Which calls of a run fail: of calls[call] (-1: none) the n-th, or all from the n-th on. */
struct fault {
    int call;
    unsigned n;
    bool is_lasting;
};

/* What came of it. */
struct outcome {
    int status; /* of waitpid */
    bool is_hung;
    unsigned seen[MAX_CALLS];
    unsigned faults;
};

struct bytes {
    char *data;
    size_t len;
};

static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "sweep: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, ": %s\n", strerror(errno));
    va_end(args);
    exit(2);
}

static int value_of(const struct name *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i].name, name) == 0) {
            return names[i].value;
        }
    }
    errno = EINVAL;
    die("%s is not known", name);
    return -1;
}

/* ---- whose call it is ---- */

/* The library's code in a process, by the number of the thread that asked. */
struct range {
    pid_t tid;
    uint64_t start;
    uint64_t end;
};

static struct range ranges[MAX_RANGES];
static size_t range_count;

static bool find_range(pid_t tid, struct range *out)
{
    char path[64];
    char line[4500];
    bool is_found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", tid);
    FILE *f = fopen(path, "re");
    const char *base = strrchr(library, '/');
    while (f != NULL && !is_found && fgets(line, sizeof(line), f) != NULL) {
        char perms[8] = "";
        is_found = sscanf(line, "%lx-%lx %7s", &out->start, &out->end, perms) == 3 &&
                   perms[2] == 'x' && strstr(line, base == NULL ? library : base) != NULL;
    }
    if (f != NULL) {
        fclose(f);
    }
    out->tid = tid;
    return is_found;
}

static bool is_ours(pid_t tid, uint64_t ip)
{
    struct range r;
    for (size_t i = 0; i < range_count; i++) {
        if (ranges[i].tid == tid) {
            return ip - ranges[i].start < ranges[i].end - ranges[i].start;
        }
    }
    if (!find_range(tid, &r)) {
        return false; /* not loaded yet, or not at all */
    }
    if (range_count < MAX_RANGES) {
        ranges[range_count++] = r;
    }
    return ip - r.start < r.end - r.start;
}

/* ---- the program under its filter ---- */

static void add(struct sock_fprog *p, struct sock_filter f)
{
    p->filter[p->len++] = f;
}

static void ask_about(struct sock_fprog *p, int number)
{
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
}

/* Asks about all calls, and about exec, after which the library is somewhere else. */
static int install_filter(const struct fault *fault)
{
    struct sock_filter code[2 * MAX_CALLS + 16];
    struct sock_fprog p = {.filter = code};
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    add(&p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                         offsetof(struct seccomp_data, arch)));
    add(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    add(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add(&p,
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    ask_about(&p, SYS_execve);
    ask_about(&p, SYS_execveat);
    for (size_t i = 0; i < call_count; i++) {
        if (fault->call < 0 || fault->call == (int)i || calls[i].is_given) {
            ask_about(&p, calls[i].number);
        }
    }
    add(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#ifdef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                      flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &p);
    if (fd >= 0) {
        return (int)fd;
    }
#endif
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

/* What carries one descriptor. */
struct parcel {
    char byte;
    struct iovec io;
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
};

static struct msghdr wrap(struct parcel *p)
{
    memset(p, 0, sizeof(*p));
    p->io = (struct iovec){.iov_base = &p->byte, .iov_len = 1};
    return (struct msghdr){.msg_iov = &p->io,
                           .msg_iovlen = 1,
                           .msg_control = p->control.room,
                           .msg_controllen = sizeof(p->control.room)};
}

static void send_fd(int socket, int fd)
{
    struct parcel p;
    struct msghdr m = wrap(&p);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
    if (sendmsg(socket, &m, 0) < 0) {
        _exit(99);
    }
}

static int receive_fd(int socket)
{
    struct parcel p;
    struct msghdr m = wrap(&p);
    int fd = -1;
    if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
    }
    return fd;
}

static void become_program(bool has_library, const struct fault *fault, int socket)
{
    int out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    int err = open("err", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    setpgid(0, 0);
    dup2(out, 1);
    dup2(err, 2);
    int listener = install_filter(fault);
    if (listener < 0) {
        dprintf(2, "sweep: seccomp: %s\n", strerror(errno));
        _exit(99);
    }
    send_fd(socket, listener);
    close(listener);
    close(socket);
    if (has_library) {
        setenv("LD_PRELOAD", library, 1);
    }
    execvp(program[0], program);
    _exit(98);
}

/* Counts a call of kind idx; true when it shall fail. */
static bool shall_fail(const struct fault *fault, size_t idx, struct outcome *o)
{
    unsigned n = ++o->seen[idx];
    if (calls[idx].is_given) {
        return true;
    }
    bool is_hit = fault->call == (int)idx && (n == fault->n || (fault->is_lasting && n > fault->n));
    o->faults += is_hit;
    return is_hit;
}

/* Answers one question. */
static void answer(int listener, bool has_library, const struct fault *fault, struct outcome *o)
{
    struct seccomp_notif q;
    struct seccomp_notif_resp a;
    memset(&q, 0, sizeof(q));
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0) {
        return; /* a signal took the question back, or the thread is dead */
    }
    memset(&a, 0, sizeof(a));
    a.id = q.id;
    a.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (q.data.nr == SYS_execve || q.data.nr == SYS_execveat) {
        range_count = 0;
    }
    const struct outcome before = *o;
    bool is_counted =
        (has_library && is_ours((pid_t)q.pid, q.data.instruction_pointer)) != is_others;
    for (size_t i = 0; i < call_count && is_counted; i++) {
        bool is_asked = fault->call < 0 || fault->call == (int)i || calls[i].is_given;
        if (q.data.nr == calls[i].number && is_asked && shall_fail(fault, i, o)) {
            a.flags = 0;
            a.error = -calls[i].error;
        }
    }
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &a) < 0) {
        *o = before; /* a signal came first: the call will be made again */
    }
}

static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static struct outcome run(bool has_library, struct fault fault)
{
    struct outcome o = {0};
    int pair[2];
    range_count = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        die("socketpair");
    }
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        become_program(has_library, &fault, pair[1]);
    }
    close(pair[1]);
    int listener = receive_fd(pair[0]);
    close(pair[0]);
    int64_t until = now_ms() + RUN_LIMIT_MS;
    /* The other end hangs up when nobody is left under the filter. */
    for (struct pollfd p = {.fd = listener, .events = POLLIN}; listener >= 0;) {
        int64_t left = until - now_ms();
        if (left <= 0) {
            o.is_hung = true;
            kill(-child, SIGKILL);
            break;
        }
        if (poll(&p, 1, (int)left) > 0 && (p.revents & POLLIN) != 0) {
            answer(listener, has_library, &fault, &o);
        } else if ((p.revents & (POLLHUP | POLLERR)) != 0) {
            break;
        }
    }
    close(listener);
    if (waitpid(child, &o.status, 0) != child || listener < 0) {
        die("the program does not start under a filter (%d)", WEXITSTATUS(o.status));
    }
    return o;
}

/* ---- comparing ---- */

static struct bytes read_file(const char *path)
{
    struct bytes b = {.data = malloc(1)};
    size_t room = 0;
    FILE *f = fopen(path, "re");
    while (f != NULL && !feof(f)) {
        if (b.len + 4096 > room) {
            room = room * 2 + 65536;
            b.data = realloc(b.data, room);
        }
        b.len += fread(b.data + b.len, 1, room - b.len, f);
    }
    if (f != NULL) {
        fclose(f);
    }
    return b;
}

/* Takes the library's own lines out; their number. */
static unsigned without_own_lines(struct bytes *b)
{
    unsigned lines = 0;
    size_t kept = 0;
    for (size_t at = 0; at < b->len;) {
        char *end = memchr(b->data + at, '\n', b->len - at);
        size_t len = end == NULL ? b->len - at : (size_t)(end - (b->data + at)) + 1;
        if (len > 9 && memcmp(b->data + at, "otelprof[", 9) == 0) {
            lines++;
        } else {
            memmove(b->data + kept, b->data + at, len);
            kept += len;
        }
        at += len;
    }
    b->len = kept;
    return lines;
}

/* Removes temporary files that a run has left among the profiles; their number. */
static unsigned remove_rest(void)
{
    unsigned count = 0;
    char path[600];
    DIR *d = opendir("profiles");
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' && strstr(e->d_name, "tmp-") != NULL) {
            snprintf(path, sizeof(path), "profiles/%s", e->d_name);
            (void)unlink(path);
            count++;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return count;
}

struct reference {
    int status;
    struct bytes out;
    struct bytes err;
};

static bool is_same(const struct bytes *a, const struct bytes *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* What is not as it was without the library, as text; NULL: nothing. */
static const char *difference(const struct reference *r, const struct outcome *o, bool may_leave)
{
    static char text[400];
    unsigned rest = remove_rest();
    struct bytes out = read_file("out");
    struct bytes err = read_file("err");
    unsigned lines = without_own_lines(&err);
    text[0] = '\0';
    if (o->is_hung) {
        snprintf(text, sizeof(text), "hangs");
    } else if (o->status != r->status) {
        snprintf(text, sizeof(text), "wait status %#x, without the library %#x, says: %.200s",
                 (unsigned)o->status, (unsigned)r->status, err.len > 0 ? err.data : "");
    } else if (!is_same(&out, &r->out)) {
        snprintf(text, sizeof(text), "standard output differs");
    } else if (!is_same(&err, &r->err)) {
        snprintf(text, sizeof(text), "standard error differs: %.*s",
                 (int)(err.len < 200 ? err.len : 200), err.data);
    } else if (lines > OWN_LINES_MAX) {
        snprintf(text, sizeof(text), "%u lines of ours on standard error", lines);
    } else if (rest > 0 && !may_leave) {
        snprintf(text, sizeof(text), "%u temporary files are left", rest);
    }
    free(out.data);
    free(err.data);
    return text[0] == '\0' ? NULL : text;
}

static struct reference refer(struct fault fault)
{
    struct outcome o = run(false, fault);
    struct reference r = {.status = o.status, .out = read_file("out"), .err = read_file("err")};
    if (o.is_hung) {
        die("the program hangs without the library");
    }
    return r;
}

/* ---- the sweep ---- */

/* What the runs of one call have come to. */
struct tally {
    unsigned runs;
    unsigned calls; /* made by the library in all of them */
    unsigned hit;
    unsigned wrong;
};

/* One run with a fault. */
static void try_fault(const struct reference *r, struct fault fault, struct tally *t)
{
    const struct call *c = &calls[fault.call];
    struct reference own = {0};
    if (is_others) {
        own = refer(fault);
        r = &own;
    }
    struct outcome o = run(true, fault);
    /* When the kernel says no to everything it says so to the removal, too. */
    const char *text = difference(r, &o, fault.is_lasting || c->number == SYS_unlinkat);
    if (text == NULL && o.faults > FAULTS_MAX && c->number != SYS_close) {
        text = "it is asked again and again without a pause";
    }
    t->runs++;
    t->calls += o.seen[fault.call];
    t->hit += o.faults;
    t->wrong += text != NULL;
    if (text != NULL) {
        printf("FAIL  %s: %s %u of %u%s fails with %s: %s\n", program[0], c->name, fault.n, c->seen,
               fault.is_lasting ? " and all after it" : "", c->error_name, text);
        fflush(stdout);
    }
    free(own.out.data);
    free(own.err.data);
}

static void report(const struct call *c, const struct tally *t)
{
    printf("    %-16s %-13s", c->name, c->error_name);
    if (t->wrong == 0 && t->calls == 0) {
        printf(" not called%s\n", c->seen > 0 ? " again" : "");
    } else {
        printf(" %6u calls %5u runs %6u faults\n", c->seen, t->runs, t->hit);
        passed += t->wrong == 0 && t->hit > 0;
        failed += t->wrong != 0 || t->hit == 0;
    }
    if (t->calls > 0 && t->hit == 0) {
        printf("FAIL  %s: no %s failed, of %u\n", program[0], c->name, t->calls);
    }
    fflush(stdout);
}

static void sweep(const struct reference *r, int idx)
{
    const struct call *c = &calls[idx];
    struct tally t = {0};
    unsigned count = c->seen < most ? c->seen : most;
    unsigned last = is_others || c->error == EINTR ? 0 : c->is_from_first ? 1 : c->seen;
    for (unsigned i = 0; i < count && t.wrong < 3; i++) {
        unsigned n = 1 + (unsigned)((uint64_t)i * c->seen / count);
        try_fault(r, (struct fault){.call = idx, .n = n}, &t);
    }
    for (unsigned n = 1; n <= last && t.wrong < 3; n += c->seen / 2 + 1) {
        try_fault(r, (struct fault){.call = idx, .n = n, .is_lasting = true}, &t);
    }
    report(c, &t);
}

static void parse_call(char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || call_count == MAX_CALLS) {
        errno = EINVAL;
        die("%s", text);
    }
    *equals = '\0';
    struct call *c = &calls[call_count++];
    c->is_given = text[0] == '!';
    c->name = text + (c->is_given ? 1 : 0);
    c->error_name = equals + 1;
    char *colon = strchr(equals + 1, ':');
    c->is_from_first = colon != NULL;
    if (colon != NULL) {
        *colon = '\0';
    }
    c->number = value_of(known_calls, LEN(known_calls), c->name);
    c->error = value_of(known_errors, LEN(known_errors), c->error_name);
}

static void parse(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "+on:l:w:")) != -1) {
        if (option == 'o') {
            is_others = true;
        } else if (option == 'n') {
            most = (unsigned)atoi(optarg);
        } else if (option == 'l') {
            library = optarg;
        } else if (option == 'w') {
            folder = optarg;
        }
    }
    for (; optind < argc && strchr(argv[optind], '=') != NULL; optind++) {
        parse_call(argv[optind]);
    }
    /* getopt may have taken the "--" in front of the program or left it, with the calls in between.
     */
    optind += optind < argc && strcmp(argv[optind], "--") == 0;
    program = argv + optind;
    if (library == NULL || folder == NULL || call_count == 0 || optind >= argc) {
        fprintf(stderr,
                "usage: sweep [-o] [-n MOST] -l LIBRARY -w FOLDER CALL=ERROR... -- PROGRAM...\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    if (chdir(folder) < 0) {
        die("%s", folder);
    }
    const struct fault none = {.call = -1};
    struct reference r = refer(none);
    struct outcome o = run(true, none);
    const char *text = difference(&r, &o, false);
    if (text != NULL) {
        printf("FAIL  %s: without any fault: %s\n", program[0], text);
        failed++;
    }
    for (size_t i = 0; i < call_count; i++) {
        /* Two rows of the same call: the filter asks once, and both have counted. */
        calls[i].seen = o.seen[i];
    }
    for (size_t i = 0; i < call_count; i++) {
        if (!calls[i].is_given) {
            sweep(&r, (int)i);
        }
    }
    printf("%s: %u passed, %u failed\n", program[0], passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
