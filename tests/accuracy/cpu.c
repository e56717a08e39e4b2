/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time whose distribution is known: each thread reads its own CPU clock around what it does.
 * Prints lines "NAME nanoseconds"; NAME is a thread, a function, or THREAD.FUNCTION. The first
 * argument says what to do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MS UINT64_C(1000000)
#define CHUNK 60000 /* steps of burning: a fraction of a millisecond */
#define MAX_THREADS 256

static uint64_t thread_cpu(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static void sleep_us(uint64_t us)
{
    struct timespec ts = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000)};
    nanosleep(&ts, NULL);
}

/* Three functions that differ in nothing but their name. */
#define BURN(name)                                                                                 \
    NOINLINE void name(long steps)                                                                 \
    {                                                                                              \
        for (long i = 0; i < steps; i++) {                                                         \
            __asm__ volatile("" : "+r"(i));                                                        \
        }                                                                                          \
    }
void burn_a(long steps);
void burn_b(long steps);
void burn_c(long steps);
BURN(burn_a)
BURN(burn_b)
BURN(burn_c)

typedef void (*burner)(long steps);
static const burner burners[3] = {burn_a, burn_b, burn_c};

struct job {
    const char *name;
    uint64_t cpu_ns; /* how much to use */
    int percent[3];  /* of each function */
    long chunks;     /* in a piece, so many that reading the clock is nothing beside them; 0: one */
    uint64_t used[3];
    uint64_t seed;
    uint64_t burst_us;
    uint64_t sleep_us;
    uint64_t total_ns; /* from its birth: what is before the first line is in its profile, too */
    pthread_t thread;
    char room[16];
};

/* One piece of a random length in a random function, booked on it. */
static uint64_t piece(struct job *j, uint64_t before)
{
    uint64_t r = next_random(&j->seed);
    int at = (int)(r % 100);
    int f = at < j->percent[0] ? 0 : at < j->percent[0] + j->percent[1] ? 1 : 2;
    burners[f]((j->chunks + (j->chunks == 0)) * (CHUNK + (long)(r >> 40) % CHUNK));
    uint64_t now = thread_cpu();
    j->used[f] += now - before;
    return now;
}

static void *burn_until(void *arg)
{
    struct job *j = arg;
    prctl(PR_SET_NAME, j->name);
    uint64_t began = thread_cpu();
    uint64_t now = began;
    uint64_t burst_end = began + j->burst_us * 1000;
    while (now - began < j->cpu_ns) {
        now = piece(j, now);
        if (j->sleep_us != 0 && now > burst_end) {
            sleep_us(j->sleep_us / 2 + next_random(&j->seed) % j->sleep_us);
            burst_end = now + j->burst_us * (500 + next_random(&j->seed) % 1000);
        }
    }
    j->total_ns = now;
    return NULL;
}

static void start(struct job *j, size_t i)
{
    j->seed = i * 977 + 1;
    pthread_create(&j->thread, NULL, burn_until, j);
}

static void run_all(struct job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        start(&jobs[i], i);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(jobs[i].thread, NULL);
        printf("%s %lu\n", jobs[i].name, jobs[i].total_ns);
    }
}

static void tell_functions(const struct job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int f = 0; f < 3; f++) {
            printf("%s.burn_%c %lu\n", jobs[i].name, 'a' + f, jobs[i].used[f]);
        }
    }
}

/* shares MS: functions of known shares on threads of known shares. */
static void do_shares(long ms, long unused)
{
    (void)unused;
    uint64_t unit = (uint64_t)ms * MS;
    struct job jobs[] = {
        {.name = "t0", .cpu_ns = 2 * unit, .percent = {100, 0, 0}, .chunks = 16},
        {.name = "t1", .cpu_ns = 2 * unit, .percent = {50, 50, 0}, .chunks = 16},
        {.name = "t2", .cpu_ns = 3 * unit, .percent = {10, 30, 60}, .chunks = 16},
        {.name = "t3", .cpu_ns = 1 * unit, .percent = {0, 5, 95}, .chunks = 16},
    };
    run_all(jobs, 4);
    tell_functions(jobs, 4);
}

/* split THREADS MS: equal work in each of the threads w000, w001, … */
static void do_split(long threads, long ms)
{
    static struct job jobs[MAX_THREADS];
    for (long i = 0; i < threads; i++) {
        snprintf(jobs[i].room, sizeof(jobs[i].room), "w%03u", (unsigned char)i);
        jobs[i].name = jobs[i].room;
        jobs[i].cpu_ns = (uint64_t)ms * MS;
        jobs[i].percent[0] = 100;
    }
    run_all(jobs, (size_t)threads);
}

