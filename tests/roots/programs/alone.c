/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program which needs nothing but libc, without threads, timers or dlopen of its own,
 * is profiled through fork, exec and the conversions for which an old libc loads objects by itself.
 */
#define _GNU_SOURCE
#include "common.h"

#include <iconv.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

static sigjmp_buf back;
static volatile sig_atomic_t alarms;

static void on_signal(int signo)
{
    (void)signo;
    alarms++;
    siglongjmp(back, 1);
}

static void convert(void)
{
    char in[] = "abc";
    char out[64];
    char *from = in;
    char *to = out;
    size_t left = 3;
    size_t room = sizeof(out);
    iconv_t c = iconv_open("UTF-16LE", "ISO-8859-2");
    if (c == (iconv_t)-1) {
        puts("no conversion");
        return;
    }
    printf("converted %d, ", (int)iconv(c, &from, &left, &to, &room));
    printf("%d bytes\n", (int)(to - out));
    iconv_close(c);
}

static void jump(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &sa, NULL);
    for (int i = 0; i < 3; i++) {
        if (sigsetjmp(back, 1) == 0) {
            raise(SIGUSR1);
        }
    }
    printf("signals: %d\n", (int)alarms);
}

int main(int argc, char **argv)
{
    int status = 0;
    burn_here(100);
    allocate_here(50);
    if (argc > 1) {
        puts("executed");
        return 3;
    }
    convert();
    printf("user %s\n", getpwuid(0) == NULL ? "unknown" : "known");
    jump();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        burn_here(100);
        allocate_here(50);
        _exit(5);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
    char *const again[] = {argv[0], "again", NULL};
    execv(argv[0], again);
    return 9;
}
