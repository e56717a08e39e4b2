/* SPDX-License-Identifier: Apache-2.0 */
#include "core/intern/modules.h"

#include <string.h>

#include "core/symbol/demangle.h"

#define NAME_MAX_BYTES ((size_t)128 << 10)

void otp_modules_init(struct otp_modules *m, struct otp_heap *heap)
{
    memset(m, 0, sizeof(*m));
    m->heap = heap;
    otp_buf_init(&m->name, heap, NAME_MAX_BYTES);
}

void otp_modules_fini(struct otp_modules *m)
{
    for (uint32_t i = 0; i < m->room; i++) {
        otp_symbols_destroy(m->symbols[i]);
    }
    otp_heap_free(m->heap, m->symbols);
    otp_buf_fini(&m->name);
    otp_modules_init(m, m->heap);
}

static bool make_room(struct otp_modules *m, uint32_t number)
{
    if (number < m->room) {
        return true;
    }
    uint32_t room = number + 32;
    struct otp_symbols **p = otp_heap_realloc(m->heap, m->symbols, room * sizeof(m->symbols[0]));
    if (p == NULL) {
        return false;
    }
    memset(p + m->room, 0, (room - m->room) * sizeof(m->symbols[0]));
    m->symbols = p;
    m->room = room;
    return true;
}

struct otp_symbols *otp_modules_find(const struct otp_modules *m, uint32_t number)
{
    return number < m->room ? m->symbols[number] : NULL;
}

struct otp_symbols *otp_modules_get(struct otp_modules *m, uint32_t number,
                                    const struct otp_symbol_source *source)
{
    if (!make_room(m, number)) {
        return NULL;
    }
    if (m->symbols[number] == NULL) {
        (void)otp_symbols_open(m->heap, source, &m->symbols[number]); /* NULL on failure */
    }
    return m->symbols[number];
}

bool otp_modules_name(struct otp_modules *m, struct otp_symbols *s, uint64_t elf_addr,
                      struct otp_module_name *out)
{
    struct otp_symbol symbol;
    if (!otp_symbols_find(s, elf_addr, &symbol)) {
        return false;
    }
    out->system_name = symbol.name;
    out->name = symbol.name;
    otp_buf_clear(&m->name);
    if (otp_demangle(symbol.name, &m->name)) {
        out->name = otp_text_make((const char *)m->name.data, m->name.len);
    }
    return true;
}
