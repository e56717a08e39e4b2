/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks MODE MS: burns CPU time where stacks are hard to take. Every function of one mode is
 * called from one place only, or from places that stacks.py beside this file knows.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("") /* no tail call before this */

void asm_leaf(long steps);
void asm_pushes(long steps);
void asm_misled(long steps);
long plt_callee(long x); /* of a library of its own, bound at its first call or at start */

static uint64_t until_ns;
static volatile long sink;

static uint64_t thread_cpu(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

/* True until the time is up; the clock is read every so many calls, to be little of all the time.
 */
static inline bool goes_on(unsigned calls_each)
{
    static __thread unsigned calls;
    return ++calls % calls_each != 0 || thread_cpu() < until_ns;
}

NOINLINE static void spin(long steps)
{
    for (long i = 0; i < steps; i++) {
        __asm__ volatile("" : "+r"(i));
    }
}

/* Functions that consist of little more than a beginning and an end. */
NOINLINE static long tiny_leaf(long x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

NOINLINE static long tiny_saver(long x)
{
    long a = tiny_leaf(x);
    long b = tiny_leaf(a);
    long c = tiny_leaf(a + b);
    return a ^ b ^ c;
}

NOINLINE static long tiny_frame(long x)
{
    volatile char room[200];
    room[x & 127] = 1;
    long r = tiny_saver(x);
    return r + room[5];
}

NOINLINE static long tiny_aligned(long x)
{
    volatile char room[64] __attribute__((aligned(64)));
    room[x & 63] = 1;
    long r = tiny_saver(x);
    KEEP;
    return r + room[3];
}

/* A stack that grows by what is only known at run time. */
NOINLINE static long tiny_dynamic(long x)
{
    volatile char *room = __builtin_alloca((size_t)(x & 63) + 16);
    room[3] = 1;
    long r = tiny_saver(x);
    return r + room[3];
}

static void do_tiny(void)
{
    for (long x = 0; goes_on(8192); x++) {
        sink += tiny_frame(x) + tiny_aligned(x) + tiny_dynamic(x);
    }
}

/* A call graph in which each function has one caller. */
#define CHAIN(x)                                                                                   \
    NOINLINE static void x##_4(long n)                                                             \
    {                                                                                              \
        for (long i = 0; i < n; i++) {                                                             \
            __asm__ volatile("" : "+r"(i));                                                        \
        }                                                                                          \
    }                                                                                              \
    NOINLINE static void x##_3(long n)                                                             \
    {                                                                                              \
        x##_4(n);                                                                                  \
        KEEP;                                                                                      \
    }                                                                                              \
    NOINLINE static void x##_2(long n)                                                             \
    {                                                                                              \
        x##_3(n);                                                                                  \
        KEEP;                                                                                      \
    }                                                                                              \
    NOINLINE static void x##_1(long n)                                                             \
    {                                                                                              \
        x##_2(n);                                                                                  \
        KEEP;                                                                                      \
    }
CHAIN(red)
CHAIN(green)
CHAIN(blue)

static void do_graph(void)
{
    while (goes_on(8192)) {
        red_1(30);
        green_1(50);
        blue_1(20);
    }
}

NOINLINE static long plt_caller(long x)
{
    long r = plt_callee(x);
    KEEP;
    return r;
}

static void do_plt(void)
{
    for (long x = 0; goes_on(8192); x++) {
        sink += plt_caller(x);
    }
}

/* libc's string functions are assembly; the vector ones are chosen at run time. */
NOINLINE static void string_caller(char *a, char *b, size_t n)
{
    memcpy(a, b, n);
    sink += (long)strlen(a);
    sink += memcmp(a, b, n);
    sink += (long)(strchr(a, 'z') - a);
    sink += strcmp(a, b);
    memset(b, 'x', n - 1);
    memmove(a + 1, a, n - 2);
    KEEP;
}

static void do_strings(void)
{
    static char a[4096];
    static char b[4096];
    memset(a, 'x', sizeof(a) - 1);
    memset(b, 'x', sizeof(b) - 1);
    for (size_t n = 8; goes_on(512); n = n >= sizeof(a) - 8 ? 8 : n + 13) {
        string_caller(a, b, n);
        b[n] = '\0';
    }
}

NOINLINE static int compare(const void *a, const void *b)
{
    long x = *(const long *)a;
    long y = *(const long *)b;
    return (x > y) - (x < y);
}

NOINLINE static void sort_caller(long *v, size_t n)
{
    qsort(v, n, sizeof(v[0]), compare);
    KEEP;
}

static void do_qsort(void)
{
    static long v[3000];
    uint64_t state = 1;
    while (thread_cpu() < until_ns) {
        for (size_t i = 0; i < 3000; i++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            v[i] = (long)(state >> 20);
        }
        sort_caller(v, 3000);
    }
}

NOINLINE static void handler_work(void)
{
    spin(20000);
    KEEP;
}

static void on_signal(int signo)
{
    (void)signo;
    handler_work();
    KEEP;
}

NOINLINE static void raiser(void)
{
    pthread_kill(pthread_self(), SIGUSR1);
    KEEP;
}

static void handle(int flags)
{
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = flags};
    sigaction(SIGUSR1, &act, NULL);
    while (goes_on(512)) {
        raiser();
    }
}

static void do_handler(void)
{
    handle(0);
}

static void do_altstack(void)
{
    static char room[65536] __attribute__((aligned(16)));
    stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
    sigaltstack(&stack, NULL);
    handle(SA_ONSTACK);
}

NOINLINE static void clock_caller(void)
{
    struct timespec ts;
    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        sink += ts.tv_nsec;
    }
    KEEP;
}

