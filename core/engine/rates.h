/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How finely is sampled: what the settings ask for, divided by what the budget allows. The settings
 * (otp_engine.conf) can be changed while the process runs; both changes come through here.
 */
#ifndef OTP_ENGINE_RATES_H
#define OTP_ENGINE_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture/cost.h"
#include "core/conf/conf.h"

/* What profiling has cost this process so far. */
struct otp_spent {
    struct otp_cost threads;
    uint64_t worker_ns;
    uint64_t total_ns; /* of both */
    uint64_t process_ns;
};

/* Whether perf events are wanted for that period: by themselves only where the timers, which tick
 * with the kernel, are too coarse for it, and the budget has room for them. Context: any. */
bool otp_rates_want_perf(const struct otp_conf *conf, uint64_t period_ns);
/* Finds out what perf events cost here, once, before the first is opened; false: they are not
 * wanted then. */
bool otp_rates_weigh_perf(void);
/* The period of that rate. Context: any. */
uint64_t otp_rates_period_ns(uint32_t hz, uint32_t level);

/* A worker begins: the budget counts from now on. Context: worker, as all of these. */
void otp_rates_open(void);
/* Once a second while samples are taken. */
void otp_rates_step(void);
/* Samples are taken again: what was before is forgotten. */
void otp_rates_resume(void);
/*
 * Puts otp_engine.conf into effect. False: the heap interval stays as it is, since the process has
 * used too many different ones.
 */
bool otp_rates_apply(void);
/* Halvings that the budget demands at present. */
uint32_t otp_rates_level(void);
/* Share of the process's CPU time that profiling cost in about the last minute, in millionths. */
uint64_t otp_rates_spent_ppm(void);
void otp_rates_spent(struct otp_spent *out);

#endif
