/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: `replay FILE...` each file as it is, `replay -m N FILE...`
 * also every prefix of each (of long ones some) and N mutations. Prints how many inputs were tried.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX ((size_t)16 << 20)
#define PREFIXES_MAX 20000

static uint64_t state = 0x9e3779b97f4a7c15U; /* fixed: a failure can be had again */

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A copy of exactly size bytes, so that a read past the end is seen. */
static void try_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);

    if (copy != NULL) {
        memcpy(copy, data, size);
        (void)LLVMFuzzerTestOneInput(copy, size);
        free(copy);
    }
}

static unsigned long try_prefixes(const uint8_t *data, size_t size)
{
    size_t step = size / PREFIXES_MAX + 1;
    unsigned long tried = 0;

    for (size_t len = 0; len < size; len += step) {
        try_copy(data, len);
        tried++;
    }
    return tried;
}

/* Some bytes flipped, set, moved or cut out. */
static size_t mutate(uint8_t *data, size_t size)
{
    for (unsigned n = 1 + (unsigned)(next_random() % 6); n > 0 && size > 0; n--) {
        size_t at = next_random() % size;
        switch (next_random() % 4) {
        case 0:
            data[at] ^= (uint8_t)(1U << next_random() % 8);
            break;
        case 1:
            data[at] = (uint8_t)next_random();
            break;
        case 2:
            data[at] = data[next_random() % size];
            break;
        default:
            memmove(data + at, data + at + 1, size - at - 1);
            size--;
            break;
        }
    }
    return size;
}

static unsigned long try_file(const char *path, unsigned long mutations)
{
    uint8_t *data = malloc(INPUT_MAX);
    uint8_t *changed = malloc(INPUT_MAX);
    FILE *f = fopen(path, "rb");
    unsigned long tried = 0;

    if (f == NULL || data == NULL || changed == NULL) {
        (void)fprintf(stderr, "replay: %s cannot be read\n", path);
        exit(1);
    }
    size_t size = fread(data, 1, INPUT_MAX, f);
    (void)fclose(f);
    try_copy(data, size);
    tried++;
    if (mutations > 0) {
        tried += try_prefixes(data, size);
    }
    for (unsigned long i = 0; i < mutations; i++) {
        memcpy(changed, data, size);
        try_copy(changed, mutate(changed, size));
        tried++;
    }
    free(data);
    free(changed);
    return tried;
}

int main(int argc, char **argv)
{
    unsigned long mutations = 0;
    unsigned long tried = 0;
    int first = 1;

    if (argc > 3 && strcmp(argv[1], "-m") == 0) {
        mutations = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        tried += try_file(argv[i], mutations);
    }
    (void)printf("replay: %lu inputs looked at, 0 failed\n", tried);
    return tried > 0 ? 0 : 1;
}
