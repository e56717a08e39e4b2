/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of the data on the worker's side. This is the one place that knows all stages: it takes
 * records from the rings and sums from the ledger, has them interned and named, tells them to the
 * builder, and gives the bytes to the sinks. No stage calls the next.
 */
#ifndef OTP_ENGINE_PIPELINE_H
#define OTP_ENGINE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes everything ready; false: no memory. Context: worker. */
bool otp_pipeline_open(void);
/* Empties the rings into the time table, and takes back the records of threads that are gone. */
void otp_pipeline_drain(void);
/* Takes what threads are behind by; all that is due of them when no samples are taken any more. */
void otp_pipeline_collect(void);
/* The next flush covers time from here on. */
void otp_pipeline_begin_range(void);
/* False: so many periods were in use since the last flush that another needs a flush first. */
bool otp_pipeline_can_change(void);
/* What there is between rings and outputs. */
struct otp_pipeline_numbers {
    uint64_t cpu_samples; /* since the process began */
    uint64_t waiting;     /* stacks that the next flush will tell, of CPU samples */
    uint64_t flushes;     /* written */
    size_t bytes;         /* of the worker's memory */
};
void otp_pipeline_numbers(struct otp_pipeline_numbers *out);
/* Looks for threads that are not sampled yet, once a second. True: look again soon. */
bool otp_pipeline_scan(void);
/* Looks for objects that were loaded since, when samples have met some; returns when to come again
 * (monotonic ns). */
uint64_t otp_pipeline_look(void);
/* Writes one flush to all outputs, when there is anything in it. deadline_ns: monotonic. */
void otp_pipeline_flush(uint64_t deadline_ns, bool is_last);
/* Goes on with what outputs could not deliver yet; returns when to come again (monotonic ns). */
uint64_t otp_pipeline_pump(void);

#endif
