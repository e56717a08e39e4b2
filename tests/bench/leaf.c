/* SPDX-License-Identifier: Apache-2.0 */
/* An object with an allocation in it, of which objects.c loads many copies. */
#include <stdlib.h>

void leaf(void);
static void *volatile sink;

void leaf(void)
{
    sink = malloc(64);
    free(sink);
}
