/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drive URL MESSAGES MILLISECONDS [CA_FILE]: the OTLP sink alone, for sanitizers: no profiler
 * around it. Puts messages of growing size and pumps until all is done or the time is up. Prints
 * what became of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/export/sink_otlp.h"

static struct otp_sink_otlp sink;
static struct otp_heap heap;
static unsigned char bytes[300000];

static void put_all(unsigned count, uint64_t end)
{
    for (unsigned i = 0; i < count; i++) {
        struct otp_message m = {.data = bytes, .len = 10 + i * 50000U % sizeof(bytes), .flush = i};
        if (otp_sink_put(&sink.base, &m, 0) == OTP_TOO_LARGE) {
            return;
        }
        while (otp_sink_pump(&sink.base, end, false) != OTP_OK && otp_sys_monotonic_ns() < end) {
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    struct otp_sink_otlp_options options = {
        .endpoint = otp_text_of(argv[1]),
        .kind = OTP_ENDPOINT_OUTPUT,
        .is_grpc = strncmp(argv[1], "grpc", 4) == 0,
        .headers = otp_text_of("x-extra=1"),
        .user_agent = otp_text_of("drive/1"),
        .tls = {.ca_path = otp_text_of(argc > 4 ? argv[4] : "")},
        .timeout_ns = 400000000,
        .heap = &heap,
        .queue_bytes = (size_t)4 << 20,
        .backoff_min_ns = 20000000,
    };
    otp_heap_init(&heap, (size_t)32 << 20);
    if (otp_sink_otlp_init(&sink, &options) != OTP_OK) {
        return 2;
    }
    uint64_t end = otp_sys_monotonic_ns() + strtoull(argv[3], NULL, 10) * UINT64_C(1000000);
    put_all((unsigned)strtoul(argv[2], NULL, 10), end);
    printf("sent %llu, dropped %llu, queued %llu, %zu KiB\n",
           (unsigned long long)sink.base.sent_messages,
           (unsigned long long)sink.base.dropped_messages,
           (unsigned long long)sink.base.queued_messages, heap.peak_bytes >> 10);
    otp_sink_close(&sink.base);
    otp_heap_reset(&heap);
    return 0;
}
