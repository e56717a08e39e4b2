/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/teller.h"

#include <fcntl.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/capture/context.h"
#include "core/capture/object.h"
#include "core/engine/state.h"
#include "core/symbol/maps.h"

#define EXE_LINK "/proc/thread-self/exe" /* works after the end of the main thread too */

void otp_teller_init(struct otp_teller *t, struct otp_heap *heap, struct otp_visitor *visitor,
                     struct otp_modules *modules, const struct otp_tags *tags)
{
    memset(t, 0, sizeof(*t));
    t->heap = heap;
    t->visitor = visitor;
    t->modules = modules;
    t->tags = tags;
    otp_map_init(&t->map, heap);
}

void otp_teller_fini(struct otp_teller *t)
{
    otp_map_fini(&t->map);
    otp_heap_free(t->heap, t->told);
    otp_heap_free(t->heap, t->mappings);
    otp_teller_init(t, t->heap, t->visitor, t->modules, t->tags);
}

static bool is_word(const void *ctx, uint32_t id, const void *key)
{
    const struct otp_teller *t = ctx;
    return t->told[id].word == *(const uint64_t *)key;
}

/* Path of the file mapped at an address, for the program itself, which the loader does not name. */
struct path_search {
    uint64_t addr;
    char path[4096];
};

static bool find_path(void *arg, const struct otp_maps_entry *e)
{
    struct path_search *s = arg;
    if (s->addr < e->start || s->addr >= e->end) {
        return true;
    }
    if (e->name.len > 0 && e->name.len < sizeof(s->path)) {
        memcpy(s->path, e->name.data, e->name.len);
        s->path[e->name.len] = '\0';
    }
    return false;
}

/* Length of a path without the kernel's mark of a file that is gone. */
static size_t unmarked_len(const char *path)
{
    static const char mark[] = " (deleted)";
    size_t len = strlen(path);
    bool is_marked = len >= sizeof(mark) && strcmp(path + len + 1 - sizeof(mark), mark) == 0;
    return is_marked ? len + 1 - sizeof(mark) : len;
}

/* Whether a path in maps is that of the object of that name, as far as the last part tells. */
static bool ends_alike(const char *path, const char *name)
{
    const char *last = strrchr(name, '/');
    last = last == NULL ? name : last + 1;
    size_t len = strlen(last);
    size_t path_len = unmarked_len(path);
    return len > 0 && path_len > len && path[path_len - len - 1] == '/' &&
           memcmp(path + path_len - len, last, len) == 0;
}

/*
 * Where the loader's name alone does not do, maps knows better: what is too long, what was relative
 * to a folder that the host has left, and what cannot be told from another file by its build id. An
 * object that is gone may have another one at its place.
 */
static bool is_better_in_maps(const struct otp_object *o, const char *name, const char *path)
{
    if (o->is_main || o->name_len == OTP_OBJECT_NAME_MAX) {
        return true;
    }
    return (name[0] != '/' || o->build_id_len == 0) && ends_alike(path, name);
}

static struct otp_symbols *open_object(struct otp_teller *t, uint32_t number,
                                       const struct otp_object *o)
{
    /* Static: the worker is the only caller and its stack is small. */
    static struct path_search search;
    static char name[OTP_OBJECT_NAME_MAX + 1];
    struct otp_symbols *known = otp_modules_find(t->modules, number);
    if (known != NULL) {
        return known; /* maps is read once for an object, not for each of its frames */
    }
    memcpy(name, o->name, o->name_len);
    name[o->name_len] = '\0';
    struct otp_symbol_source source = {
        .path = name, .build_id = o->build_id, .build_id_len = o->build_id_len};
    if (strncmp(name, "linux-vdso", 10) == 0) {
        source.path = "[vdso]";
        source.image = (const void *)o->start;
        source.image_len = o->end - o->start;
    } else if (o->is_main || o->name_len == OTP_OBJECT_NAME_MAX || name[0] != '/' ||
               o->build_id_len == 0) {
        search.addr = o->start;
        search.path[0] = '\0';
        (void)otp_maps_read(t->heap, NULL, find_path, &search);
        source.path = is_better_in_maps(o, name, search.path) ? search.path : name;
        if (o->is_main && source.path[0] == '\0') {
            source.path = otp_engine.exe;
        }
        source.alt_path = o->is_main ? EXE_LINK : NULL;
    }
    return otp_modules_get(t->modules, number, &source);
}

