/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of the data on the worker's side. This is the one place that knows all stages: it takes
 * records from the rings and sums from the ledger, has them interned and named, tells them to the
 * builder, and gives the bytes to the sinks. No stage calls the next.
 */
#ifndef OTP_ENGINE_PIPELINE_H
#define OTP_ENGINE_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

/* Makes everything ready; false: no memory. Context: worker. */
bool otp_pipeline_open(void);
/* Empties the rings into the time table, and takes back the records of threads that are gone. */
void otp_pipeline_drain(void);
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
