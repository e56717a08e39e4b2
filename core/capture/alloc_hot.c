/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/alloc.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/dynsym.h"
#include "core/base/map.h"
#include "core/base/real.h"
#include "core/base/sys.h"
#include "core/capture/altstack.h"
#include "core/capture/arch.h"
#include "core/capture/capture.h"
#include "core/capture/labels.h"
#include "core/capture/random.h"
#include "core/capture/scratch.h"
#include "core/capture/stash.h"
#include "core/capture/unwind.h"
#include "core/ledger/live.h"

#define PAGE ((size_t)4096)
#define TAG_MASK ((uintptr_t)0xfef) /* at 0 or 16 within a page */
#define TAG_MIN_INTERVAL ((uint64_t)256 << 10)
/* From here on malloc may give a mapping of its own. */
#define OWN_MAPPING_MIN ((size_t)128 << 10)
#define NEVER (UINT64_MAX / 2)

/* Of the host's stack, below where it called: what its handlers may want, and some for us. */
#define ROOM_HERE ((size_t)256 << 10)

/* The longest way to the next look at the interval. */
#define PIECE ((uint64_t)4 << 20)

uintptr_t otp_free_mask = UINTPTR_MAX;
uint64_t otp_alloc_intervals[OTP_INTERVALS_MAX];
uint32_t otp_alloc_interval;
static uint32_t interval_count;
static uint32_t is_tagging; /* atomic: ends for good when the interval becomes a fine one */
static bool was_tagging;    /* there are blocks that were made larger than asked for */
static size_t (*usable_size)(void *p);      /* of the blocks that carry a tag; NULL: not known */
static uintptr_t sample_mask = UINTPTR_MAX; /* otp_free_mask, were it for samples alone */
static uint32_t is_watching;                /* atomic, stays: all blocks are looked at */

void otp_alloc_init(void)
{
    is_tagging = otp_settings.heap_interval >= TAG_MIN_INTERVAL && otp_real.tag_memalign != NULL;
    was_tagging = is_tagging != 0;
    otp_alloc_intervals[0] = otp_settings.heap_interval;
    interval_count = 1;
    /* It must be of the allocator that frees. */
    if (otp_dynsym_find("malloc_usable_size", _DYNAMIC).object ==
        otp_dynsym_find("free", _DYNAMIC).object) {
        usable_size = otp_real.malloc_usable_size;
    }
}

/* The exchange is a full barrier: of this and otp_alloc_watch at least one sees the other. */
static void look_for_samples(uintptr_t mask)
{
    otp_store_release(&sample_mask, mask);
    (void)otp_exchange_acq_rel(&otp_free_mask, otp_load_acquire(&is_watching) != 0 ? 0 : mask);
    if (otp_load_acquire(&is_watching) != 0) {
        otp_store_release(&otp_free_mask, 0);
    }
}

void otp_alloc_watch(void)
{
    (void)otp_exchange_acq_rel(&is_watching, 1);
    otp_store_release(&otp_free_mask, 0);
}

void otp_alloc_begin(void)
{
    if (otp_settings.is_heap_on) {
        look_for_samples(otp_load_relaxed(&is_tagging) != 0 ? TAG_MASK : 0);
    }
}

/*
 * Fine samples carry no tag: every free is looked up from here on, and first of all, so that who
 * sees a block without a tag sees that, too. It is not taken back, since such blocks may live on.
 */
static void end_tagging(void)
{
    if (otp_load_relaxed(&sample_mask) != UINTPTR_MAX) {
        look_for_samples(0);
    }
    otp_store_release(&is_tagging, 0);
}

bool otp_alloc_set_interval(uint64_t bytes)
{
    uint32_t n = 0;
    while (n < interval_count && otp_alloc_intervals[n] != bytes) {
        n++;
    }
    if (n == OTP_INTERVALS_MAX) {
        return false;
    }
    if (bytes < TAG_MIN_INTERVAL) {
        end_tagging();
    }
    if (n == interval_count) {
        otp_alloc_intervals[n] = bytes;
        interval_count++;
    }
    otp_store_relaxed(&otp_settings.heap_interval, bytes);
    otp_store_release(&otp_alloc_interval, n); /* pairs: INTERVAL */
    return true;
}

