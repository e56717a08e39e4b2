/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/cost.h"

#include <stddef.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/capture/thread.h"

#define CALIBRATIONS 16

static struct otp_cost gone; /* of threads that are */

static void add(struct otp_cost *sum, const struct otp_cost *c)
{
    sum->ticks += otp_load_relaxed(&c->ticks);
    sum->tick_ns += otp_load_relaxed(&c->tick_ns);
    sum->allocs += otp_load_relaxed(&c->allocs);
    sum->alloc_ns += otp_load_relaxed(&c->alloc_ns);
}

void otp_cost_calibrate(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < CALIBRATIONS; i++) {
        uint64_t from = otp_sys_thread_cpu_ns();
        uint64_t took = otp_sys_thread_cpu_ns() - from;
        least = took < least ? took : least;
    }
    otp_store_relaxed(&otp_cost_clock_ns, least);
}

void otp_cost_total(struct otp_cost *out)
{
    struct otp_thread *t;
    *out = gone;
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        add(out, &t->cost);
    }
}

void otp_cost_retire(struct otp_thread *t)
{
    add(&gone, &t->cost);
    memset(&t->cost, 0, sizeof(t->cost));
}

void otp_cost_forget(void)
{
    struct otp_thread *t;
    memset(&gone, 0, sizeof(gone));
    for (uint32_t n = 0; (t = otp_thread_get(n)) != NULL; n++) {
        memset(&t->cost, 0, sizeof(t->cost));
    }
}