static enum otp_status tell_mapping(struct otp_teller *t, const struct otp_object *o,
                                    struct otp_symbols *s, struct otp_told_mapping *m,
                                    uint64_t addr)
{
    const struct otp_elf_segment *segment = otp_symbols_segment(s, addr);
    struct otp_attr attrs[2];
    size_t count = 0;
    const char *gnu = otp_symbols_build_id_hex(s);
    const char *htl = otp_symbols_htlhash_hex(s);
    if (gnu[0] != '\0') {
        attrs[count++] = (struct otp_attr){.key = otp_text_of("process.executable.build_id.gnu"),
                                           .kind = OTP_ATTR_STRING,
                                           .string = otp_text_of(gnu)};
    }
    if (htl[0] != '\0') {
        attrs[count++] =
            (struct otp_attr){.key = otp_text_of("process.executable.build_id.htlhash"),
                              .kind = OTP_ATTR_STRING,
                              .string = otp_text_of(htl)};
    }
    m->start = segment != NULL ? segment->vaddr : o->start - o->bias;
    m->limit = segment != NULL ? segment->vaddr + segment->memsz : o->end - o->bias;
    struct otp_visit_mapping visit = {
        .start = m->start,
        .limit = m->limit,
        .file_offset = segment != NULL ? segment->file_offset : 0,
        .filename = otp_text_of(otp_symbols_path(s)),
        .attrs = attrs,
        .attr_count = count,
    };
    return t->visitor->mapping(t->visitor, &visit, &m->id);
}

static enum otp_status mapping_id(struct otp_teller *t, uint32_t number, const struct otp_object *o,
                                  struct otp_symbols *s, uint64_t addr, uint32_t *out_id)
{
    for (size_t i = 0; i < t->mapping_count; i++) {
        const struct otp_told_mapping *m = &t->mappings[i];
        if (m->object == number && addr >= m->start && addr < m->limit) {
            *out_id = m->id;
            return OTP_OK;
        }
    }
    if (t->mapping_count == t->mapping_room) {
        size_t room = t->mapping_room * 2 + 16;
        struct otp_told_mapping *p =
            otp_heap_realloc(t->heap, t->mappings, room * sizeof(t->mappings[0]));
        if (p == NULL) {
            return OTP_NO_MEMORY;
        }
        t->mappings = p;
        t->mapping_room = room;
    }
    struct otp_told_mapping *m = &t->mappings[t->mapping_count];
    m->object = number;
    OTP_TRY(tell_mapping(t, o, s, m, addr));
    t->mapping_count++;
    *out_id = m->id;
    return OTP_OK;
}

/* Every location says what kind of code it is: some receivers need it. */
static const struct otp_attr *frame_type(void)
{
    static struct otp_attr native;
    native.key = otp_text_of("profile.frame.type");
    native.kind = OTP_ATTR_STRING;
    native.string = otp_text_of("native");
    return &native;
}

static enum otp_status tell_frame(struct otp_teller *t, uint64_t word, uint32_t *out_id)
{
    struct otp_visit_frame frame = {
        .address = otp_frame_addr(word), .attrs = frame_type(), .attr_count = 1};
    struct otp_visit_line line = {0};
    uint32_t number = otp_frame_object(word);
    const struct otp_object *o = otp_object_get(number);
    if (word == OTP_FRAME_TRUNCATED || word == 0) {
        line.name = otp_text_of(word == 0 ? "[unknown]" : "[truncated]");
        frame.address = 0;
        frame.lines = &line;
        frame.line_count = 1;
    } else if (o != NULL) {
        struct otp_symbols *s = open_object(t, number, o);
        if (s == NULL) {
            return OTP_NO_MEMORY;
        }
        frame.address -= o->bias;
        OTP_TRY(mapping_id(t, number, o, s, frame.address, &frame.mapping));
        struct otp_module_name name;
        if (otp_modules_name(t->modules, s, frame.address, &name)) {
            line.name = name.name;
            line.system_name = name.system_name;
            frame.lines = &line;
            frame.line_count = 1;
        }
    }
    return t->visitor->frame(t->visitor, &frame, out_id);
}

