/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts a symbol table, and of the names of one address chooses one, always the same. */
#include <string.h>

#include "core/base/sort.h"
#include "core/symbol/symtab.h"

#define NAME_COMPARED 256 /* bytes of a name that take part in the choice */
/* Bytes of names read to choose; a table that makes for more gets its first names. */
#define NAMES_READ_MAX ((size_t)256 << 20)

/* What decides between names of equal rank, in this order. */
struct candidate {
    size_t underscores;       /* fewer is better: read, not __read */
    uint32_t size;            /* larger */
    size_t len;               /* shorter: open, not open64 */
    char text[NAME_COMPARED]; /* smaller: C1 constructors, not C2 */
};

struct finisher {
    struct otp_symtab *t;
    const struct otp_elf_bytes *const *files;
    struct otp_buf scratch;
    size_t bytes_left; /* of NAMES_READ_MAX */
};

static int compare_entries(const void *a, const void *b, void *arg)
{
    const struct otp_symtab_entry *x = a;
    const struct otp_symtab_entry *y = b;
    (void)arg;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    if (x->name != y->name) {
        return x->name < y->name ? -1 : 1;
    }
    return x->size < y->size ? -1 : x->size > y->size;
}

static bool name_of(struct finisher *f, const struct otp_symtab_entry *e, struct otp_text *out)
{
    enum otp_symtab_names names = otp_symtab_names_of(e);

    if (f->bytes_left == 0) {
        return false;
    }
    bool ok = otp_strtab_get(&f->t->names[names], f->files[names], e->name, &f->scratch, out);
    size_t cost = (ok ? out->len : OTP_STRTAB_NAME_MAX) + NAME_COMPARED;
    f->bytes_left -= cost < f->bytes_left ? cost : f->bytes_left;
    return ok;
}

static bool load_candidate(struct finisher *f, const struct otp_symtab_entry *e,
                           struct candidate *c)
{
    struct otp_text name;

    if (!name_of(f, e, &name)) {
        return false;
    }
    memset(c, 0, sizeof(*c));
    while (c->underscores < name.len && name.data[c->underscores] == '_') {
        c->underscores++;
    }
    c->size = e->size;
    c->len = name.len;
    memcpy(c->text, name.data, name.len < NAME_COMPARED ? name.len : NAME_COMPARED);
    return true;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    if (a->underscores != b->underscores) {
        return a->underscores < b->underscores;
    }
    if (a->size != b->size) {
        return a->size > b->size;
    }
    if (a->len != b->len) {
        return a->len < b->len;
    }
    return memcmp(a->text, b->text, NAME_COMPARED) < 0;
}

/* The best of count entries of one address, the first of which has the best rank. Of equal rank are
 * those of one string table only: .symtab has all the names that .dynsym has. */
static size_t choose(struct finisher *f, const struct otp_symtab_entry *group, size_t count)
{
    struct candidate best;
    struct candidate other;
    size_t best_idx = 0;

    if (count == 1 || group[1].key != group[0].key) {
        return 0;
    }
    bool have = load_candidate(f, &group[0], &best);
    for (size_t i = 1; i < count && group[i].key == group[0].key; i++) {
        bool same = group[i].name == group[i - 1].name;
        if (!same && load_candidate(f, &group[i], &other) && (!have || is_better(&other, &best))) {
            best = other;
            best_idx = i;
            have = true;
        }
    }
    return best_idx;
}

/* Labels of assemblers: "$x" marks code for disassemblers, ".L" is local to a function. */
static bool is_label(struct finisher *f, const struct otp_symtab_entry *e)
{
    struct otp_text name;

    return (e->key & OTP_SYMTAB_RANK_NO_TYPE) != 0 && f->bytes_left > 0 &&
           (!name_of(f, e, &name) || name.len == 0 || name.data[0] == '$' ||
            (name.data[0] == '.' && name.len > 1 && name.data[1] == 'L'));
}

/* The largest size among count entries of one address, of which the first is the one to be named.
 */
static uint32_t size_of(const struct otp_symtab_entry *group, size_t count)
{
    uint32_t size = group[0].size;

    for (size_t i = 1; i < count && !otp_symtab_is_stub(&group[0]); i++) {
        size = group[i].size > size ? group[i].size : size;
    }
    return size;
}

/* Leaves one entry for each address, and none for a label inside a function. */
static void drop_aliases(struct finisher *f)
{
    struct otp_symtab *t = f->t;
    size_t kept = 0;
    uint64_t covered = 0; /* end of the functions so far */

    for (size_t i = 0, end; i < t->count; i = end) {
        const struct otp_symtab_entry *group = &t->entries[i];
        uint64_t start = otp_symtab_start(group);
        for (end = i + 1; end < t->count && otp_symtab_start(&t->entries[end]) == start;) {
            end++;
        }
        struct otp_symtab_entry e = group[choose(f, group, end - i)];
        bool untyped = (e.key & OTP_SYMTAB_RANK_NO_TYPE) != 0;
        if ((untyped && start < covered) || is_label(f, &e)) {
            continue;
        }
        e.size = size_of(group, end - i);
        if (!untyped && start + e.size > covered) {
            covered = start + e.size;
        }
        t->entries[kept++] = e;
    }
    t->count = kept;
}

/* A symbol without size reaches to the next one; none reaches past its section. */
static void set_ends(struct otp_symtab *t)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = t->count; i-- > 0;) {
        struct otp_symtab_entry *e = &t->entries[i];
        uint64_t start = otp_symtab_start(e);
        const struct otp_symtab_range *range = otp_symtab_range_at(t, start);
        uint64_t end = e->size > 0 ? start + e->size : next;
        end = range != NULL && end > range->end ? range->end : end;
        e->size = end - start > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - start);
        next = start;
    }
}

/* Gives back memory that dropping has freed; a table that cannot move stays as it is. */
static void shrink(struct otp_symtab *t)
{
    size_t bytes = t->count * sizeof(t->entries[0]);

    if (t->capacity - t->count < t->capacity / 8) {
        return;
    }
    void *less = otp_heap_alloc(t->heap, bytes);
    if (less != NULL) {
        if (bytes > 0) {
            memcpy(less, t->entries, bytes);
        }
        otp_heap_free(t->heap, t->entries);
        t->entries = less;
        t->capacity = t->count;
    }
}

void otp_symtab_finish(struct otp_symtab *t,
                       const struct otp_elf_bytes *const files[OTP_SYMTAB_NAMES])
{
    struct finisher f = {.t = t, .files = files, .bytes_left = NAMES_READ_MAX};

    otp_buf_init(&f.scratch, t->heap, 2 * OTP_STRTAB_NAME_MAX);
    otp_sort(t->entries, t->count, sizeof(t->entries[0]), compare_entries, NULL);
    drop_aliases(&f);
    set_ends(t);
    shrink(t);
    otp_buf_fini(&f.scratch);
    otp_heap_free(t->heap, t->ranges);
    t->ranges = NULL;
    t->range_count = 0;
}