uint32_t otp_alloc_interval_count(void)
{
    return interval_count;
}

static bool has_tags(void)
{
    return otp_load_acquire(&is_tagging) != 0;
}

static bool is_tagged(const void *p)
{
    return ((uintptr_t)p & TAG_MASK) == 0;
}

/* Whether p can be a sampled block: what otp_free_skip tells as long as nothing else is wanted. */
static bool may_be_sample(const void *p)
{
    return ((uintptr_t)p & otp_load_relaxed(&sample_mask)) == 0;
}

/*
 * A program's hottest block may happen to lie where sampled ones do, and each of its frees would be
 * looked up. So each thread remembers a few addresses that it looked up in vain: they stay what
 * they were until another sample is followed, since who looks holds the block. A sample is counted
 * before the host sees it, so a thread that is handed it sees the count as well.
 */
static uint64_t followed;

static struct otp_miss *miss_of(const void *p)
{
    return &otp_tls.misses[(uintptr_t)p / PAGE % OTP_MISSES];
}

static bool is_known_miss(const void *p)
{
    const struct otp_miss *m = miss_of(p);
    return m->addr == (uintptr_t)p && m->followed == otp_load_relaxed(&followed) && has_tags();
}

/* count: of samples, read before p was looked up. */
static void note_miss(const void *p, uint64_t count)
{
    struct otp_miss *m = miss_of(p);
    m->followed = count;
    m->addr = (uintptr_t)p;
}

/* Remembers a block by its address. */
static bool follow(uintptr_t block, const struct otp_live *item)
{
    bool is_followed = otp_live_insert(block, item);
    if (has_tags()) {
        (void)otp_add_acq_rel(&followed, 1);
    }
    return is_followed;
}

/* Bytes until the next sample at the interval of that number. */
static uint64_t draw_at(uint32_t interval)
{
    struct otp_tls *tls = &otp_tls;
    uint64_t mean = otp_alloc_intervals[interval];
    if (mean <= 1) {
        return 0;
    }
    if (OTP_UNLIKELY(tls->random == 0)) {
        tls->random = otp_hash_mix(otp_sys_monotonic_ns(), (uintptr_t)tls);
    }
    return otp_random_gap(&tls->random, mean);
}

void otp_alloc_after_fork(void)
{
    otp_tls.random = 0;
    otp_tls.gap = OTP_GAP_NONE; /* which is what the end of a countdown of 0 leads to */
    otp_tls.countdown = 0;
    otp_tls.is_refused = 0; /* the records of all other threads are free again */
}

/* Draws the next gap, at the interval of now. */
static void draw_gap(void)
{
    uint32_t interval = otp_load_acquire(&otp_alloc_interval); /* pairs: INTERVAL */
    uint64_t gap = draw_at(interval);
    otp_tls.interval = interval;
    otp_tls.gap = gap < PIECE ? OTP_GAP_SAMPLE : OTP_GAP_PIECE;
    otp_tls.countdown = gap < PIECE ? gap : PIECE;
}

/*
 * Whether the allocation that reached the end of the countdown holds the end of the gap. The gaps
 * have no memory: what a piece leaves open is drawn when it is used up, at the interval that this
 * allocation began with; and when that lies behind the allocation, the next one begins with a fresh
 * gap, at whatever the interval is by then.
 */
static bool is_end_of_gap(size_t size)
{
    if (otp_tls.gap == OTP_GAP_NONE) {
        draw_gap();
        if (otp_alloc_skip(size)) {
            return false;
        }
    }
    if (otp_tls.gap == OTP_GAP_PIECE) {
        if (size < otp_tls.countdown + draw_at(otp_tls.interval)) {
            draw_gap();
            return false;
        }
        otp_tls.gap = OTP_GAP_SAMPLE;
    }
    return true;
}

/*
 * Decides anew for a call that reached the slow path. NULL: not sampled, and counted down.
 * Otherwise the thread, inside capture until otp_thread_leave. While dormant the gaps go on, and
 * what they end in is left alone: so samples begin with the start, not a gap after it.
 */
