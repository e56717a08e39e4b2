/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Run-time addresses of position-independent objects lie above this; a frame there is better called
 * by its offset in the file. Below, addresses are the ELF file's own.
 */
#define RUNTIME_ADDRESS_MIN ((uint64_t)1 << 40)

void otp_names_init(struct otp_names *n)
{
    memset(n, 0, sizeof(*n));
    otp_heap_init(&n->heap, SIZE_MAX);
    otp_map_init(&n->map, &n->heap);
}

void otp_names_fini(struct otp_names *n)
{
    otp_heap_reset(&n->heap);
    free(n->items);
    memset(n, 0, sizeof(*n));
}

static bool same_name(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_names *n = ctx;
    const struct otp_text *text = key;
    struct otp_text its = n->items[id].name;
    return its.len == text->len && memcmp(its.data, text->data, its.len) == 0;
}

/* Texts that were left out point somewhere too. */
static struct otp_text present(struct otp_text text)
{
    return text.len > 0 ? text : otp_text_make("", 0);
}

static uint32_t find(const struct otp_names *n, struct otp_text text, uint64_t *out_hash)
{
    *out_hash = otp_hash_bytes(text.data, text.len, 0);
    return otp_map_find(&n->map, *out_hash, &text, same_name, n);
}

uint32_t otp_names_find(const struct otp_names *n, struct otp_text name)
{
    uint64_t hash;
    uint32_t id = find(n, present(name), &hash);
    return id == OTP_MAP_NONE ? UINT32_MAX : id;
}

uint32_t otp_names_add(struct otp_names *n, const struct otp_name *given)
{
    struct otp_name whole = {.name = present(given->name),
                             .module = present(given->module),
                             .file = present(given->file),
                             .is_address = given->is_address};
    const struct otp_name *name = &whole;
    uint64_t hash;
    uint32_t id = find(n, name->name, &hash);

    if (id != OTP_MAP_NONE) {
        struct otp_name *known = &n->items[id];
        known->module = known->module.len == 0 ? name->module : known->module;
        known->file = known->file.len == 0 ? name->file : known->file;
        return id;
    }
    if (n->count == n->capacity) {
        uint32_t capacity = n->capacity * 2 + 1024;
        struct otp_name *items = realloc(n->items, (size_t)capacity * sizeof(items[0]));
        if (items == NULL) {
            return UINT32_MAX;
        }
        n->items = items;
        n->capacity = capacity;
    }
    n->items[n->count] = *name;
    if (!otp_map_add(&n->map, hash, n->count)) {
        return UINT32_MAX;
    }
    return n->count++;
}

struct otp_text otp_base_name(struct otp_text path)
{
    for (size_t i = path.len; i-- > 0;) {
        if (path.data[i] == '/') {
            return otp_text_make(path.data + i + 1, path.len - i - 1);
        }
    }
    return path;
}

static struct otp_text module_of(const struct otp_profiles *m, const struct otp_location *l)
{
    return otp_base_name(otp_profiles_string(m, otp_profiles_mapping(m, l->mapping)->filename));
}

/* module+0xaddr, or what of it is known. */
static uint32_t unnamed(struct otp_names *n, const struct otp_profiles *m,
                        const struct otp_location *l)
{
    const struct otp_mapping *map = otp_profiles_mapping(m, l->mapping);
    struct otp_name name = {.module = module_of(m, l), .is_address = true};
    uint64_t address = l->address;
    char text[300];
    int shown = (int)(name.module.len > 200 ? 200 : name.module.len);

    if (map->start >= RUNTIME_ADDRESS_MIN && address >= map->start && address < map->limit) {
        address = address - map->start + map->file_offset;
    }
    int len = shown > 0 ? snprintf(text, sizeof(text), "%.*s+0x%" PRIx64, shown, name.module.data,
                                   address)
                        : snprintf(text, sizeof(text), "0x%" PRIx64, address);
    if (shown == 0 && l->address == 0) {
        len = snprintf(text, sizeof(text), "[unknown]");
    }
    char *copy = otp_heap_copy_string(&n->heap, text, (size_t)len);
    if (copy == NULL) {
        return UINT32_MAX;
    }
    name.name = otp_text_make(copy, (size_t)len);
    return otp_names_add(n, &name);
}

static uint32_t name_line(struct otp_names *n, const struct otp_profiles *m,
                          const struct otp_location *l, const struct otp_source_line *line)
{
    const struct otp_function *f = otp_profiles_function(m, line->function);
    struct otp_name name = {.name = otp_profiles_string(m, f->name),
                            .module = module_of(m, l),
                            .file = otp_profiles_string(m, f->filename)};

    if (name.name.len == 0) {
        name.name = otp_profiles_string(m, f->system_name);
    }
    return name.name.len == 0 ? unnamed(n, m, l) : otp_names_add(n, &name);
}

bool otp_frame_names_init(struct otp_frame_names *f, struct otp_names *n,
                          const struct otp_profiles *m)
{
    uint32_t count = m->table[OTP_TABLE_LOCATION].count;
    uint32_t used = 0;

    f->first = calloc((size_t)count + 1, sizeof(f->first[0]));
    f->ids = calloc((size_t)count + m->lines.count + 1, sizeof(f->ids[0]));
    if (f->first == NULL || f->ids == NULL) {
        otp_frame_names_fini(f);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct otp_location *l = otp_profiles_location(m, (int32_t)i);
        f->first[i] = used;
        for (uint32_t k = 0; k < l->lines.count; k++) {
            f->ids[used++] = name_line(n, m, l, otp_profiles_line(m, l->lines.first + k));
        }
        if (l->lines.count == 0) {
            f->ids[used++] = unnamed(n, m, l);
        }
        if (f->ids[used - 1] == UINT32_MAX) {
            otp_frame_names_fini(f);
            return false;
        }
    }
    f->first[count] = used;
    return true;
}

void otp_frame_names_fini(struct otp_frame_names *f)
{
    free(f->first);
    free(f->ids);
    f->first = NULL;
    f->ids = NULL;
}
