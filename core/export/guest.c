/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/guest.h"

#include <string.h>

#include "core/base/civil.h"
#include "core/base/sort.h"
#include "core/base/sys.h"

#define SECOND_NS UINT64_C(1000000000)

static struct otp_heap *guest_heap;

void otp_guest_use(struct otp_heap *heap)
{
    guest_heap = heap;
}

void *otp_guest_malloc(size_t size)
{
    return guest_heap == NULL ? NULL : otp_heap_alloc(guest_heap, size);
}

void *otp_guest_calloc(size_t count, size_t size)
{
    return guest_heap == NULL ? NULL : otp_heap_calloc(guest_heap, count, size);
}

void *otp_guest_realloc(void *p, size_t size)
{
    return guest_heap == NULL ? NULL : otp_heap_realloc(guest_heap, p, size);
}

void otp_guest_free(void *p)
{
    if (guest_heap != NULL) {
        otp_heap_free(guest_heap, p);
    }
}

time_t otp_guest_time(time_t *out)
{
    time_t now = (time_t)(otp_sys_realtime_ns() / SECOND_NS);
    if (out != NULL) {
        *out = now;
    }
    return now;
}

struct tm *otp_guest_gmtime_r(const time_t *t, struct tm *out)
{
    struct otp_civil c = otp_civil_of(*t < 0 ? 0 : (uint64_t)*t);
    memset(out, 0, sizeof(*out));
    out->tm_year = (int)c.year - 1900;
    out->tm_mon = (int)c.month - 1;
    out->tm_mday = (int)c.day;
    out->tm_hour = (int)c.hour;
    out->tm_min = (int)c.minute;
    out->tm_sec = (int)c.second;
    return out;
}

int otp_guest_clock_gettime(int clock, struct timespec *out)
{
    uint64_t now = clock == CLOCK_REALTIME ? otp_sys_realtime_ns() : otp_sys_monotonic_ns();
    out->tv_sec = (time_t)(now / SECOND_NS);
    out->tv_nsec = (long)(now % SECOND_NS);
    return 0;
}

struct sorter {
    int (*cmp)(const void *a, const void *b);
};

static int compare(const void *a, const void *b, void *arg)
{
    const struct sorter *s = arg;
    return s->cmp(a, b);
}

void otp_guest_qsort(void *items, size_t count, size_t size,
                     int (*cmp)(const void *a, const void *b))
{
    struct sorter s = {.cmp = cmp};
    otp_sort(items, count, size, compare, &s);
}
