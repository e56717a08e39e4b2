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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../otel_ctx.h"

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
    struct otel_ctx *c = otel_ctx_map();
    unsigned char *out = (unsigned char *)c + OTEL_CTX_PAYLOAD;
    put("service.name", "from-context");
    put("service.version", "7");
    put("team", "blue");
    out[0] = 0x0a; /* resource = 1 */
    out[1] = (unsigned char)payload_len;
    memcpy(out + 2, payload, payload_len);
    otel_ctx_publish(c, payload_len + 2, 1);
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
