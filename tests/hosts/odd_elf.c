/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that an executable with the old hash table only, fixed addresses and a copy of environ in
 * its own data runs as ever. */
/* host: rows B12 B91 */
/* host: flags -no-pie -fno-pic -Wl,--hash-style=sysv -Wl,-z,norelro -Wl,-z,lazy */
/* host: set OTELPROF_HEAP_INTERVAL=1 */
/* host: sees alloc_objects odd_allocates */
#include "host.h"

extern char **environ;

HOST_NOINLINE static void *odd_allocates(void)
{
    return host_hide(malloc(100));
}

int main(void)
{
    int count = 0;
    for (int i = 0; i < 100; i++) {
        free(odd_allocates());
    }
    for (char **e = environ; *e != NULL; e++) {
        count += strncmp(*e, "HOST_LIBS=", 10) == 0;
    }
    host_check(count == 1, "environ has what was set");
    setenv("ODD", "1", 1);
    host_check(getenv("ODD") != NULL, "and what is set");
    environ = NULL;
    host_check(getenv("ODD") == NULL, "and nothing when it is gone");
    free(odd_allocates());
    return host_end("an executable of the old kind");
}