/* burst MS: threads that sleep between bursts longer and shorter than a kernel tick. */
static void do_burst(long ms, long unused)
{
    (void)unused;
    uint64_t cpu = (uint64_t)ms * MS;
    struct job jobs[] = {
        {.name = "steady", .cpu_ns = cpu, .percent = {100}},
        {.name = "long", .cpu_ns = cpu, .percent = {50, 50}, .burst_us = 12000, .sleep_us = 7000},
        {.name = "short", .cpu_ns = cpu, .percent = {50, 50}, .burst_us = 2000, .sleep_us = 3000},
        {.name = "tiny", .cpu_ns = cpu / 2, .percent = {50, 50}, .burst_us = 300, .sleep_us = 600},
    };
    run_all(jobs, 4);
    tell_functions(jobs, 4);
}

static uint64_t short_ns;

NOINLINE void *short_work(void *arg)
{
    uint64_t wanted = (uint64_t)(uintptr_t)arg;
    uint64_t began = thread_cpu();
    uint64_t now = began;
    while (now - began < wanted) {
        burn_a(CHUNK / 16);
        now = thread_cpu();
    }
    __atomic_fetch_add(&short_ns, now, __ATOMIC_RELAXED);
    return NULL;
}

static void *short_exit(void *arg)
{
    pthread_exit(short_work(arg));
}

static void *short_cancelled(void *arg)
{
    (void)short_work(arg);
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return arg;
}

static int short_c11(void *arg)
{
    (void)short_work(arg);
    thrd_exit(0);
}

/* That many threads, each of which uses that little CPU time; four at a time. Told is what they
 * used from their birth on. */
static void run_short(void *(*start)(void *), long count, long us)
{
    void *arg = (void *)(uintptr_t)(us * 1000);
    union {
        pthread_t posix;
        thrd_t c11;
    } t[4];
    for (long i = 0; i < count; i += 4) {
        for (int k = 0; k < 4; k++) {
            if (start != NULL) {
                pthread_create(&t[k].posix, NULL, start, arg);
            } else {
                thrd_create(&t[k].c11, short_c11, arg);
            }
        }
        for (int k = 0; k < 4; k++) {
            if (start != NULL) {
                pthread_join(t[k].posix, NULL);
            } else {
                thrd_join(t[k].c11, NULL);
            }
        }
    }
    printf("short_work %lu\n", short_ns);
}

/* short COUNT US, and the same with threads that end in other ways. */
static void do_short(long count, long us)
{
    run_short(short_work, count, us);
}

static void do_exit(long count, long us)
{
    run_short(short_exit, count, us);
}

static void do_cancelled(long count, long us)
{
    run_short(short_cancelled, count, us);
}

static void do_c11(long count, long us)
{
    run_short(NULL, count, us);
}

static void *burn_blocked(void *arg)
{
    struct job *j = arg;
    prctl(PR_SET_NAME, j->name);
    uint64_t began = thread_cpu();
    uint64_t now = began;
    sigset_t all;
    sigfillset(&all);
    while (now - began < j->cpu_ns) {
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        for (uint64_t end = now + 150 * MS; now < end;) {
            now = piece(j, now);
        }
        pthread_sigmask(SIG_UNBLOCK, &all, NULL);
        for (uint64_t end = now + 100 * MS; now < end;) {
            now = piece(j, now);
        }
    }
    j->total_ns = now;
    return NULL;
}

NOINLINE uint64_t signals_open(uint64_t ns)
{
    uint64_t began = thread_cpu();
    uint64_t now = began;
    while (now - began < ns) {
        burn_a(CHUNK / 8);
        now = thread_cpu();
    }
    return now - began;
}

static void *burn_in_phases(void *arg)
{
    struct job *j = arg;
    sigset_t all;
    sigfillset(&all);
    prctl(PR_SET_NAME, j->name);
    uint64_t began = thread_cpu();
    while (thread_cpu() - began < j->cpu_ns) {
        j->used[0] += signals_open(3 * MS);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        for (uint64_t from = thread_cpu(); thread_cpu() - from < 6 * MS;) {
            burn_b(CHUNK / 8);
        }
        pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    }
    j->total_ns = thread_cpu();
    return NULL;
}