static struct otp_thread *begin(size_t size, const struct otp_regs *regs)
{
    uint32_t state = otp_load_relaxed(&otp_capture_state);
    if (state == OTP_CAPTURE_NOT_YET) {
        return NULL; /* the countdown stays 0, so that each call asks again */
    }
    if (state == OTP_CAPTURE_ENDED || !otp_settings.is_heap_on) {
        otp_tls.countdown = NEVER;
        return NULL;
    }
    if (!is_end_of_gap(size)) {
        return NULL;
    }
    if (state == OTP_CAPTURE_DORMANT) {
        draw_gap();
        return NULL;
    }
    struct otp_thread *t = otp_thread_current();
    if (t == NULL) {
        if (otp_tls.is_refused != 0) {
            otp_tls.countdown = NEVER;
        } else {
            draw_gap();
        }
        return NULL;
    }
    if (!otp_thread_enter(t, otp_regs_sp(regs))) {
        return NULL;
    }
    return t;
}

/* When the booking of a sample began that is measured, 0 of one that is not. What the host's
 * allocator does for the block, such as to clear it, is no cost of ours. */
static uint64_t cost_began(const struct otp_thread *t)
{
    return otp_cost_weight(t->cost.allocs + 1) != 0 ? otp_sys_thread_cpu_ns() : 0;
}

static void note_cost(struct otp_thread *t, uint64_t began_ns)
{
    struct otp_cost *c = &t->cost;
    otp_store_relaxed(&c->allocs, c->allocs + 1);
    if (began_ns != 0) {
        uint64_t one = otp_sys_thread_cpu_ns() - began_ns;
        uint64_t clock = otp_load_relaxed(&otp_cost_clock_ns);
        one = one > clock ? one - clock : 0;
        otp_store_relaxed(&c->alloc_ns, c->alloc_ns + one * otp_cost_weight(c->allocs));
    }
}

/* What the part on the scratch stack needs. */
struct job {
    struct otp_thread *thread;
    struct otp_unwind *unwind;
    uintptr_t block;
    size_t size;
    uint32_t interval; /* of the gap that ended here */
};

/*
 * With timestamps each allocation is an observation of its own. False: there is no room for one, so
 * that it is left to the sums of the ledger. A quarter of the ring is for ticks, which have nothing
 * else.
 */
static bool observe(const struct job *j, const struct otp_live *item, uint32_t depth,
                    const struct otp_tag *tag, size_t tag_bytes)
{
    struct otp_ring *r = otp_thread_ring(j->thread);
    uint64_t used = r == NULL ? 0 : otp_ring_used(r);
    struct otp_record *rec = r == NULL || used > r->size - r->size / 4
                                 ? NULL
                                 : otp_ring_reserve(r, depth, (unsigned)(tag_bytes / 8));
    if (rec == NULL) {
        otp_capture_wake();
        return false;
    }
    rec->type = OTP_RECORD_ALLOC;
    rec->context = otp_load_relaxed(&j->thread->context);
    rec->count = j->interval;
    rec->cpu_ns = item->objects;
    rec->bytes = item->bytes;
    rec->is_cut = otp_unwind_was_cut(j->unwind);
    rec->is_link_lost = tag_bytes != 0 && item->account->tag_bytes == 0;
    rec->time_ns = otp_sys_realtime_ns();
    memcpy(rec->frames, otp_unwind_frames(j->unwind), depth * sizeof(rec->frames[0]));
    memcpy(rec->frames + depth, tag, tag_bytes);
    otp_ring_commit(r, rec);
    otp_thread_wake_at_half(r, used);
    return true;
}

/* The account of the stack, or the one below it for what the thread is doing. */
static struct otp_account *account_of(const struct job *j, uint32_t depth,
                                      const struct otp_tag *tag, size_t tag_bytes)
{
    struct otp_account *a = otp_ledger_account(otp_unwind_frames(j->unwind), depth,
                                               otp_load_relaxed(&j->thread->context), j->interval);
    if (OTP_LIKELY(a == NULL || tag_bytes == 0)) {
        return a;
    }
    struct otp_account *tagged = otp_ledger_tagged(a, tag);
    if (otp_ledger_wants_collection()) {
        otp_capture_wake();
    }
    if (tagged == NULL) {
        otp_count(OTP_COUNT_LINKS, OTP_OF_HEAP, 1);
    }
    return tagged != NULL ? tagged : a;
}

