/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose thread-local data is too large for the static block, so that its first use in a
 * thread allocates. */
#include <stddef.h>

static __thread char big[300000];

char *big_tls(size_t i);
char *big_tls(size_t i)
{
    return &big[i % sizeof(big)];
}
