/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes core/symbol with an object in memory: headers, identities, all symbol tables, stubs,
 * look-ups and demangling of what is found.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/heap.h"
#include "core/symbol/demangle.h"
#include "core/symbol/symbols.h"
#include "tests/fuzz/target.h"

#define HEAP_LIMIT ((size_t)32 << 20)
#define SYMBOLS_LOOKED_AT 64

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