/* Books the block of j with its stack, and the tag if that has bytes. */
static void book_stack(const struct job *j, uint32_t depth, const struct otp_tag *tag,
                       size_t tag_bytes)
{
    uint64_t length = (uint64_t)j->size + 1;
    uint64_t mean = otp_alloc_intervals[j->interval];
    double probability = 1;
    if (mean > 1) {
        probability = otp_one_minus_exp((double)length / (double)mean);
    }
    struct otp_live item = {
        .bytes = otp_random_round(&otp_tls.random, (double)j->size / probability),
        .size = (j->size < OTP_LIVE_SIZE_MAX ? j->size : OTP_LIVE_SIZE_MAX) & OTP_LIVE_SIZE_MAX,
    };
    item.account = account_of(j, depth, tag, tag_bytes);
    if (item.account == NULL) {
        otp_count(OTP_COUNT_LEDGER_FULL, OTP_OF_HEAP, 1);
        return;
    }
    double objects = (double)(1U << OTP_OBJECTS_SHIFT) / probability;
    item.objects = otp_ledger_round(item.account, (uint64_t)(objects + 0.5)) & OTP_LIVE_OBJECTS_MAX;
    if (otp_settings.has_timestamps && observe(j, &item, depth, tag, tag_bytes)) {
        otp_ledger_told(item.account, item.objects, item.bytes);
    }
    otp_ledger_add(item.account, item.objects, item.bytes);
    if ((has_tags() && !is_tagged((void *)j->block)) || !follow(j->block, &item)) {
        otp_ledger_sub(item.account, item.objects, item.bytes); /* cannot be followed: not live */
        otp_count(OTP_COUNT_LIVE_FULL, OTP_OF_HEAP, 1);
    }
}

static void book(void *arg)
{
    struct job *j = arg;
    uint32_t depth = otp_unwind_run(j->unwind);
    struct otp_tag tag;
    size_t tag_bytes = otp_tag_take(&tag) ? otp_tag_bytes(&tag) : 0;
    if (OTP_UNLIKELY(otp_unwind_was_cut(j->unwind))) {
        otp_count(OTP_COUNT_UNWIND_CUT, OTP_OF_HEAP, 1);
    }
    book_stack(j, depth, &tag, tag_bytes);
}

/*
 * Where the thread is on a stack whose bounds are known and that has plenty of room, what most
 * samples need, a walk by rules and the account of a stack without a tag, is done right here, with
 * signals open, as the allocator's own work is: two system calls less, which take as long as all
 * the rest. A handler of the host that comes in between has the room that it would have had, less 4
 * KiB; and all that is touched is shared with other threads anyway and waits for nobody, so a
 * handler that forks, waits, jumps or ends the thread leaves nothing behind but a scratch stack,
 * which its thread's next sample, or the end of its record, gives back. What such a handler does
 * itself is not sampled: with fine intervals that would be most handlers, so there they wait.
 */
static bool book_here(struct otp_thread *t, struct job *j, const struct otp_regs *regs)
{
    uintptr_t sp = otp_regs_sp(regs);
    if (sp >= t->stack_high || sp < t->stack_low || sp - t->stack_low < ROOM_HERE ||
        !has_tags() || otp_settings.has_timestamps || otp_tag_may_be()) {
        return false;
    }
    t->scratch = otp_scratch_claim();
    if (OTP_UNLIKELY(t->scratch == 0)) {
        return false;
    }
    j->unwind = otp_unwind_at(otp_scratch_base(t->scratch));
    otp_unwind_from_call(j->unwind, t, regs);
    uint32_t depth = otp_unwind_try(j->unwind);
    if (depth != 0) {
        book_stack(j, depth, NULL, 0);
    }
    uint32_t taken = t->scratch;
    t->scratch = 0;
    otp_scratch_release(taken);
    return depth != 0;
}

static void book_on_scratch(struct otp_thread *t, struct job *j, const struct otp_regs *regs)
{
    t->scratch = otp_scratch_claim();
    if (OTP_UNLIKELY(t->scratch == 0)) {
        otp_count(OTP_COUNT_NO_SCRATCH, OTP_OF_HEAP, 1);
        return;
    }
    void *base = otp_scratch_base(t->scratch);
    j->unwind = otp_unwind_at(base);
    otp_unwind_from_call(j->unwind, t, regs);
    otp_arch_call_on(otp_unwind_stack_top(base), book, j);
    otp_scratch_release(t->scratch);
    t->scratch = 0;
}

