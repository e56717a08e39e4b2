/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/sort.h"

#include <string.h>

struct job {
    char *items;
    size_t size;
    otp_sort_cmp cmp;
    void *arg;
};

static void sift_down(const struct job *j, size_t root, size_t count)
{
    char tmp[64];
    memcpy(tmp, j->items + root * j->size, j->size);
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count &&
            j->cmp(j->items + child * j->size, j->items + (child + 1) * j->size, j->arg) < 0) {
            child++;
        }
        if (j->cmp(tmp, j->items + child * j->size, j->arg) >= 0) {
            break;
        }
        memcpy(j->items + root * j->size, j->items + child * j->size, j->size);
        root = child;
    }
    memcpy(j->items + root * j->size, tmp, j->size);
}

void otp_sort(void *items, size_t count, size_t size, otp_sort_cmp cmp, void *arg)
{
    struct job j = {.items = items, .size = size, .cmp = cmp, .arg = arg};
    char tmp[64];
    if (count < 2 || size == 0 || size > sizeof(tmp)) {
        return;
    }
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(&j, i, count);
    }
    for (size_t end = count - 1; end > 0; end--) {
        memcpy(tmp, j.items, size);
        memcpy(j.items, j.items + end * size, size);
        memcpy(j.items + end * size, tmp, size);
        sift_down(&j, 0, end);
    }
}
