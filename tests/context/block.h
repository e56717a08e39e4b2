/* SPDX-License-Identifier: Apache-2.0 */
/* The place where these programs allocate; profiles name it. */
#ifndef CONTEXT_BLOCK_H
#define CONTEXT_BLOCK_H

#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void *make_block(size_t size);

__attribute__((noinline)) void *make_block(size_t size)
{
    void *p = malloc(size);
    if (p == NULL) {
        exit(2);
    }
    memset(p, 1, size);
    return p;
}

#endif