static void do_vdso(void)
{
    while (goes_on(512)) {
        clock_caller();
    }
}

/* The last call of tail_first is a jump: its frame is gone, as the machine sees it. */
NOINLINE static void tail_last(long n)
{
    spin(n);
    KEEP;
}

NOINLINE static void tail_middle(long n)
{
    tail_last(n + 1);
}

NOINLINE static void tail_first(long n)
{
    tail_middle(n + 1);
}

NOINLINE static void tail_caller(void)
{
    tail_first(100);
    KEEP;
}

static void do_tail(void)
{
    while (goes_on(512)) {
        tail_caller();
    }
}

NOINLINE static long deep(long n)
{
    if (n == 0) {
        spin(5000);
        return 1;
    }
    volatile long below = deep(n - 1);
    return below + 1;
}

static void do_deep(void)
{
    while (thread_cpu() < until_ns) {
        sink += deep(5000);
    }
}

static void do_shallow(void)
{
    while (thread_cpu() < until_ns) {
        sink += deep(60);
    }
}

/* A call that does not return is the last instruction of its function. */
static pthread_t never_thread;

NOINLINE static void __attribute__((noreturn)) never_returns(void)
{
    while (goes_on(512)) {
        spin(1000);
    }
    pthread_exit(NULL);
}

NOINLINE static void calls_never(void)
{
    never_returns();
}

NOINLINE static void behind_calls_never(void)
{
    spin(1);
    KEEP;
}

static void *never_main(void *arg)
{
    (void)arg;
    calls_never();
    return NULL;
}

static void do_noreturn(void)
{
    behind_calls_never();
    pthread_create(&never_thread, NULL, never_main, NULL);
    pthread_join(never_thread, NULL);
}

NOINLINE static void asm_caller(void)
{
    asm_leaf(5000);
    KEEP;
}

static void do_asm(void)
{
    while (goes_on(512)) {
        asm_caller();
    }
}

NOINLINE static void pushes_caller(void)
{
    asm_pushes(5000);
    KEEP;
}

static void do_pushes(void)
{
    while (goes_on(512)) {
        pushes_caller();
    }
}

NOINLINE static void misled_caller(void)
{
    asm_misled(5000);
    KEEP;
}

static void do_misled(void)
{
    while (goes_on(512)) {
        misled_caller();
    }
}

/* Code made at run time that keeps a frame pointer and calls back: push rbp; mov rbp,rsp; call rdi;
 * … */
NOINLINE static void jit_callee(void)
{
    spin(5000);
    KEEP;
}

typedef void (*jit_fn)(void (*callee)(void));

NOINLINE static void jit_caller(jit_fn fn)
{
    fn(jit_callee);
    KEEP;
}

static void do_jit(void)
{
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void *p =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        exit(77);
    }
    memcpy(p, code, sizeof(code));
    jit_fn fn;
    memcpy(&fn, &p, sizeof(fn));
    while (goes_on(512)) {
        jit_caller(fn);
    }
}

/* The allocator's own inside: a tick lands in malloc and free most of the time. */
NOINLINE static void heap_caller(void)
{
    void *p[20];
    for (int i = 0; i < 20; i++) {
        p[i] = malloc((size_t)i * 40 + 1);
    }
    for (int i = 0; i < 20; i++) {
        free(p[i]);
    }
    KEEP;
}

static void do_malloc(void)
{
    while (goes_on(8192)) {
        heap_caller();
    }
}

/* Formatting: many levels inside libc, none of them with frame pointers. */
NOINLINE static void format_caller(double x)
{
    char text[100];
    sink += snprintf(text, sizeof(text), "%d %s %.12g %p", (int)x, "text", x, (void *)text);
    KEEP;
}

static void do_format(void)
{
    for (double x = 0; goes_on(512); x += 1.1) {
        format_caller(x);
    }
}

struct mode {
    const char *name;
    void (*run)(void);
};

static const struct mode modes[] = {
    {"tiny", do_tiny},         {"graph", do_graph},       {"plt", do_plt},
    {"strings", do_strings},   {"qsort", do_qsort},       {"handler", do_handler},
    {"vdso", do_vdso},         {"altstack", do_altstack}, {"tail", do_tail},
    {"deep", do_deep},         {"asm", do_asm},           {"pushes", do_pushes},
    {"noreturn", do_noreturn}, {"jit", do_jit},           {"malloc", do_malloc},
    {"format", do_format},     {"shallow", do_shallow},   {"misled", do_misled},
};

static const struct mode *chosen;

NOINLINE static void *in_thread(void *arg)
{
    chosen->run();
    KEEP;
    return arg;
}

/* In the main thread; with a third argument in a thread of its own. */
int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(argv[1], modes[i].name) == 0) {
            chosen = &modes[i];
        }
    }
    if (chosen == NULL) {
        return 2;
    }
    until_ns = thread_cpu() + (uint64_t)atol(argv[2]) * 1000000U;
    if (argc == 3) {
        chosen->run();
        KEEP;
        return 0;
    }
    until_ns = (uint64_t)atol(argv[2]) * 1000000U;
    pthread_t t;
    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
    return 0;
}
