/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process context as a program has one that is not profiled (OTEP 4719), for tests that publish
 * one of their own; nothing of the profiler is in it.
 */
#ifndef OTELPROF_TESTS_OTEL_CTX_H
#define OTELPROF_TESTS_OTEL_CTX_H

#ifndef _GNU_SOURCE
#error "memfd_create needs _GNU_SOURCE"
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define OTEL_CTX_BYTES 4096
#define OTEL_CTX_PAYLOAD 64 /* where the payload begins, here */

/* As it lies in memory. */
struct otel_ctx {
    char signature[8];
    uint32_t version;
    uint32_t payload_bytes;
    uint64_t published;
    uint64_t payload;
};

/* A mapping by whose name it is found, with nothing in it yet; a process without one ends. */
static inline struct otel_ctx *otel_ctx_map(void)
{
    int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, OTEL_CTX_BYTES) != 0) {
        abort();
    }
    void *m = mmap(NULL, OTEL_CTX_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (m == MAP_FAILED || madvise(m, OTEL_CTX_BYTES, MADV_DONTFORK) != 0) {
        abort();
    }
    close(fd);
    return (struct otel_ctx *)m;
}

/* Tells of the payload of that many bytes that lies at OTEL_CTX_PAYLOAD in the mapping. */
static inline void otel_ctx_publish(struct otel_ctx *c, size_t payload_bytes, uint64_t when)
{
    memcpy(c->signature, "OTEL_CTX", 8);
    c->version = 2;
    c->payload_bytes = (uint32_t)payload_bytes;
    c->payload = (uint64_t)(uintptr_t)c + OTEL_CTX_PAYLOAD;
    __atomic_store_n(&c->published, when, __ATOMIC_SEQ_CST);
    (void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, c, OTEL_CTX_BYTES, "OTEL_CTX");
}

#endif
