/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that names of threads which are no text do not spoil the profile, and reach the program as
 * it made them. */
/* host: rows B127 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects named */
#include "host.h"

#include <pthread.h>
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

int main(void)
{
    int good = 0;
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
