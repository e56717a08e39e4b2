/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As libc's own, this calls the realloc that comes first, by the loader's table: it is that of the
 * allocator which has made the block, and need not be the one of this library. So it stands in a
 * file without that one.
 */
#include <errno.h>
#include <stddef.h>

#include "core/base/annot.h"

OTP_EXPORT void *realloc(void *p, size_t size);
OTP_EXPORT void *reallocarray(void *p, size_t count, size_t size);

void *reallocarray(void *p, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}
