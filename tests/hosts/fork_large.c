/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that fork of a large process comes to its end under ticks at the highest rate, next to
 * threads that burn. */
/* host: rows B32 B39 */
/* host: set OTELPROF_HEAP_INTERVAL=64k OTELPROF_CPU_HZ=10000 */
/* host: sees cpu burner */
#include "host.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define BYTES ((size_t)256 << 20)
#define FORKS 20

static int is_done;

HOST_NOINLINE static void *burner(void *arg)
{
    while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
        host_burn(5);
        free(host_hide(malloc(100000)));
    }
    return arg;
}

int main(void)
{
    pthread_t t[2];
    int good = 0;
    char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, BYTES, MADV_NOHUGEPAGE);
    memset(p, 1, BYTES);
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, burner, NULL);
    }
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            _exit(p[i * 4096] == 1 ? 7 : 8);
        }
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    host_check(good == FORKS, "every child ended as it wanted");
    return host_end("20 forks of 256 MiB");
}