/* phases MS: a thread in which signals are open for 3 ms and blocked for 6, in turn. */
static void do_phases(long ms, long unused)
{
    (void)unused;
    struct job j = {.name = "phases", .cpu_ns = (uint64_t)ms * MS};
    pthread_create(&j.thread, NULL, burn_in_phases, &j);
    pthread_join(j.thread, NULL);
    printf("phases %lu\nsignals_open %lu\n", j.total_ns, j.used[0]);
}

/* blocked MS: one thread keeps all signals blocked for a while, again and again; one does not. */
static void do_blocked(long ms, long unused)
{
    (void)unused;
    struct job jobs[] = {{.name = "blocks", .cpu_ns = (uint64_t)ms * MS, .percent = {100}},
                         {.name = "free", .cpu_ns = (uint64_t)ms * MS, .percent = {100}}};
    pthread_create(&jobs[0].thread, NULL, burn_blocked, &jobs[0]);
    start(&jobs[1], 1);
    for (int i = 0; i < 2; i++) {
        pthread_join(jobs[i].thread, NULL);
        printf("%s %lu\n", jobs[i].name, jobs[i].total_ns);
    }
}

/* A thread that libc does not know: it has no thread-local storage of its own, so libc is out of
 * bounds. */
struct raw {
    uint64_t cpu_ns;
    uint64_t used_ns;
    int is_running;
};

static uint64_t raw_thread_cpu(void)
{
    struct timespec ts;
    long r;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "0"((long)SYS_clock_gettime), "D"((long)CLOCK_THREAD_CPUTIME_ID), "S"(&ts)
                     : "rcx", "r11", "memory");
    return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

NOINLINE int raw_work(void *arg)
{
    struct raw *r = arg;
    uint64_t now = 0;
    while (now < r->cpu_ns) {
        burn_c(CHUNK);
        now = raw_thread_cpu();
    }
    r->used_ns = now;
    return 0;
}

typedef int cloner(int (*start)(void *), void *stack, int flags, void *arg, ...);

static void clone_by(cloner *make, long count, long ms)
{
    static struct raw raws[16];
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    const size_t room = 65536;
    uint64_t sum = 0;
    /* The profiler looks for threads from its first sample on: a few milliseconds of the usual
     * kind. */
    struct job job = {.name = "before", .cpu_ns = 50 * MS, .percent = {100}};
    run_all(&job, 1);
    for (long i = 0; i < count; i++) {
        raws[i].cpu_ns = (uint64_t)ms * MS;
        raws[i].is_running = 1;
        char *stack = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (make(raw_work, stack + room, flags, &raws[i], NULL, NULL, &raws[i].is_running) < 0) {
            exit(1);
        }
    }
    for (long i = 0; i < count; i++) {
        while (__atomic_load_n(&raws[i].is_running, __ATOMIC_ACQUIRE) != 0) {
            syscall(SYS_futex, &raws[i].is_running, FUTEX_WAIT, 1, NULL, NULL, 0);
        }
        sum += raws[i].used_ns;
    }
    printf("raw_work %lu\n", sum);
}

/* clone COUNT MS: threads made by clone, not by the thread library. */
static void do_clone(long count, long ms)
{
    clone_by(clone, count, ms);
}

/* hidden COUNT MS: the same by libc's function, which no other library can stand before. */
static void do_hidden(long count, long ms)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    cloner *make;
    void *found = libc == NULL ? NULL : dlsym(libc, "clone");
    if (found == NULL) {
        exit(1);
    }
    memcpy(&make, &found, sizeof(make));
    clone_by(make, count, ms);
}

/* Time that the kernel uses on behalf of this function, nearly all of it. */
NOINLINE void burn_kernel(int fd)
{
    static char room[1 << 20];
    if (read(fd, room, sizeof(room)) < 0) {
        exit(1);
    }
    __asm__ volatile("");
}

/* Memory that is there when it is touched: the kernel's time again, but in no system call. */
NOINLINE void burn_faults(int unused)
{
    (void)unused;
    char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || madvise(p, 1 << 20, MADV_NOHUGEPAGE) != 0) {
        exit(1);
    }
    for (int i = 0; i < 1 << 20; i += 4096) {
        p[i] = 1;
    }
    munmap(p, 1 << 20);
    __asm__ volatile("");
}

static void (*burn_in_kernel)(int fd);

static void *burn_both(void *arg)
{
    struct job *j = arg;
    prctl(PR_SET_NAME, j->name);
    int fd = open("/dev/zero", O_RDONLY);
    uint64_t began = thread_cpu();
    uint64_t now = began;
    while (now - began < j->cpu_ns) {
        burn_in_kernel(fd);
        uint64_t middle = thread_cpu();
        burn_a(CHUNK + (long)(next_random(&j->seed) % CHUNK));
        j->used[1] += middle - now;
        now = thread_cpu();
        j->used[0] += now - middle;
    }
    j->total_ns = now;
    close(fd);
    return NULL;
}

