/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as the program that `otelprof run` and `otelprof doctor` are asked for. */
#define _GNU_SOURCE /* memfd_create */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/target.h"
#include "tools/otelprof/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct otp_target target;
    char path[64];
    int fd = memfd_create("program", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    otp_target_find(path, &target);
    if (memchr(target.why, 0, sizeof(target.why)) == NULL || target.kind > OTP_TARGET_UNKNOWN ||
        (otp_target_is_profiled(&target) == (target.kind != OTP_TARGET_OK))) {
        abort();
    }
    (void)close(fd);
    return 0;
}