/* Records block (NULL: the allocation failed, nothing is recorded) and leaves capture. */
static void end(struct otp_thread *t, void *block, size_t size, const struct otp_regs *regs)
{
    struct job j = {
        .thread = t, .block = (uintptr_t)block, .size = size, .interval = otp_tls.interval};
    draw_gap();
    if (block == NULL) {
        otp_thread_leave(t);
        return;
    }
    uint64_t began_ns = cost_began(t);
    uint64_t mask;
    if (OTP_LIKELY(book_here(t, &j, regs))) {
        otp_capture_note_sample();
        note_cost(t, began_ns);
        otp_thread_leave(t);
        return;
    }
    if (OTP_UNLIKELY(!otp_sys_block_signals(&mask))) {
        otp_count(OTP_COUNT_NO_SCRATCH, OTP_OF_HEAP, 1);
        otp_thread_leave(t);
        return;
    }
    book_on_scratch(t, &j, regs);
    otp_capture_note_sample();
    note_cost(t, began_ns);
    otp_thread_leave(t);
    otp_sys_restore_signals(mask); /* a tick that has come due in between finds capture left */
}

/* Calls of the host's allocator to itself must neither be counted nor sampled: see I2. */
static uint64_t shield(void)
{
    uint64_t saved = otp_tls.countdown;
    otp_tls.countdown = NEVER;
    return saved;
}

static void unshield(uint64_t saved)
{
    otp_tls.countdown = saved;
}

/* A sampled block that was freed, for the next sample; NULL when none fits. */
static void *kept_block(size_t size)
{
    struct otp_live mark;
    void *p = otp_stash_take(size);
    if (p != NULL) {
        (void)otp_live_remove((uintptr_t)p, &mark);
    }
    return p;
}

/*
 * A kept block or a new one; it falls back to what the host asked for, errno as that leaves it.
 * Small blocks are larger than what glibc keeps in its per-thread cache: from there the next
 * allocation would get the same address, and the thread's hottest block would be looked up at every
 * free although it is not sampled any more.
 */
static void *aligned_block(size_t size)
{
    void *p = kept_block(size);
    if (p != NULL) {
        return p;
    }
    int saved = errno;
    p = otp_real.tag_memalign(PAGE, otp_stash_size(size));
    if (p == NULL) {
        errno = saved;
        p = otp_real.malloc(size);
    }
    return p;
}

/* A block of size bytes whose address tells that it is sampled. */
static void *tagged_malloc(size_t size)
{
    if (!has_tags()) {
        return otp_real.malloc(size);
    }
    if (size >= OWN_MAPPING_MIN) {
        void *p = otp_real.malloc(size);
        if (p == NULL || is_tagged(p)) {
            return p;
        }
        otp_real.free(p);
    }
    return aligned_block(size);
}

static void *tagged_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!has_tags() || __builtin_mul_overflow(count, size, &bytes)) {
        return otp_real.calloc(count, size);
    }
    if (bytes >= OWN_MAPPING_MIN) {
        void *p = otp_real.calloc(count, size); /* fresh pages need no clearing */
        if (p == NULL || is_tagged(p)) {
            return p;
        }
        otp_real.free(p);
    }
    void *p = aligned_block(bytes);
    return p == NULL ? NULL : memset(p, 0, bytes);
}

/* Moves a block that could not be recognised; p itself when there is no memory for that. */
static void *move_to_tagged(void *p, size_t size)
{
    int saved = errno;
    void *q = kept_block(size);
    q = q != NULL ? q : otp_real.tag_memalign(PAGE, otp_stash_size(size));
    errno = saved;
    if (q == NULL) {
        return p;
    }
    memcpy(q, p, size);
    otp_real.free(p);
    return q;
}

size_t otp_alloc_usable(const void *p, size_t usable)
{
    struct otp_live item;
    if (!was_tagging || usable >= OWN_MAPPING_MIN || !may_be_sample(p) ||
        is_known_miss(p)) {
        return usable;
    }
    uint64_t count = otp_load_relaxed(&followed);
    if (!otp_live_find((uintptr_t)p, &item)) {
        note_miss(p, count);
        return usable;
    }
    return item.size < usable ? item.size : usable;
}

