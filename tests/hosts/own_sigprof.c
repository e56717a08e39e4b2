/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program which uses SIGPROF or a real-time signal for itself, in each way there is,
 * gets its own signals and no others; what is still sampled is in the profile.
 */
/* host: rows B65 R5 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects burn_and_allocate */
/* host: sees cpu burn_and_allocate */
/* host: runs sigaction|signal|itimer|timer|sigwait|signalfd */
/* host: runs ignore|default|raw|block|late-thread|all-signals */
#include "host.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>

static volatile sig_atomic_t own;
static volatile sig_atomic_t strange;

HOST_NOINLINE static void burn_and_allocate(void)
{
    host_burn(60);
    free(host_hide(malloc(100)));
}

static void on_own(int signo, siginfo_t *info, void *context)
{
    (void)context;
    (void)signo;
    own = own + 1;
    /* Ours carries a value that no program uses, or a descriptor. */
    strange = strange +
              (info->si_code == SI_TIMER && (uintptr_t)info->si_value.sival_ptr >> 48 != 0) +
              (info->si_code > 0 && info->si_code != SI_KERNEL);
}

static void handle(int signo)
{
    struct sigaction a = {.sa_sigaction = on_own, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction old;
    memset(&old, 1, sizeof(old));
    host_check(sigaction(signo, &a, &old) == 0 && old.sa_handler == SIG_DFL,
               "the signal was at its default");
    host_check(sigaction(signo, NULL, &old) == 0 && old.sa_sigaction == on_own,
               "the handler is the program's");
}

static void use_sigaction(void)
{
    handle(SIGPROF);
    burn_and_allocate();
    host_check(own == 0, "no signal but its own comes");
    for (int i = 0; i < 5; i++) {
        raise(SIGPROF);
    }
    host_check(own == 5, "its own come");
}

static void old_handler(int signo)
{
    (void)signo;
    own = own + 1;
}

static void use_signal(void)
{
    host_check(signal(SIGPROF, old_handler) == SIG_DFL, "the signal was at its default");
    burn_and_allocate();
    host_check(own == 0, "no signal but its own comes");
    host_check(signal(SIGPROF, SIG_DFL) == old_handler, "the handler was the program's");
    burn_and_allocate();
    host_check(signal(SIGPROF, SIG_DFL) == SIG_DFL, "the signal is at its default");
}

static void use_itimer(void)
{
    struct itimerval every = {{0, 10000}, {0, 10000}};
    struct itimerval now;
    handle(SIGPROF);
    host_check(getitimer(ITIMER_PROF, &now) == 0 && now.it_value.tv_usec == 0 &&
                   now.it_interval.tv_usec == 0,
               "no timer is running");
    setitimer(ITIMER_PROF, &every, NULL);
    while (own < 5) {
        burn_and_allocate();
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, &now);
    host_check(now.it_interval.tv_usec > 0, "the timer was the program's");
}

static void use_timer(void)
{
    struct sigevent ev = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF, .sigev_value.sival_int = 77};
    struct itimerspec every = {{0, 10000000}, {0, 10000000}};
    timer_t t;
    handle(SIGPROF);
    host_check(timer_create(CLOCK_PROCESS_CPUTIME_ID, &ev, &t) == 0, "a timer of the program's");
    timer_settime(t, 0, &every, NULL);
    while (own < 5) {
        burn_and_allocate();
    }
    timer_delete(t);
}

static void use_sigwait(void)
{
    sigset_t set;
    int signo = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    burn_and_allocate();
    struct timespec none = {0, 0};
    siginfo_t info;
    host_check(sigtimedwait(&set, &info, &none) == -1, "nothing is pending");
    for (int i = 0; i < 3; i++) {
        burn_and_allocate();
        kill(getpid(), SIGPROF);
        host_check(sigwait(&set, &signo) == 0 && signo == SIGPROF, "sigwait gets it");
    }
    kill(getpid(), SIGPROF);
    host_check(sigwaitinfo(&set, &info) == SIGPROF && info.si_code == SI_USER,
               "sigwaitinfo gets it");
    host_check(sigtimedwait(&set, &info, &none) == -1, "nothing is pending any more");
}

static void use_signalfd(void)
{
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    burn_and_allocate();
    host_check(read(fd, &info, sizeof(info)) == -1, "nothing is pending");
    for (int i = 0; i < 3; i++) {
        burn_and_allocate();
        kill(getpid(), SIGPROF);
        host_check(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGPROF &&
                       info.ssi_code == SI_USER,
                   "signalfd gets it");
    }
    host_check(read(fd, &info, sizeof(info)) == -1, "nothing is pending any more");
}

static void use_ignore(void)
{
    struct sigaction now;
    signal(SIGPROF, SIG_IGN);
    burn_and_allocate();
    for (int i = 0; i < 5; i++) {
        raise(SIGPROF);
    }
    host_check(sigaction(SIGPROF, NULL, &now) == 0 && now.sa_handler == SIG_IGN, "it is ignored");
}

static void use_default(void)
{
    signal(SIGPROF, SIG_DFL);
    burn_and_allocate();
    burn_and_allocate();
}

/* Behind everybody's back. */
static void use_raw(void)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } a = {SIG_IGN, 0, NULL, 0};
    burn_and_allocate();
    host_check(syscall(SYS_rt_sigaction, SIGPROF, &a, NULL, 8) == 0,
               "a handler set by system call");
    for (int i = 0; i < 25; i++) {
        burn_and_allocate();
    }
}

static void use_block(void)
{
    sigset_t all;
    sigset_t pending;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    burn_and_allocate();
    sigpending(&pending);
    host_check(sigismember(&pending, SIGPROF) == 0, "nothing is pending");
    handle(SIGPROF);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    burn_and_allocate();
    host_check(own == 0, "nothing came");
}

static void *late(void *arg)
{
    (void)arg;
    burn_and_allocate();
    handle(SIGPROF);
    burn_and_allocate();
    return NULL;
}

static void use_late_thread(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, late, NULL);
    pthread_join(t[0], NULL);
    burn_and_allocate();
    host_check(own == 0, "nothing came");
    raise(SIGPROF);
    host_check(own == 1, "its own came");
}

/* A program with a handler for everything, as some runtimes have. */
static void use_all_signals(void)
{
    for (int s = 1; s < SIGRTMAX; s++) {
        if (s != SIGKILL && s != SIGSTOP && s != SIGSEGV && s != SIGABRT &&
            (s < 32 || s >= SIGRTMIN)) {
            handle(s);
        }
    }
    burn_and_allocate();
    burn_and_allocate();
    host_check(own == 0, "no signal comes");
    raise(SIGTERM);
    raise(SIGRTMIN + 5);
    raise(SIGPROF);
    host_check(own == 3, "its own come");
}

struct way {
    const char *name;
    void (*use)(void);
};

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        {"sigaction", use_sigaction},
        {"signal", use_signal},
        {"itimer", use_itimer},
        {"timer", use_timer},
        {"sigwait", use_sigwait},
        {"signalfd", use_signalfd},
        {"ignore", use_ignore},
        {"default", use_default},
        {"raw", use_raw},
        {"block", use_block},
        {"late-thread", use_late_thread},
        {"all-signals", use_all_signals},
    };
    if (argc < 2 || strcmp(argv[1], "block") != 0) {
        burn_and_allocate();
    }
    for (size_t i = 0; i < HOST_LEN(ways); i++) {
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
            ways[i].use();
        }
    }
    burn_and_allocate();
    host_check(strange == 0, "every signal was the program's");
    return host_end("the program's own signals");
}
