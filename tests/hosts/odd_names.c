/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that names of threads which are no text do not spoil the profile, and reach the program as
 * it made them. */
/* host: rows B127 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects named */
#include "host.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static const char *const names[] = {
    "\xff\xfe\x80\x81", "abcdefghijklm\xc3", "\xe4\xf6\xfc",      "", " ", "a\nb\tc\"'",
    "\xed\xa0\x80",     "\xf4\x90\x80\x80",  "gr\xc3\xbc\xc3\x9f"};

HOST_NOINLINE static void *named(void *arg)
{
    char now[16] = "";
    const char *name = arg;
    free(host_hide(malloc(10)));
    if (strlen(name) % 2 == 0) {
        pthread_setname_np(pthread_self(), name);
    } else {
        prctl(PR_SET_NAME, name);
    }
    free(host_hide(malloc(10)));
    host_burn(5);
    pthread_getname_np(pthread_self(), now, sizeof(now));
    return strcmp(now, name) == 0 ? arg : NULL;
}

/* The kernel looks at 15 bytes: what comes behind them need not be there, nor be a name's end. */
static void *named_at_the_edge(void *arg)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char now[16] = "";
    host_check(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0, "a page without a next");
    memset(pages, 'x', 4096);
    prctl(PR_SET_NAME, pages + 4096 - 15);
    free(host_hide(malloc(10)));
    pthread_getname_np(pthread_self(), now, sizeof(now));
    host_check(strcmp(now, "xxxxxxxxxxxxxxx") == 0, "15 bytes are the name");
    munmap(pages, 4096);
    return arg;
}

int main(void)
{
    int good = 0;
    pthread_t edge;
    pthread_create(&edge, NULL, named_at_the_edge, NULL);
    pthread_join(edge, NULL);
    for (size_t i = 0; i < HOST_LEN(names); i++) {
        pthread_t t;
        void *result = NULL;
        pthread_create(&t, NULL, named, (void *)(size_t)names[i]);
        pthread_join(t, &result);
        good += result != NULL;
    }
    host_check(good == HOST_LEN(names), "every name is as it was set");
    host_check(pthread_setname_np(pthread_self(), "a name that is too long") != 0,
               "one that is too long is refused");
    return host_end("names of all kinds");
}