static enum otp_status frame_id(struct otp_teller *t, uint64_t word, uint32_t *out_id)
{
    uint64_t hash = otp_hash_mix(0, word);
    uint32_t at = otp_map_find(&t->map, hash, &word, is_word, t);
    if (at != OTP_MAP_NONE) {
        *out_id = t->told[at].id;
        return OTP_OK;
    }
    if (t->told_count == t->told_room) {
        size_t room = t->told_room * 2 + 256;
        struct otp_told *p = otp_heap_realloc(t->heap, t->told, room * sizeof(t->told[0]));
        if (p == NULL) {
            return OTP_NO_MEMORY;
        }
        t->told = p;
        t->told_room = room;
    }
    OTP_TRY(tell_frame(t, word, out_id));
    t->told[t->told_count] = (struct otp_told){.word = word, .id = *out_id};
    if (!otp_map_add(&t->map, hash, (uint32_t)t->told_count)) {
        return OTP_NO_MEMORY;
    }
    t->told_count++;
    return OTP_OK;
}

enum otp_status otp_teller_stack(struct otp_teller *t, const uint64_t *frames, uint32_t depth,
                                 uint32_t *out_id)
{
    depth = depth > OTP_DEPTH_MAX + 1 ? OTP_DEPTH_MAX + 1 : depth;
    for (uint32_t i = 0; i < depth; i++) {
        OTP_TRY(frame_id(t, frames[i], &t->ids[i]));
    }
    return t->visitor->stack(t->visitor, t->ids, depth, out_id);
}

static enum otp_status tell_context(struct otp_teller *t, uint32_t context, uint32_t *ids,
                                    size_t *count)
{
    const struct otp_context *c = otp_context_get(context);
    if (c == NULL) {
        return OTP_OK;
    }
    if (c->thread_name[0] != '\0') {
        struct otp_attr name = {
            .key = otp_text_of("thread.name"),
            .kind = OTP_ATTR_STRING,
            .string = otp_text_make(c->thread_name, strnlen(c->thread_name, OTP_CONTEXT_NAME_MAX))};
        OTP_TRY(t->visitor->attr(t->visitor, &name, &ids[(*count)++]));
    }
    if (c->thread_id != 0) {
        struct otp_attr id = {
            .key = otp_text_of("thread.id"), .kind = OTP_ATTR_INT, .number = c->thread_id};
        OTP_TRY(t->visitor->attr(t->visitor, &id, &ids[(*count)++]));
    }
    return OTP_OK;
}

static enum otp_status tell_tag(struct otp_teller *t, uint32_t tag, uint32_t *ids, size_t *count,
                                uint32_t *link)
{
    const struct otp_tags_entry *e = otp_tags_get(t->tags, tag);
    for (uint32_t i = 0; i < e->attr_count; i++) {
        struct otp_attr attr = {.kind = OTP_ATTR_STRING};
        const struct otp_tags_attr *a = otp_tags_attr(t->tags, e, i, &attr.key, &attr.string);
        if (a->is_int) {
            attr.kind = OTP_ATTR_INT;
            attr.number = a->number;
        }
        OTP_TRY(t->visitor->attr(t->visitor, &attr, &ids[(*count)++]));
    }
    return t->visitor->link(t->visitor, e->trace_id, e->span_id, link);
}

enum otp_status otp_teller_knowledge(struct otp_teller *t, uint32_t context, uint32_t tag,
                                     uint32_t ids[OTP_TELLER_ATTRS_MAX],
                                     struct otp_visit_sample *sample)
{
    size_t count = 0;
    OTP_TRY(tell_context(t, context, ids, &count));
    if (tag != OTP_TAGS_NONE) {
        OTP_TRY(tell_tag(t, tag, ids, &count, &sample->link));
    }
    sample->attrs = ids;
    sample->attr_count = count;
    return OTP_OK;
}
