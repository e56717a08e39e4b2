/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a package of split debug information (.dwp), all of its units. */
#define _GNU_SOURCE /* memfd_create */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/target.h"
#include "tools/otelprof/dwp.h"

#define PLACES_MAX 4096U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("package", MFD_CLOEXEC);
    int out = memfd_create("unit", MFD_CLOEXEC);
    if (fd < 0 || out < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct otp_dwp *p = otp_dwp_open(path);
    /* The ids of units stand in the file: each of its words is one, perhaps. */
    for (size_t at = 0; p != NULL && at + sizeof(uint64_t) <= size && at < PLACES_MAX; at += 4) {
        uint64_t id;
        memcpy(&id, data + at, sizeof(id));
        if (ftruncate(out, 0) != 0 || lseek(out, 0, SEEK_SET) != 0) {
            abort();
        }
        (void)otp_dwp_write(p, id, out);
    }
    otp_dwp_close(p);
    (void)close(fd);
    (void)close(out);
    return 0;
}