/* The mark of a block in the stash: a live object without account. */
static const struct otp_live stashed;

/* What can be used of the block p; 0: not known. */
static size_t bytes_of(void *p)
{
    return usable_size != NULL ? usable_size(p) : 0;
}

/* p is about to be freed: true when threads have lost their alternate stack with it. */
static bool lose_altstack(void *p)
{
    if (OTP_LIKELY(!otp_altstack_is_beyond((uintptr_t)p))) {
        return false;
    }
    size_t bytes = bytes_of(p);
    bool is_small = bytes != 0 && bytes < OTP_ALTSTACK_MIN;
    return OTP_UNLIKELY(!is_small) && otp_altstack_lose((uintptr_t)p, bytes);
}

/* The end of a sampled block. What the allocator is to free: p, NULL, or another block. */
static void *retire(void *p, const struct otp_live *item)
{
    struct otp_live mark;
    otp_ledger_sub(item->account, item->objects, item->bytes);
    if (usable_size == NULL || !has_tags() || !follow((uintptr_t)p, &stashed)) {
        return p;
    }
    void *other = otp_stash_put(p, usable_size(p));
    if (other != NULL) {
        (void)otp_live_remove((uintptr_t)other, &mark);
    }
    return other;
}

void *otp_alloc_release(void *p)
{
    struct otp_live item;
    if (p == NULL) {
        return p;
    }
    (void)lose_altstack(p);
    if (!may_be_sample(p) || is_known_miss(p)) {
        return p;
    }
    uint64_t count = otp_load_relaxed(&followed);
    if (!otp_live_remove((uintptr_t)p, &item)) {
        note_miss(p, count);
        return p;
    }
    if (OTP_UNLIKELY(item.account == NULL)) {
        otp_real.free(p); /* freed twice by the host: the allocator shall see both */
        return p;
    }
    return retire(p, &item);
}

void *otp_sampled_malloc(size_t size, const struct otp_regs *regs);
void *otp_sampled_calloc(size_t count, size_t size, const struct otp_regs *regs);
void *otp_sampled_realloc(void *p, size_t size, const struct otp_regs *regs);
void *otp_sampled_memalign(size_t alignment, size_t size, const struct otp_regs *regs);
void *otp_sampled_aligned_alloc(size_t alignment, size_t size, const struct otp_regs *regs);
int otp_sampled_posix_memalign(void **out, size_t alignment, size_t size,
                               const struct otp_regs *regs);
void *otp_sampled_valloc(size_t size, const struct otp_regs *regs);
void *otp_sampled_pvalloc(size_t size, const struct otp_regs *regs);

void *otp_sampled_malloc(size_t size, const struct otp_regs *regs)
{
    struct otp_thread *t = begin(size, regs);
    if (t == NULL) {
        return otp_real.malloc(size);
    }
    (void)shield();
    void *p = tagged_malloc(size);
    end(t, p, size, regs);
    return p;
}

void *otp_sampled_calloc(size_t count, size_t size, const struct otp_regs *regs)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return otp_real.calloc(count, size);
    }
    struct otp_thread *t = otp_alloc_skip(bytes) ? NULL : begin(bytes, regs);
    uint64_t saved = shield();
    void *p = t == NULL ? otp_real.calloc(count, size) : tagged_calloc(count, size);
    unshield(saved);
    if (t != NULL) {
        end(t, p, bytes, regs);
    }
    return p;
}

/*
 * A small sampled block goes back to the stash when it is reallocated: left where it is, and cut
 * down by the allocator, it would be a small block of the program's for ever, and looked up at each
 * of its frees. NULL: it stays.
 */
static void *move_from_tagged(void *p, const struct otp_live *item, size_t size)
{
    if (usable_size == NULL || !has_tags() || !is_tagged(p) || item->size >= OWN_MAPPING_MIN) {
        return NULL;
    }
    int saved = errno;
    void *q = otp_real.malloc(size);
    if (q == NULL) {
        errno = saved;
        return NULL;
    }
    size_t usable = usable_size(p);
    memcpy(q, p, usable < size ? usable : size);
    otp_real.free(retire(p, item));
    return q;
}

