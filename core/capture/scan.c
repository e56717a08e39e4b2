/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/scan.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/atomic.h"
#include "core/base/fmt.h"
#include "core/base/map.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/names.h"
#include "core/capture/thread.h"
#include "core/capture/timer.h"

#define TASKS "/proc/self/task"
#define MAX_SUSPECTS 256U
#define NEWBORN_NS 1000000 /* CPU time by which a thread has made itself known */

/* The kernel's directory entry. Source: getdents(2). */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t len;
    uint8_t type;
    char name[];
};

struct known {
    struct otp_map map; /* of tids */
    int32_t *tids;
    uint32_t count;
};

static int32_t suspects[MAX_SUSPECTS]; /* unknown at the last look */
static uint32_t suspect_count;

static bool is_tid(const void *ctx, uint32_t id, const void *key)
{
    const struct known *k = ctx;
    return k->tids[id] == *(const int32_t *)key;
}

/* Threads with a record that has a timer, or that shall have none. */
static uint32_t count_known(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0;; i++) {
        struct otp_thread *t = otp_thread_get(i);
        if (t == NULL) {
            return n;
        }
        n += otp_load_relaxed(&t->state) == OTP_THREAD_LIVE && otp_thread_is_told(t);
    }
}

static bool collect_known(struct known *k, uint32_t room)
{
    for (uint32_t i = 0; k->count < room; i++) {
        struct otp_thread *t = otp_thread_get(i);
        if (t == NULL) {
            return true;
        }
        int32_t tid = otp_load_acquire(&t->tid); /* pairs: THREAD-TID */
        bool is_known = otp_thread_is_told(t);
        uint32_t state = otp_load_relaxed(&t->state);
        /* An ended thread keeps its number until it is gone: it must not come back as a stranger.
         */
        if (tid != 0 && ((state == OTP_THREAD_LIVE && is_known) || state == OTP_THREAD_ENDED)) {
            k->tids[k->count] = tid;
            if (!otp_map_add(&k->map, otp_hash_mix(0, (uint64_t)tid), k->count)) {
                return false;
            }
            k->count++;
        }
    }
    return true;
}

static bool was_suspect(const int32_t *before, uint32_t count, int32_t tid)
{
    for (uint32_t i = 0; i < count; i++) {
        if (before[i] == tid) {
            return true;
        }
    }
    return false;
}

/*
 * A thread of the thread library that waits for its first moment on a CPU looks like a stranger,
 * for long when the machine is busy. It makes itself known within that moment.
 */
static bool has_run(int32_t tid)
{
    struct timespec used;
    long clock = (long)(int32_t)((~(uint32_t)tid << 3) | 6U); /* linux/posix-timers.h */
    return OTP_SYS2(SYS_clock_gettime, clock, &used) == 0 &&
           (used.tv_sec > 0 || used.tv_nsec >= NEWBORN_NS);
}

/*
 * A thread that came into being while samples were taken has been running unseen since then: what
 * it used until now is due at its first sample.
 */
static void adopt(int32_t tid, bool is_from_birth)
{
    struct otp_thread *t = otp_thread_claim();
    if (t == NULL) {
        return;
    }
    t->is_adopted = 1;
    otp_store_release(&t->tid, tid); /* pairs: THREAD-TID */
    t->random = otp_hash_mix(otp_sys_monotonic_ns(), (uint64_t)tid);
    otp_names_refresh(t);
    /* It may have made itself known since the known ones were collected. */
    if (!otp_timer_may_adopt(t) ||
        !(is_from_birth ? otp_timer_start_from_birth(t) : otp_timer_start(t))) {
        otp_thread_unclaim(t);
    }
}

static void look(const struct known *k, int fd, const struct otp_scan *scan)
{
    static union {
        char bytes[4096];
        uint64_t align;
    } page;
    int32_t before[MAX_SUSPECTS];
    uint32_t before_count = suspect_count;
    memcpy(before, suspects, sizeof(before));
    suspect_count = 0;
    long n;
    while ((n = OTP_SYS3(SYS_getdents64, fd, page.bytes, sizeof(page.bytes))) > 0) {
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(const void *)(page.bytes + at);
            at += e->len;
            uint64_t value;
            if (!otp_fmt_parse_u64(e->name, strlen(e->name), &value)) {
                continue;
            }
            int32_t tid = (int32_t)value;
            uint64_t hash = otp_hash_mix(0, value);
            if (tid == scan->own_tid ||
                otp_map_find(&k->map, hash, &tid, is_tid, k) != OTP_MAP_NONE) {
                continue;
            }
            bool is_again = was_suspect(before, before_count, tid);
            if (is_again && has_run(tid)) {
                adopt(tid, scan->is_from_birth);
            } else if (!is_again && suspect_count < MAX_SUSPECTS) {
                suspects[suspect_count++] = tid;
            }
        }
    }
}

bool otp_scan_threads(struct otp_heap *heap, const struct otp_scan *scan)
{
    struct stat st;
    if (!otp_settings.is_cpu_on || !otp_capture_is_on() ||
        OTP_SYS4(SYS_newfstatat, AT_FDCWD, TASKS, &st, 0) < 0) {
        return false;
    }
    /* The folder has one link for each thread, and two of its own. */
    uint32_t known_count = count_known();
    if ((uint64_t)st.st_nlink <= (uint64_t)known_count + 3) {
        suspect_count = 0;
        return false;
    }
    uint32_t room = known_count + 4096;
    struct known k = {.tids = otp_heap_alloc(heap, room * sizeof(int32_t))};
    otp_map_init(&k.map, heap);
    int fd = otp_sys_open(TASKS, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0 && k.tids != NULL && collect_known(&k, room)) {
        look(&k, fd, scan);
    }
    if (fd >= 0) {
        otp_sys_close(fd);
    }
    otp_map_fini(&k.map);
    otp_heap_free(heap, k.tids);
    return suspect_count > 0;
}
