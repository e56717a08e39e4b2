/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything in otelprof.h once. What it prints is the same with and without the library, but for
 * what it writes to the file named by the first argument: whether the library is there, and the id
 * of the CPU profile. To the file $TRUTH it adds what each burning took by the thread's own clock,
 * which on some machines jumps: a name and nanoseconds.
 */
#include "core/api/otelprof.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
void burn_here(const char *name, double seconds);
#ifdef __cplusplus
}
#endif

static volatile unsigned long sink;
static const unsigned char trace_id[16] = {0xa1, 0xa2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xaf};
static const unsigned char span_id[8] = {0xb1, 0, 0, 0, 0, 0, 0, 0xbf};
static const unsigned char other_span[8] = {0xc1, 0, 0, 0, 0, 0, 0, 0xcf};
static const unsigned char zeros[16] = {0};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void tell_truth(const char *name, double seconds)
{
    int saved = errno;
    const char *path = getenv("TRUTH");
    FILE *f = path == NULL ? NULL : fopen(path, "a");
    if (f != NULL) {
        fprintf(f, "%s %.0f\n", name, seconds * 1e9);
        fclose(f);
    }
    errno = saved;
}

__attribute__((noinline)) void burn_here(const char *name, double seconds)
{
    double begin = cpu_now();
    while (cpu_now() < begin + seconds) {
        for (unsigned long i = 0; i < 20000; i++) {
            sink = sink + i * i;
        }
    }
    tell_truth(name, cpu_now() - begin);
}

static void check(int is_right, const char *what)
{
    if (!is_right) {
        printf("wrong: %s\n", what);
    }
}

/* A handler that uses a span of its own and puts back what was there. */
static void handler(int signo)
{
    unsigned char trace[16];
    unsigned char span[8];
    (void)signo;
    int had_one = otelprof_span_get(trace, span);
    otelprof_span_set(trace_id, other_span);
    otelprof_span_set(trace, span);
    check(otelprof_span_get(trace, span) == had_one, "a handler puts the span back");
}

static void *thread(void *arg)
{
    (void)arg;
    unsigned char trace[16];
    unsigned char span[8];
    check(otelprof_span_get(trace, span) == 0, "a new thread has no span");
    check(memcmp(trace, zeros, 16) == 0 && memcmp(span, zeros, 8) == 0, "then ids are zeros");
    otelprof_thread_name("by the program, longer than what fits");
    pthread_setname_np(pthread_self(), "by a library"); /* which does not know */
    otelprof_label_push("route", "/thread");
    burn_here("thread", 0.2);
    otelprof_label_pop();
    otelprof_thread_name(NULL);
    pthread_setname_np(pthread_self(), "api");
    otelprof_label_push("route", "/kernel-name");
    burn_here("kernel-name", 0.2);
    return NULL; /* with a label, which ends with the thread */
}

static void labels(void)
{
    static char long_text[400];
    static char euros[400] = "a"; /* and then characters of three bytes */
    for (size_t i = 1; i + 3 < sizeof(euros); i += 3) {
        memcpy(euros + i, "\xe2\x82\xac", 3);
    }
    memset(long_text, 'x', sizeof(long_text) - 1);
    otelprof_label_pop(); /* nothing to take away */
    otelprof_label_push("route", "/outer");
    otelprof_label_push_int("number", -42);
    otelprof_label_push("route", "/inner");
    otelprof_label_push(NULL, "no key");
    otelprof_label_push("", "no key");
    otelprof_label_push("no value", NULL);
    otelprof_label_push("euros", euros);
    burn_here("inner", 0.2);
    for (int i = 0; i < 7; i++) {
        otelprof_label_pop();
    }
    for (int i = 0; i < 100; i++) {
        otelprof_label_push("long", long_text);
    }
    otelprof_label_push("route", "/no-room");
    burn_here("no-room", 0.2);
    for (int i = 0; i < 101; i++) {
        otelprof_label_pop();
    }
    otelprof_label_push("route", "/after");
    burn_here("after", 0.2);
    otelprof_label_pop();
    otelprof_label_push("route", "/below");
    for (int i = 0; i < 3; i++) {
        otelprof_label_push("filler", long_text);
    }
    otelprof_label_push("route", "/no-room-above");
    burn_here("no-room-above", 0.2); /* in a route that is not known */
    otelprof_label_pop();
    burn_here("below", 0.2);
    for (int i = 0; i < 4; i++) {
        otelprof_label_pop();
    }
}

static void report(const char *path)
{
    unsigned char id[16] = {0};
    unsigned char again[16] = {0};
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        exit(2);
    }
    int has_id = otelprof_profile_id(NULL, id);
    check(has_id == otelprof_profile_id("cpu", again), "cpu is what NULL means");
    check(memcmp(id, again, sizeof(id)) == 0, "the id stays the same until the flush");
    check(otelprof_profile_id("no such type", id) == 0, "no such type");
    check(has_id == otelprof_profile_id("cpu", NULL), "asked whether there is an id");
    fprintf(f, "%s %d ", otelprof_version()[0] != '\0' ? "there" : "absent", has_id);
    for (size_t i = 0; i < sizeof(id); i++) {
        fprintf(f, "%02x", again[i]);
    }
    fprintf(f, "\n");
    fclose(f);
}

int main(int argc, char **argv)
{
    pthread_t t;
    unsigned char trace[16];
    unsigned char span[8];
    errno = 77;
    signal(SIGUSR1, handler);
    otelprof_span_set(trace_id, span_id);
    int has_library = otelprof_version()[0] != '\0';
    check(otelprof_span_get(trace, span) == has_library, "the span is there");
    check(!has_library || memcmp(span, span_id, 8) == 0, "it is what was set");
    check(otelprof_span_get(NULL, NULL) == has_library, "asked whether there is one");
    memset(span, 0, sizeof(span));
    check(otelprof_span_get(NULL, span) == has_library, "asked for half of it");
    check(!has_library || memcmp(span, span_id, 8) == 0, "that half is there");
    raise(SIGUSR1);
    burn_here("span", 0.3);
    otelprof_span_clear();
    check(otelprof_span_get(trace, span) == 0, "the span is cleared");
    otelprof_span_set(zeros, span_id);
    otelprof_span_set(trace_id, zeros);
    otelprof_span_set(NULL, span_id);
    otelprof_span_set(trace_id, NULL);
    check(otelprof_span_get(trace, span) == 0, "half a span is none");
    labels();
    check(errno == 77, "errno");
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
#ifdef __cplusplus
    {
        otelprof::span outer(trace_id, span_id);
        otelprof::label word("scope", "cxx");
        otelprof::label number("scope_number", 5);
        {
            otelprof::span inner(trace_id, other_span);
            burn_here("scope", 0.2);
        }
        check(otelprof_span_get(trace, span) == has_library, "the outer span is back");
        check(!has_library || memcmp(span, span_id, 8) == 0, "and it is the outer one");
    }
    check(otelprof_span_get(trace, span) == 0, "and then none");
    {
        otelprof::label truth("scope_bool", true);
        otelprof::label size("scope_size", sizeof(trace_id));
        otelprof::label bits("scope_unsigned", 5U);
        otelprof::label wide("scope_long", -5L);
    }
#endif
    report(argc > 1 ? argv[1] : "/dev/null");
    printf("done\n");
    return 0;
}
