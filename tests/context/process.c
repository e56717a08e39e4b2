/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process FILE [own|late]: works a little, forks, and goes on, as the child does, until FILE is
 * there; then both end with 0. With own it publishes a process context (OTEP 4719) before anything
 * else, with late when FILE.late is there; in its resource are service.name=from-context,
 * service.version=7 and team=blue.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES 4096
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static volatile unsigned sink;
static unsigned char payload[256];
static size_t payload_len;

static void put(const char *key, const char *value)
{
    size_t k = strlen(key);
    size_t v = strlen(value);
    unsigned char *out = payload + payload_len;
    /* attributes = 1 {key = 1, value = 2 {string_value = 1}}, all shorter than 128 bytes */
    unsigned char head[] = {0x0a, (unsigned char)(k + v + 6), 0x0a, (unsigned char)k};
    unsigned char middle[] = {0x12, (unsigned char)(v + 2), 0x0a, (unsigned char)v};
    memcpy(out, head, sizeof(head));
    memcpy(out + 4, key, k);
    memcpy(out + 4 + k, middle, sizeof(middle));
    memcpy(out + 8 + k, value, v);
    payload_len += k + v + 8;
}

static void publish(void)
{
    int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, BYTES) != 0) {
        abort();
    }
    unsigned char *m = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    (void)madvise(m, BYTES, MADV_DONTFORK);
    put("service.name", "from-context");
    put("service.version", "7");
    put("team", "blue");
    m[64] = 0x0a; /* resource = 1 */
    m[65] = (unsigned char)payload_len;
    memcpy(m + 66, payload, payload_len);
    uint32_t numbers[2] = {2, (uint32_t)payload_len + 2};
    uint64_t words[2] = {1, (uint64_t)(uintptr_t)(m + 64)};
    memcpy(m, "OTEL_CTX", 8);
    memcpy(m + 8, numbers, 8);
    memcpy(m + 24, &words[1], 8);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(m + 16, &words[0], 8);
    (void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, m, BYTES, "OTEL_CTX");
}

static void work_until(const char *file)
{
    while (access(file, F_OK) != 0) {
        struct timespec pause = {.tv_nsec = 1000000};
        for (unsigned i = 0; i < 1000000; i++) {
            sink += i * i;
        }
        free(malloc(3000));
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    char late[4096];
    snprintf(late, sizeof(late), "%s.late", argv[1]);
    if (argc > 2 && strcmp(argv[2], "own") == 0) {
        publish();
    }
    free(malloc(3000));
    pid_t child = fork();
    if (child > 0 && argc > 2 && strcmp(argv[2], "late") == 0) {
        work_until(late);
        publish();
    }
    work_until(argv[1]);
    return child > 0 && waitpid(child, NULL, 0) != child;
}
