/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the host would have called if the profiler were not there: those of the next
 * object in the loader's order that defines them (libc, or an allocator preloaded behind us).
 *
 * The allocator's members can be called at any time: before they are looked up they point to a
 * function that looks them up first. A member for which nothing was found stays NULL: an old libc
 * does not have it, or has it in a library of its own (threads, timers and dlclose before glibc
 * 2.34) that this program has not loaded so far. OTP_REAL asks again.
 */
#ifndef OTP_BASE_REAL_H
#define OTP_BASE_REAL_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

struct __jmp_buf_tag;
struct dl_phdr_info;
struct epoll_event;
struct pollfd;

struct otp_real {
    /* The allocator: touched by every call, so together in one cache line. */
    void *(*malloc)(size_t size);
    void (*free)(void *p);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *p, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    int (*posix_memalign)(void **out, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    size_t (*malloc_usable_size)(void *p);
    /* A memalign whose blocks this free accepts, or NULL; see otp_real_init. */
    void *(*tag_memalign)(size_t alignment, size_t size);
    int (*clone)(int (*start)(void *), void *stack, int flags, void *arg, ...);
    int (*pthread_create)(pthread_t *out, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
    void (*pthread_exit)(void *result);
    int (*pthread_setname_np)(pthread_t thread, const char *name);
    int (*pthread_attr_getstacksize)(const pthread_attr_t *attr, size_t *out_size);
    int (*pthread_key_create)(pthread_key_t *out, void (*destructor)(void *value));
    int (*pthread_setspecific)(pthread_key_t key, const void *value);
    int (*thrd_create)(unsigned long *out, int (*start)(void *), void *arg);
    int (*prctl)(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
    int (*dlclose)(void *handle);
    void (*exit_now)(int status); /* _exit */
    void (*exit_std)(int status); /* _Exit */
    void (*abort)(void);
    void (*assert_fail)(const char *assertion, const char *file, unsigned line,
                        const char *function);
    int (*daemon)(int keep_folder, int keep_files);
    pid_t (*fork_alone)(void); /* _Fork, glibc 2.34 */
    int (*chroot)(const char *path);
    int (*unshare)(int flags);
    int (*setns)(int fd, int kind);
    long (*syscall)(long number, ...);
    int (*execve)(const char *path, char *const argv[], char *const envp[]);
    int (*execv)(const char *path, char *const argv[]);
    int (*execvp)(const char *file, char *const argv[]);
    int (*execvpe)(const char *file, char *const argv[], char *const envp[]);
    int (*fexecve)(int fd, char *const argv[], char *const envp[]);
    int (*execveat)(int dirfd, const char *path, char *const argv[], char *const envp[], int flags);
    int (*sigaction)(int signo, const struct sigaction *act, struct sigaction *old);
    void (*(*signal)(int signo, void (*handler)(int)))(int);
    void (*(*sysv_signal)(int signo, void (*handler)(int)))(int);
    void (*(*sigset)(int signo, void (*handler)(int)))(int);
    int (*setitimer)(int which, const struct itimerval *value, struct itimerval *old);
    int (*timer_create)(clockid_t clock, struct sigevent *event, timer_t *out);
    int (*sigwait)(const sigset_t *set, int *out_signo);
    int (*sigwaitinfo)(const sigset_t *set, siginfo_t *info);
    int (*sigtimedwait)(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);
    int (*signalfd)(int fd, const sigset_t *set, int flags);
    int (*sigpending)(sigset_t *set);
    int (*ppoll)(struct pollfd *fds, unsigned long count, const struct timespec *timeout,
                 const sigset_t *mask);
    int (*ppoll_chk)(struct pollfd *fds, unsigned long count, const struct timespec *timeout,
                     const sigset_t *mask, size_t bytes);
    int (*pselect)(int count, fd_set *reads, fd_set *writes, fd_set *errors,
                   const struct timespec *timeout, const sigset_t *mask);
    int (*epoll_pwait)(int epfd, struct epoll_event *events, int count, int timeout,
                       const sigset_t *mask);
    int (*epoll_pwait2)(int epfd, struct epoll_event *events, int count,
                        const struct timespec *timeout, const sigset_t *mask);
    int (*sigsuspend)(const sigset_t *mask);
    int (*sigaltstack)(const stack_t *stack, stack_t *old);
    int (*munmap)(void *addr, size_t bytes);
    void *(*mremap)(void *addr, size_t bytes, size_t new_bytes, int flags, void *new_addr);
    int (*mprotect)(void *addr, size_t bytes, int rights);
    void *(*mmap)(void *addr, size_t bytes, int rights, int flags, int fd, off_t offset);
    int (*siginterrupt)(int signo, int is_interrupting);
    int (*sigprocmask)(int how, const sigset_t *set, sigset_t *old);
    int (*pthread_sigmask)(int how, const sigset_t *set, sigset_t *old);
    void (*longjmp)(struct __jmp_buf_tag *env, int value);
    void (*longjmp_chk)(struct __jmp_buf_tag *env, int value);
    int (*sigignore)(int signo);
    void (*monstartup)(unsigned long low, unsigned long high);
    int (*profil)(unsigned short *counts, size_t bytes, size_t offset, unsigned scale);
    /* Not interposed, but looked up in the same way since old libcs lack them. */
    int (*find_object)(void *pc, void *result); /* _dl_find_object, glibc 2.35 */
    int (*at_quick_exit)(void (*fn)(void *), void *dso);
    int (*iterate_objects)(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *arg),
                           void *arg); /* dl_iterate_phdr */
};

extern struct otp_real otp_real;

/*
 * Looks everything up; does nothing the second time. Takes no lock and allocates nothing: two
 * threads that come here at once write the same values. Context: init, and hot during start-up.
 */
void otp_real_init(void);

/*
 * A member that may be in a library which the program has loaded since, or NULL. Only for calls
 * that the host cannot make from a signal handler or out of the loader: where the member is NULL
 * the loader's list of objects is read under its lock.
 */
#define OTP_REAL(member)                                                                           \
    (otp_real.member != NULL                                                                       \
         ? otp_real.member                                                                         \
         : (__typeof__(otp_real.member))otp_real_late(offsetof(struct otp_real, member)))

/* What OTP_REAL calls. */
typedef void (*otp_any_function)(void);
otp_any_function otp_real_late(size_t member);

#endif
