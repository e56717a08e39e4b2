/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that calls which the kernel never restarts come to their own end, with their own result,
 * in threads that use so much CPU time that ticks come all the time.
 */
/* host: rows B46 B47 B48 B49 B50 B51 B52 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=5000 */
/* host: sees cpu keep_busy */
#include "host.h"

#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ROUNDS 60
#define MS 1000000L

static int pair[2];
static int epoll_fd;
static int sems;
static int queue;
static int listener;
static struct sockaddr_in address;

struct call {
    const char *name;
    int (*run)(void); /* 0: as it should be */
};

HOST_NOINLINE static void keep_busy(void)
{
    for (int i = 0; i < 300000; i++) {
        __asm__ volatile("" ::: "memory");
    }
    free(host_hide(malloc(100)));
}

static int run_poll(void)
{
    struct pollfd p = {.fd = pair[0], .events = POLLIN};
    return poll(&p, 1, 1);
}

static int run_ppoll(void)
{
    struct pollfd p = {.fd = pair[0], .events = POLLIN};
    struct timespec ts = {0, MS};
    sigset_t none;
    sigemptyset(&none);
    return ppoll(&p, 1, &ts, &none);
}

static int run_select(void)
{
    fd_set set;
    struct timeval tv = {0, 1000};
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    return select(pair[0] + 1, &set, NULL, NULL, &tv);
}

static int run_pselect(void)
{
    fd_set set;
    struct timespec ts = {0, MS};
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    return pselect(pair[0] + 1, &set, NULL, NULL, &ts, NULL);
}

static int run_epoll(void)
{
    struct epoll_event e;
    return epoll_wait(epoll_fd, &e, 1, 1);
}

static int run_epoll_pwait(void)
{
    struct epoll_event e;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(epoll_fd, &e, 1, 1, &none);
}

static int run_nanosleep(void)
{
    struct timespec ts = {0, MS};
    struct timespec left = {7, 7};
    long before = host_now_ms();
    int r = nanosleep(&ts, &left);
    return r != 0 || left.tv_sec != 7 || host_now_ms() < before;
}

static int run_clock_nanosleep(void)
{
    struct timespec ts = {0, MS};
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static int run_usleep(void)
{
    return usleep(1000);
}

static int run_semtimedop(void)
{
    struct sembuf b = {.sem_num = 0, .sem_op = -1};
    struct timespec ts = {0, MS};
    return semtimedop(sems, &b, 1, &ts) == -1 && errno == EAGAIN ? 0 : 1;
}

static int run_receive_timeout(void)
{
    char c;
    return recv(pair[0], &c, 1, 0) == -1 && errno == EAGAIN ? 0 : 1;
}

static int run_message(void)
{
    struct {
        long type;
        char text[8];
    } m = {.type = 1};
    if (msgsnd(queue, &m, sizeof(m.text), 0) != 0) {
        return 1;
    }
    return msgrcv(queue, &m, sizeof(m.text), 0, 0) == sizeof(m.text) ? 0 : 1;
}

static int run_sem_timedwait(void)
{
    sem_t s;
    struct timespec ts;
    sem_init(&s, 0, 0);
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += MS;
    ts.tv_sec += ts.tv_nsec / 1000000000;
    ts.tv_nsec %= 1000000000;
    int r = sem_timedwait(&s, &ts);
    return r == -1 && errno == ETIMEDOUT ? 0 : 1;
}

static int run_futex(void)
{
    int word = 0;
    struct timespec ts = {0, MS};
    return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts) == -1 && errno == ETIMEDOUT ? 0
                                                                                             : 1;
}

static int run_sigtimedwait(void)
{
    sigset_t set;
    struct timespec ts = {0, MS};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &ts) == -1 && errno == EAGAIN ? 0 : 1;
}

static int run_connect(void)
{
    int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int r = connect(s, (struct sockaddr *)&address, sizeof(address));
    int is_good = r == 0 || errno == EINPROGRESS;
    struct pollfd p = {.fd = s, .events = POLLOUT};
    is_good = is_good && poll(&p, 1, 10000) == 1;
    int peer = accept(listener, NULL, NULL);
    is_good = is_good && peer >= 0;
    close(peer);
    close(s);
    return !is_good;
}

static const struct call calls[] = {
    {"poll", run_poll},
    {"ppoll", run_ppoll},
    {"select", run_select},
    {"pselect", run_pselect},
    {"epoll_wait", run_epoll},
    {"epoll_pwait", run_epoll_pwait},
    {"nanosleep", run_nanosleep},
    {"clock_nanosleep", run_clock_nanosleep},
    {"usleep", run_usleep},
    {"semtimedop", run_semtimedop},
    {"recv with a timeout", run_receive_timeout},
    {"msgrcv", run_message},
    {"sem_timedwait", run_sem_timedwait},
    {"futex", run_futex},
    {"sigtimedwait", run_sigtimedwait},
    {"connect, poll, accept", run_connect},
};

static int prepare(void)
{
    struct epoll_event e = {.events = EPOLLIN};
    struct timeval tv = {0, 1000};
    socklen_t len = sizeof(address);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pair[0], &e);
    sems = semget(IPC_PRIVATE, 1, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sems >= 0 && queue >= 0 &&
           bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
           getsockname(listener, (struct sockaddr *)&address, &len) == 0 &&
           listen(listener, 16) == 0;
}

/* A thread in the blocking forms, which have no end of their own; whoever writes is the end. */
static void *block(void *arg)
{
    int *ends = arg;
    char c;
    long wrong = 0;
    while (read(ends[0], &c, 1) == 1) {
        keep_busy();
        wrong += c != 'x';
    }
    return wrong == 0 ? arg : NULL;
}

int main(void)
{
    int ends[2];
    pthread_t t;
    void *result = NULL;
    host_check(prepare(), "the objects to wait for can be made");
    host_check(pipe(ends) == 0 && pthread_create(&t, NULL, block, ends) == 0, "a reader");
    for (size_t k = 0; k < HOST_LEN(calls); k++) {
        int wrong = 0;
        for (int i = 0; i < ROUNDS; i++) {
            keep_busy();
            wrong += calls[k].run() != 0;
            wrong += write(ends[1], "x", 1) != 1;
        }
        host_check(wrong == 0, calls[k].name);
    }
    close(ends[1]);
    pthread_join(t, &result);
    host_check(result == ends, "the reader saw each byte");
    host_check(sleep(1) == 0, "sleep sleeps to its end");
    semctl(sems, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    return host_end("16 kinds of waiting, 60 times each");
}
