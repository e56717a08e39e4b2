/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/budget.h"

#include <string.h>

#define MEMORY_NS 60e9
/* Free each second: what the worker needs to be there at all, which no rate changes. */
#define FLOOR 0.0005
/* What may be spent before it was earned, in CPU time of the process: a start has costs of its own.
 */
#define HEAD_START_NS 2e9
#define CALM_STEPS 10U /* before the rates go up */
#define ROOM 0.8       /* of the budget, that twice the cost must fit into */
#define JUMP_MAX 3U    /* levels in one step */

void otp_budget_init(struct otp_budget *b, uint32_t ppm, uint32_t level,
                     const struct otp_budget_reading *now)
{
    memset(b, 0, sizeof(*b));
    b->ppm = ppm;
    b->level = level;
    b->last = *now;
}

/* Clocks of other threads may be read a little out of order. */
static double since(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0;
}

static void remember(struct otp_budget *b, const struct otp_budget_reading *now)
{
    double wall = since(now->wall_ns, b->last.wall_ns);
    double process = since(now->process_ns, b->last.process_ns);
    double cost = since(now->cost_ns, b->last.cost_ns);
    double keep = wall < MEMORY_NS ? 1 - wall / MEMORY_NS : 0;
    b->spent_ns = b->spent_ns * keep + cost;
    b->process_ns = b->process_ns * keep + (process > cost ? process - cost : 0);
    b->wall_ns = b->wall_ns * keep + wall;
    b->last = *now;
}

static double allowed(const struct otp_budget *b)
{
    double share = (double)b->ppm / 1e6;
    return share * (b->process_ns + HEAD_START_NS) + FLOOR * b->wall_ns;
}

static void change(struct otp_budget *b, uint32_t level, double expected)
{
    b->level = level;
    b->calm = 0;
    b->spent_ns *= expected;
}

uint32_t otp_budget_step(struct otp_budget *b, const struct otp_budget_reading *now)
{
    remember(b, now);
    double most = allowed(b);
    b->calm++;
    uint32_t up = 0;
    double expected = 1;
    while (b->spent_ns * expected > most && up < JUMP_MAX && b->level + up < OTP_BUDGET_LEVEL_MAX) {
        up++;
        expected /= 2;
    }
    if (up > 0) {
        change(b, b->level + up, expected);
    } else if (b->level > 0 && b->calm > CALM_STEPS && b->spent_ns * 2 < most * ROOM) {
        change(b, b->level - 1, 2);
    }
    return b->level;
}

uint64_t otp_budget_spent_ppm(const struct otp_budget *b)
{
    double process = b->process_ns > 1e6 ? b->process_ns : 1e6;
    return (uint64_t)(b->spent_ns / process * 1e6);
}