/* Takes the old block's entry out for the call and puts it back when the call fails. */
static void *realloc_followed(void *p, size_t size)
{
    struct otp_live item;
    uint64_t count = otp_load_relaxed(&followed);
    if (p == NULL || !may_be_sample(p) || is_known_miss(p)) {
        return otp_real.realloc(p, size);
    }
    if (!otp_live_remove((uintptr_t)p, &item)) {
        note_miss(p, count);
        return otp_real.realloc(p, size);
    }
    if (item.account == NULL) {
        return otp_real.realloc(p, size); /* freed before by the host */
    }
    void *q = size == 0 ? NULL : move_from_tagged(p, &item, size);
    if (q != NULL) {
        return q;
    }
    q = otp_real.realloc(p, size);
    if (q != NULL || size == 0) {
        otp_ledger_sub(item.account, item.objects, item.bytes);
    } else if (!follow((uintptr_t)p, &item)) {
        otp_ledger_sub(item.account, item.objects, item.bytes);
        otp_count(OTP_COUNT_LIVE_FULL, OTP_OF_HEAP, 1);
    }
    return q;
}

void *otp_sampled_realloc(void *p, size_t size, const struct otp_regs *regs)
{
    struct otp_thread *t = otp_alloc_skip(size) ? NULL : begin(size, regs);
    uint64_t saved = shield();
    bool is_lost = p != NULL && lose_altstack(p);
    void *q = realloc_followed(p, size);
    if (t != NULL && q != NULL && has_tags() && !is_tagged(q)) {
        q = move_to_tagged(q, size);
    }
    if (OTP_UNLIKELY(is_lost) && (q == p || (q == NULL && size != 0))) {
        otp_altstack_keep((uintptr_t)p, bytes_of(p));
    }
    unshield(saved);
    if (t != NULL) {
        end(t, q, size, regs);
    }
    return q;
}

/* A power of two up to a page can be met by a whole page; anything else is passed on as it is. */
static size_t tag_alignment(size_t alignment)
{
    bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    return has_tags() && is_power && alignment < PAGE ? PAGE : alignment;
}

typedef void *(*aligned_fn)(size_t alignment, size_t size);

static void *sampled_aligned(aligned_fn fn, size_t alignment, size_t size,
                             const struct otp_regs *regs)
{
    struct otp_thread *t = otp_alloc_skip(size) ? NULL : begin(size, regs);
    uint64_t saved = shield();
    void *p = fn(t == NULL ? alignment : tag_alignment(alignment), size);
    unshield(saved);
    if (t != NULL) {
        end(t, p, size, regs);
    }
    return p;
}

void *otp_sampled_memalign(size_t alignment, size_t size, const struct otp_regs *regs)
{
    return sampled_aligned(otp_real.memalign, alignment, size, regs);
}

void *otp_sampled_aligned_alloc(size_t alignment, size_t size, const struct otp_regs *regs)
{
    return sampled_aligned(otp_real.aligned_alloc, alignment, size, regs);
}

int otp_sampled_posix_memalign(void **out, size_t alignment, size_t size,
                               const struct otp_regs *regs)
{
    struct otp_thread *t = otp_alloc_skip(size) ? NULL : begin(size, regs);
    bool is_valid = alignment % sizeof(void *) == 0;
    uint64_t saved = shield();
    int r = otp_real.posix_memalign(
        out, t == NULL || !is_valid ? alignment : tag_alignment(alignment), size);
    unshield(saved);
    if (t != NULL) {
        end(t, r == 0 ? *out : NULL, size, regs);
    }
    return r;
}

/* valloc and pvalloc are aligned to a page by themselves. */
static void *sampled_paged(void *(*fn)(size_t size), size_t size, const struct otp_regs *regs)
{
    struct otp_thread *t = otp_alloc_skip(size) ? NULL : begin(size, regs);
    uint64_t saved = shield();
    void *p = fn(size);
    unshield(saved);
    if (t != NULL) {
        end(t, p, size, regs);
    }
    return p;
}

void *otp_sampled_valloc(size_t size, const struct otp_regs *regs)
{
    return sampled_paged(otp_real.valloc, size, regs);
}

void *otp_sampled_pvalloc(size_t size, const struct otp_regs *regs)
{
    return sampled_paged(otp_real.pvalloc, size, regs);
}