/* kernel MS: a thread that is in system calls for a good part of its time; faults MS: in page
 * faults. */
static void burn_inside(void (*burn)(int), const char *name, long ms)
{
    struct job j = {.name = "both", .cpu_ns = (uint64_t)ms * MS};
    burn_in_kernel = burn;
    pthread_create(&j.thread, NULL, burn_both, &j);
    pthread_join(j.thread, NULL);
    printf("both %lu\nburn_a %lu\n%s %lu\n", j.total_ns, j.used[0], name, j.used[1]);
}

static void do_kernel(long ms, long unused)
{
    (void)unused;
    burn_inside(burn_kernel, "burn_kernel", ms);
}

static void do_faults(long ms, long unused)
{
    (void)unused;
    burn_inside(burn_faults, "burn_faults", ms);
}

static int idle_pipe[2];

struct waiter {
    pthread_t thread;
    int result;
    uint64_t used_ns;
};

static void *sleep_in_poll(void *arg)
{
    struct waiter *w = arg;
    struct pollfd p = {.fd = idle_pipe[0], .events = POLLIN};
    prctl(PR_SET_NAME, "idle");
    w->result = poll(&p, 1, -1);
    w->used_ns = thread_cpu();
    return NULL;
}

/* idle MS: a hundred threads wait while one burns. A wait that was interrupted shows in the exit
 * status. */
static void do_idle(long ms, long unused)
{
    (void)unused;
    static struct waiter waiters[100];
    uint64_t used_ns = 0;
    if (pipe(idle_pipe) != 0) {
        exit(1);
    }
    for (int i = 0; i < 100; i++) {
        pthread_create(&waiters[i].thread, NULL, sleep_in_poll, &waiters[i]);
    }
    struct job job = {.name = "burner", .cpu_ns = (uint64_t)ms * MS, .percent = {100}};
    run_all(&job, 1);
    close(idle_pipe[1]);
    for (int i = 0; i < 100; i++) {
        pthread_join(waiters[i].thread, NULL);
        used_ns += waiters[i].used_ns;
        if (waiters[i].result != 1) {
            exit(1);
        }
    }
    printf("idle %lu\n", used_ns);
}

static pthread_barrier_t renamed;

static void burn_named(const char *name, long ms)
{
    uint64_t began = thread_cpu();
    uint64_t now = began;
    while (now - began < (uint64_t)ms * MS) {
        burn_a(CHUNK);
        now = thread_cpu();
    }
    printf("%s %lu\n", name, now - began);
}

static void *change_names(void *arg)
{
    long ms = (long)(intptr_t)arg;
    prctl(PR_SET_NAME, "alpha");
    burn_named("alpha", ms);
    pthread_setname_np(pthread_self(), "beta");
    burn_named("beta", ms);
    pthread_barrier_wait(&renamed);
    pthread_barrier_wait(&renamed);
    burn_named("gamma", ms);
    printf("tid %ld\n", (long)syscall(SYS_gettid));
    return NULL;
}

/* names MS: a thread that is renamed by prctl, by itself, and by another thread. */
static void do_names(long ms, long unused)
{
    (void)unused;
    pthread_t t;
    pthread_barrier_init(&renamed, NULL, 2);
    pthread_create(&t, NULL, change_names, (void *)(intptr_t)ms);
    pthread_barrier_wait(&renamed);
    pthread_setname_np(t, "gamma");
    pthread_barrier_wait(&renamed);
    pthread_join(t, NULL);
}

struct mode {
    const char *name;
    void (*run)(long first, long second);
};

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"shares", do_shares}, {"split", do_split},     {"burst", do_burst},
        {"short", do_short},   {"exit", do_exit},       {"cancelled", do_cancelled},
        {"c11", do_c11},       {"blocked", do_blocked}, {"clone", do_clone},
        {"hidden", do_hidden}, {"idle", do_idle},       {"names", do_names},
        {"kernel", do_kernel}, {"faults", do_faults},   {"phases", do_phases},
    };
    for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run(atol(argv[2]), argc > 3 ? atol(argv[3]) : 0);
            struct rusage u;
            getrusage(RUSAGE_SELF, &u);
            printf("rusage %ld\n", (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
                                       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000);
            return 0;
        }
    }
    return 2;
}
