/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several files have the same addresses when each has its own, and readers tell files apart by
 * address alone. So only the main program stays where it is, and what has the address of a process
 * anyway, as far as nothing overlaps; all else gets a place above what processes have.
 */
#include "core/encode/gperftools_maps.h"

#include <string.h>

#include "core/base/sort.h"

#define PAGE ((uint64_t)4096)
#define GUARD ((uint64_t)1 << 20) /* between two that were given places */
#define LOW ((uint64_t)1 << 32)   /* below it are the addresses of files, not of processes */
#define APART 16U                 /* bytes from one made-up address to the next */

static struct otp_gperftools_place *places_of(const struct otp_gperftools_maps *m)
{
    return (void *)m->places.data;
}

static struct otp_text name_of(const struct otp_gperftools_maps *m, uint32_t mapping)
{
    const struct otp_dict_mapping *told = otp_pool_head(&m->dict->mappings, mapping);
    return otp_dict_text(m->dict, told->filename);
}

static bool is_shared_object(struct otp_text name)
{
    for (size_t i = 0; i + 3 <= name.len; i++) {
        bool ends = i + 3 == name.len || name.data[i + 3] == '.' || name.data[i + 3] == '_';
        if (ends && memcmp(name.data + i, ".so", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* A program has a name, and that is of a file. */
static uint32_t find_main(const struct otp_gperftools_maps *m)
{
    for (uint32_t i = 1; i < m->dict->mappings.count; i++) {
        struct otp_text name = name_of(m, i);
        if (name.len > 0 && name.data[0] != '[' && !is_shared_object(name)) {
            const struct otp_dict_mapping *told = otp_pool_head(&m->dict->mappings, i);
            return told->filename;
        }
    }
    return 0;
}

/* Ranges as they were told, and of the locations where none was. */
static void find_ranges(struct otp_gperftools_maps *m)
{
    struct otp_gperftools_place *places = places_of(m);
    for (uint32_t i = 1; i < m->dict->mappings.count; i++) {
        const struct otp_dict_mapping *told = otp_pool_head(&m->dict->mappings, i);
        if (told->limit > told->start) {
            places[i].start = told->start;
            places[i].limit = told->limit;
            places[i].file_offset = told->file_offset;
        }
    }
    for (uint32_t i = 1; i < m->dict->locations.count; i++) {
        const struct otp_dict_location *l = otp_pool_head(&m->dict->locations, i);
        const struct otp_dict_mapping *told = otp_pool_head(&m->dict->mappings, l->mapping);
        struct otp_gperftools_place *p = &places[l->mapping];
        if (l->mapping == 0 || told->limit != 0 || told->start != 0 || l->address == 0 ||
            l->address >= UINT64_MAX - PAGE) {
            continue;
        }
        uint64_t start = l->address & ~(PAGE - 1);
        p->start = p->limit == 0 || start < p->start ? start : p->start;
        p->limit = start + PAGE > p->limit ? start + PAGE : p->limit;
        p->file_offset = p->start;
    }
}

static int compare_starts(const void *a, const void *b, void *arg)
{
    const struct otp_gperftools_place *places = arg;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (places[x].start != places[y].start) {
        return places[x].start < places[y].start ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* A place above all others; none when there is no room any more. */
static void move(struct otp_gperftools_place *p, uint64_t *next)
{
    uint64_t to = *next + (p->start & (PAGE - 1));
    uint64_t size = p->limit - p->start;
    if (size >= OTP_GPERFTOOLS_MADE_UP || to + size >= OTP_GPERFTOOLS_MADE_UP - GUARD) {
        memset(p, 0, sizeof(*p));
        return;
    }
    p->moved = to - p->start;
    *next = (to + size + GUARD) & ~(GUARD - 1);
}

static bool is_main(const struct otp_gperftools_maps *m, const struct otp_dict_mapping *told)
{
    return m->main_file != 0 && told->filename == m->main_file;
}

/* Those that may stay where they are, as far as they do not overlap. */
static enum otp_status keep_places(struct otp_gperftools_maps *m)
{
    struct otp_gperftools_place *places = places_of(m);
    uint32_t count = 0;
    for (uint32_t i = 1; i < m->dict->mappings.count; i++) {
        const struct otp_dict_mapping *told = otp_pool_head(&m->dict->mappings, i);
        bool may_stay = places[i].start >= LOW || is_main(m, told);
        if (places[i].limit > 0 && places[i].limit <= OTP_GPERFTOOLS_MOVED && may_stay) {
            if (!otp_buf_add(&m->kept, &i, sizeof(i))) {
                return OTP_NO_MEMORY;
            }
            count++;
        }
    }
    uint32_t *kept = (void *)m->kept.data;
    otp_sort(kept, count, sizeof(kept[0]), compare_starts, places);
    uint64_t end = 0;
    uint32_t stays = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct otp_gperftools_place *p = &places[kept[i]];
        if (p->start >= end) {
            end = p->limit;
            p->is_kept = true;
            kept[stays++] = kept[i];
        }
    }
    m->kept.len = stays * sizeof(kept[0]);
    return OTP_OK;
}

enum otp_status otp_gperftools_maps_init(struct otp_gperftools_maps *m, const struct otp_dict *d,
                                         uint32_t main_file)
{
    size_t bytes = d->mappings.count * sizeof(struct otp_gperftools_place);
    uint64_t next = OTP_GPERFTOOLS_MOVED;
    m->dict = d;
    otp_buf_init(&m->places, d->heap, SIZE_MAX / 2);
    otp_buf_init(&m->kept, d->heap, SIZE_MAX / 2);
    void *places = otp_buf_reserve(&m->places, bytes);
    if (places == NULL) {
        return OTP_NO_MEMORY;
    }
    memset(places, 0, bytes);
    m->places.len = bytes;
    find_ranges(m);
    m->main_file = main_file != 0 ? main_file : find_main(m);
    OTP_TRY(keep_places(m));
    for (uint32_t i = 1; i < d->mappings.count; i++) {
        if (places_of(m)[i].limit > 0 && !places_of(m)[i].is_kept) {
            move(&places_of(m)[i], &next);
        }
    }
    return OTP_OK;
}

void otp_gperftools_maps_fini(struct otp_gperftools_maps *m)
{
    otp_buf_fini(&m->places);
    otp_buf_fini(&m->kept);
}

/* Does something lie there that is where it was told? */
static bool is_taken(const struct otp_gperftools_maps *m, uint64_t address)
{
    const uint32_t *kept = (const void *)m->kept.data;
    const struct otp_gperftools_place *places = places_of(m);
    size_t low = 0;
    size_t high = m->kept.len / sizeof(kept[0]);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct otp_gperftools_place *p = &places[kept[mid]];
        if (address >= p->start && address < p->limit) {
            return true;
        }
        if (p->start <= address) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return false;
}

uint64_t otp_gperftools_maps_address(const struct otp_gperftools_maps *m, uint32_t location)
{
    const struct otp_dict_location *l = otp_pool_head(&m->dict->locations, location);
    const struct otp_gperftools_place *p = &places_of(m)[l->mapping];
    if (l->address > 0 && l->address >= p->start && l->address < p->limit) {
        uint64_t at = l->address + p->moved;
        return at == 0 ? OTP_GPERFTOOLS_MADE_UP + (uint64_t)location * APART : at;
    }
    if (l->address > 0 && l->address < OTP_GPERFTOOLS_MOVED && !is_taken(m, l->address)) {
        return l->address;
    }
    return OTP_GPERFTOOLS_MADE_UP + (uint64_t)location * APART;
}

/* As the kernel does, which writes what would break a line as an octal number. */
static void write_name(struct otp_text name, struct otp_buf *out)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c < ' ') {
            const unsigned char octal[] = {'\\', '0', (unsigned char)('0' + (c >> 3)),
                                           (unsigned char)('0' + (c & 7))};
            (void)otp_buf_add(out, octal, sizeof(octal)); /* checked once, at the end */
        } else {
            (void)otp_buf_add_byte(out, c);
        }
    }
}

static void write_line(const struct otp_gperftools_maps *m, uint32_t mapping, struct otp_buf *out)
{
    const struct otp_gperftools_place *p = &places_of(m)[mapping];
    struct otp_text name = name_of(m, mapping);
    if (p->limit == 0 || name.len == 0) {
        return;
    }
    (void)otp_buf_add_hex(out, p->start + p->moved, 8);
    (void)otp_buf_add_byte(out, '-');
    (void)otp_buf_add_hex(out, p->limit + p->moved, 8);
    (void)otp_buf_add_str(out, " r-xp ");
    (void)otp_buf_add_hex(out, p->file_offset, 8);
    (void)otp_buf_add_str(out, " 00:00 0 ");
    write_name(name, out);
    (void)otp_buf_add_byte(out, '\n');
}

void otp_gperftools_maps_write(const struct otp_gperftools_maps *m, struct otp_buf *out)
{
    for (int others = 0; others <= 1; others++) {
        for (uint32_t i = 1; i < m->dict->mappings.count; i++) {
            if (is_main(m, otp_pool_head(&m->dict->mappings, i)) == (others == 0)) {
                write_line(m, i, out);
            }
        }
    }
}
