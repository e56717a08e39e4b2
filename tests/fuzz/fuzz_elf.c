/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes core/symbol with an object in memory: headers, identities, all symbol tables, stubs,
 * look-ups and demangling of what is found.
 *
 *   clang -fsanitize=fuzzer,address,undefined ...        with libFuzzer
 *   cc -DOTP_FUZZ_REPLAY ...                             without:
 *       fuzz_elf FILE...             runs each file once
 *       fuzz_elf -n COUNT FILE...    runs COUNT mutations of each file, always the same ones
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/heap.h"
#include "core/symbol/demangle.h"
#include "core/symbol/symbols.h"

#define HEAP_LIMIT ((size_t)32 << 20)
#define SYMBOLS_LOOKED_AT 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void look_at(struct otp_symbols *s, struct otp_buf *readable, size_t idx)
{
    struct otp_symbol symbol;
    struct otp_symbol found;

    if (!otp_symbols_at(s, idx, &symbol)) {
        return;
    }
    require(symbol.size > 0 && symbol.name.len > 0);
    otp_buf_clear(readable);
    (void)otp_demangle(symbol.name, readable);
    require(otp_symbols_find(s, symbol.start, &found));
    require(found.start == symbol.start && found.size == symbol.size);
    (void)otp_symbols_find(s, symbol.start + symbol.size, &found);
    (void)otp_symbols_segment(s, symbol.start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct otp_symbol_source source = {.path = "[vdso]", .image = data, .image_len = size};
    struct otp_heap heap;
    struct otp_symbols *s;
    struct otp_buf readable;

    otp_heap_init(&heap, HEAP_LIMIT);
    otp_buf_init(&readable, &heap, (size_t)64 << 10);
    if (otp_symbols_open(&heap, &source, &s) == OTP_OK) {
        (void)otp_symbols_load_names(s);
        size_t count = otp_symbols_count(s);
        size_t step = count / SYMBOLS_LOOKED_AT + 1;
        for (size_t i = 0; i < count; i += step) {
            look_at(s, &readable, i);
        }
        otp_symbols_destroy(s);
    }
    otp_buf_fini(&readable);
    otp_heap_reset(&heap);
    return 0;
}

#ifdef OTP_FUZZ_REPLAY

#include <stdio.h>

static uint64_t state = 0x9e3779b97f4a7c15U;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Half of the changes are in the headers at the start and at the end, where the structure is. */
static size_t random_place(size_t size)
{
    uint64_t r = next_random();
    size_t edge = size < 2048 ? size : 2048;

    switch (r % 4) {
    case 0:
        return next_random() % edge;
    case 1:
        return size - 1 - next_random() % edge;
    default:
        return next_random() % size;
    }
}

static void mutate(uint8_t *data, size_t *size)
{
    static const uint64_t values[] = {0,          1,          0x7fffffff,
                                      0xffffffff, UINT64_MAX, 0x8000000000000000U};
    unsigned changes = 1 + (unsigned)(next_random() % 6);

    for (unsigned i = 0; i < changes; i++) {
        size_t at = random_place(*size);
        uint64_t value = values[next_random() % 6];
        size_t width = (size_t)1 << next_random() % 4;
        if (next_random() % 2 == 0) {
            data[at] = (uint8_t)next_random();
        } else if (width <= *size - at) {
            memcpy(data + at, &value, width);
        }
    }
    if (next_random() % 16 == 0) {
        *size = 1 + next_random() % *size;
    }
}

static int replay(const char *path, unsigned long mutations)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        return 1;
    }
    size_t size = (size_t)ftell(f);
    uint8_t *data = malloc(size + 1);
    rewind(f);
    size = fread(data, 1, size, f);
    fclose(f);
    (void)LLVMFuzzerTestOneInput(data, size);
    for (unsigned long i = 0; size > 0 && i < mutations; i++) {
        uint8_t *copy = malloc(size);
        size_t copy_size = size;
        memcpy(copy, data, size);
        mutate(copy, &copy_size);
        uint8_t *exact = realloc(copy, copy_size);
        (void)LLVMFuzzerTestOneInput(exact, copy_size);
        free(exact);
    }
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long mutations = 0;
    int bad = 0;
    int i = 1;

    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        mutations = strtoul(argv[2], NULL, 10);
        i = 3;
    }
    for (int first = i; i < argc; i++) {
        bad |= replay(argv[i], mutations);
        printf("fuzz_elf: %d of %d files\n", i - first + 1, argc - first);
    }
    return bad;
}

#endif
