/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is used only when it is the one that was profiled: by build id, else by htlhash, else,
 * where the profile has neither, by its path.
 */
#include "tools/otelprof/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/heap.h"
#include "core/encode/pool.h"
#include "core/symbol/buildid.h"
#include "core/symbol/demangle.h"
#include "core/symbol/symbols.h"
#include "tools/otelprof/debugserver.h"
#include "tools/otelprof/dwarf.h"
#include "tools/otelprof/show.h"

#define PATH_ROOM 3072
#define NAME_MAX_BYTES ((size_t)64 << 10)
#define PAGE_MASK (~(uint64_t)4095)

/* A mapped file that a profile names. */
struct module {
    struct otp_text path;
    struct otp_text hex;         /* its build id, may be empty */
    struct otp_text hash;        /* its htlhash, may be empty */
    const char *why;             /* what keeps names or lines away, NULL: nothing is known to */
    struct otp_symbols *symbols; /* NULL: no file was found */
    struct otp_dwarf *dwarf;     /* NULL: none */
    uint64_t locations;
    uint64_t named;
    uint64_t placed; /* with a line number */
};

struct otp_symbolizer {
    struct otp_heap heap; /* of the symbols */
    struct otp_heap text_heap;
    struct otp_arena texts; /* of one location */
    struct otp_buf readable;
    char *roots;
    char *debug_path;
    struct module **modules;
    size_t module_count;
    struct otp_debugserver *server;
    const char *server_why; /* why there is no server although one is wanted */
    bool server_asked;
    struct otp_dwarf_frame frames[OTP_DWARF_DEPTH];
    struct otp_visit_line lines[OTP_DWARF_DEPTH];
};

/* ---- making ---- */

/* Where libdw looks: each root as a system and by itself, then where it would look anyway. */
static char *make_debug_path(const char *roots)
{
    static const char usual[] = ".debug:/usr/lib/debug";
    size_t count = 2;
    for (const char *c = roots; *c != '\0'; c++) {
        count += *c == ':';
    }
    size_t room = 2 * strlen(roots) + count * sizeof("/usr/lib/debug::") + sizeof(usual);
    char *out = malloc(room);
    size_t len = 0;
    while (out != NULL && *roots != '\0') {
        size_t part = strcspn(roots, ":");
        if (part > 0) {
            len += (size_t)snprintf(out + len, room - len, "%.*s/usr/lib/debug:%.*s:", (int)part,
                                    roots, (int)part, roots);
        }
        roots += part + (roots[part] == ':');
    }
    if (out != NULL) {
        (void)snprintf(out + len, room - len, "%s", usual);
    }
    return out;
}

struct otp_symbolizer *otp_symbolizer_create(const char *roots)
{
    struct otp_symbolizer *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    otp_heap_init(&s->heap, SIZE_MAX / 2);
    otp_heap_init(&s->text_heap, SIZE_MAX / 2);
    otp_arena_init(&s->texts, &s->text_heap);
    otp_buf_init(&s->readable, &s->heap, NAME_MAX_BYTES);
    s->roots = strdup(roots);
    s->debug_path = make_debug_path(roots);
    if (s->roots == NULL || s->debug_path == NULL) {
        otp_symbolizer_destroy(s);
        return NULL;
    }
    return s;
}

void otp_symbolizer_destroy(struct otp_symbolizer *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->module_count; i++) {
        otp_symbols_destroy(s->modules[i]->symbols);
        otp_dwarf_close(s->modules[i]->dwarf);
        free(s->modules[i]);
    }
    free(s->modules);
    otp_debugserver_close(s->server);
    otp_heap_reset(&s->heap);
    otp_heap_reset(&s->text_heap);
    free(s->roots);
    free(s->debug_path);
    free(s);
}

/* ---- files ---- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The bytes of a build id in hex; how many, 0: it is none. */
static size_t bytes_of_hex(struct otp_text hex, uint8_t out[OTP_ELF_BUILD_ID_MAX])
{
    if (hex.len % 2 != 0 || hex.len / 2 > OTP_ELF_BUILD_ID_MAX) {
        return 0;
    }
    for (size_t i = 0; i < hex.len / 2; i++) {
        int high = digit_of(hex.data[2 * i]);
        int low = digit_of(hex.data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return 0;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return hex.len / 2;
}

/* Uses the file when it is the module's. */
static bool try_file(struct otp_symbolizer *s, struct module *m, const char *path)
{
    uint8_t id[OTP_ELF_BUILD_ID_MAX];
    struct otp_symbol_source source = {.path = path, .build_id = id};
    struct otp_symbols *symbols;

    source.build_id_len = bytes_of_hex(m->hex, id);
    if (m->hex.len > 0 && source.build_id_len == 0 && m->hash.len == 0) {
        return false; /* it has an id, but nothing that a file can be compared with */
    }
    if (otp_symbols_open(&s->heap, &source, &symbols) != OTP_OK) {
        return false;
    }
    bool ok = otp_symbols_file_status(symbols) == OTP_OK;
    if (ok && source.build_id_len == 0 && m->hash.len > 0) {
        const char *hash = otp_symbols_htlhash_hex(symbols);
        ok = strlen(hash) == m->hash.len && memcmp(hash, m->hash.data, m->hash.len) == 0;
    }
    if (!ok) {
        otp_symbols_destroy(symbols);
        return false;
    }
    m->symbols = symbols;
    m->dwarf = otp_dwarf_open(path, s->debug_path);
    return true;
}

/* Tries the file of the build id in a debug directory. */
static bool try_build_id(struct otp_symbolizer *s, struct module *m, const char *root, size_t len,
                         const char *folder)
{
    char path[PATH_ROOM];
    uint8_t id[OTP_ELF_BUILD_ID_MAX];
    if (bytes_of_hex(m->hex, id) < 2) { /* what is no id may be a path to anywhere */
        return false;
    }
    int n = snprintf(path, sizeof(path), "%.*s%s/.build-id/%.2s/%.*s.debug", (int)len, root, folder,
                     m->hex.data, (int)m->hex.len - 2, m->hex.data + 2);
    return n > 0 && (size_t)n < sizeof(path) && try_file(s, m, path);
}

static bool try_path(struct otp_symbolizer *s, struct module *m, const char *root, size_t len)
{
    char path[PATH_ROOM];
    int n =
        snprintf(path, sizeof(path), "%.*s%.*s", (int)len, root, (int)m->path.len, m->path.data);
    return n > 0 && (size_t)n < sizeof(path) && m->path.len > 0 && m->path.data[0] == '/' &&
           try_file(s, m, path);
}

static bool try_root(struct otp_symbolizer *s, struct module *m, const char *root, size_t len)
{
    return try_path(s, m, root, len) || try_build_id(s, m, root, len, "") ||
           try_build_id(s, m, root, len, "/usr/lib/debug");
}

static bool try_server(struct otp_symbolizer *s, struct module *m)
{
    uint8_t id[OTP_ELF_BUILD_ID_MAX];
    size_t len = bytes_of_hex(m->hex, id);
    int status = 0;

    if (len == 0 || !otp_debugserver_is_wanted()) {
        return false;
    }
    if (!s->server_asked) {
        s->server_asked = true;
        s->server = otp_debugserver_open(&s->server_why);
    }
    if (s->server == NULL) {
        m->why = s->server_why;
        return false;
    }
    char *path = otp_debugserver_fetch(s->server, id, len, &status);
    bool ok = path != NULL && try_file(s, m, path);
    if (!ok) {
        m->why = "no file of that build id is here or on the servers";
    }
    free(path);
    return ok;
}

static void open_module(struct otp_symbolizer *s, struct module *m)
{
    bool found = false;
    for (const char *root = s->roots; *root != '\0' && !found;) {
        size_t len = strcspn(root, ":");
        found = len > 0 && try_root(s, m, root, len);
        root += len + (root[len] == ':');
    }
    m->why = m->hex.len > 0    ? "no file of that build id is here"
             : m->path.len > 0 ? "the file is not here, or not the one that was profiled"
                               : "neither a file nor a build id is named";
    found = found || try_path(s, m, "", 0) || try_build_id(s, m, "", 0, "/usr/lib/debug") ||
            try_server(s, m);
    if (found) {
        m->why = m->dwarf == NULL || !otp_dwarf_has_info(m->dwarf)
                     ? "there is no debug information of it"
                     : NULL;
    }
}

static bool same_text(struct otp_text a, struct otp_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static struct otp_text attr_text(const struct otp_profiles *m, uint32_t list, const char *key)
{
    return otp_profiles_value_text(m, otp_profiles_find_attr(m, list, key));
}

static struct otp_text copy_text(struct otp_symbolizer *s, struct otp_text text)
{
    return otp_text_of(otp_heap_copy_string(&s->heap, text.data, text.len));
}

/* The module of a mapping, opened when it is met first; NULL: no memory. */
static struct module *module_of(struct otp_symbolizer *s, const struct otp_profiles *m,
                                const struct otp_mapping *map)
{
    struct otp_text path = otp_profiles_string(m, map->filename);
    struct otp_text hex = attr_text(m, map->attrs, "process.executable.build_id.gnu");
    struct otp_text hash = attr_text(m, map->attrs, "process.executable.build_id.htlhash");
    for (size_t i = 0; i < s->module_count; i++) {
        struct module *known = s->modules[i];
        if (same_text(known->path, path) && same_text(known->hex, hex) &&
            same_text(known->hash, hash)) {
            return known;
        }
    }
    struct module **modules = realloc(s->modules, (s->module_count + 1) * sizeof(modules[0]));
    struct module *new = calloc(1, sizeof(*new));
    if (modules != NULL) {
        s->modules = modules;
    }
    if (modules == NULL || new == NULL) {
        free(new);
        return NULL;
    }
    new->path = copy_text(s, path);
    new->hex = copy_text(s, hex);
    new->hash = copy_text(s, hash);
    s->modules[s->module_count++] = new;
    open_module(s, new);
    return new;
}

/* ---- addresses ---- */

/* Is the address one of the file's own address space already? */
static bool is_elf_address(const struct otp_mapping *map, const struct otp_elf_segment *seg,
                           uint64_t address)
{
    bool is_inside = address >= seg->vaddr && address - seg->vaddr < seg->memsz;
    bool is_unknown = map->start == 0 && map->limit == 0;
    return is_inside && (is_unknown || (map->start >= (seg->vaddr & PAGE_MASK) &&
                                        map->start - (seg->vaddr & PAGE_MASK) < seg->memsz));
}

/*
 * The ELF virtual address: what it is already, else by the place in the file, as the mapping and
 * the file's segments say it.
 */
static bool vaddr_of(const struct module *mod, const struct otp_mapping *map, uint64_t address,
                     uint64_t *out_vaddr)
{
    size_t count;
    const struct otp_elf_segment *segments = otp_symbols_segments(mod->symbols, &count);
    for (size_t i = 0; i < count; i++) {
        if (is_elf_address(map, &segments[i], address)) {
            *out_vaddr = address;
            return true;
        }
    }
    if (address < map->start) {
        return false;
    }
    uint64_t offset = address - map->start + map->file_offset;
    for (size_t i = 0; i < count; i++) {
        const struct otp_elf_segment *seg = &segments[i];
        /* A debug file may have kept the place in the file, but not the bytes. */
        uint64_t size = seg->filesz > 0 ? seg->filesz : seg->memsz;
        if (offset >= seg->file_offset && offset - seg->file_offset < size) {
            *out_vaddr = offset - seg->file_offset + seg->vaddr;
            return true;
        }
    }
    return false;
}

/* ---- lines ---- */

static struct otp_text keep_text(struct otp_symbolizer *s, struct otp_text text)
{
    char *copy = otp_arena_alloc(&s->texts, text.len + 1);
    if (copy == NULL) {
        return otp_text_of("");
    }
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return otp_text_make(copy, text.len);
}

/* As a person wants to read it. */
static struct otp_text readable_name(struct otp_symbolizer *s, struct otp_text raw)
{
    otp_buf_clear(&s->readable);
    if (!otp_demangle(raw, &s->readable)) {
        return raw;
    }
    return keep_text(s, otp_text_make((const char *)s->readable.data, s->readable.len));
}

static struct otp_visit_line line_of_frame(struct otp_symbolizer *s,
                                           const struct otp_dwarf_frame *f)
{
    struct otp_text name = otp_text_of(f->name);
    struct otp_text linkage = otp_text_of(f->linkage_name);
    struct otp_visit_line line = {.name = linkage.len > 0 ? readable_name(s, linkage) : name,
                                  .system_name = linkage.len > 0 ? linkage : name,
                                  .filename = otp_text_of(f->file),
                                  .start_line = f->start_line,
                                  .line = f->line,
                                  .column = f->column};
    return line;
}

static void take_symbol(struct otp_symbolizer *s, struct module *mod, uint64_t vaddr,
                        struct otp_visit_line *line)
{
    struct otp_symbol symbol;
    if (otp_symbols_find(mod->symbols, vaddr, &symbol)) {
        line->system_name = keep_text(s, symbol.name);
        line->name = readable_name(s, line->system_name);
    }
}

/* What debug information and symbols say of an address, into s->lines; how many. */
static size_t look_up(struct otp_symbolizer *s, struct module *mod, uint64_t vaddr)
{
    size_t count = mod->dwarf == NULL ? 0 : otp_dwarf_find(mod->dwarf, vaddr, s->frames);
    for (size_t i = 0; i < count; i++) {
        s->lines[i] = line_of_frame(s, &s->frames[i]);
    }
    if (count == 0) {
        s->lines[0] = (struct otp_visit_line){.line = 0};
    }
    struct otp_visit_line *outermost = &s->lines[count == 0 ? 0 : count - 1];
    if (outermost->name.len == 0) {
        take_symbol(s, mod, vaddr, outermost);
    }
    return count > 0 ? count : outermost->name.len > 0;
}

static struct otp_text told_name(const struct otp_profiles *m, const struct otp_location *l,
                                 size_t i, bool is_system)
{
    const struct otp_source_line *line = otp_profiles_line(m, l->lines.first + (uint32_t)i);
    const struct otp_function *f = otp_profiles_function(m, line->function);
    return otp_profiles_string(m, is_system ? f->system_name : f->name);
}

/* What a location says already. */
struct told {
    bool is_named;
    bool is_placed;
};

static struct told told_of(const struct otp_profiles *m, const struct otp_location *l)
{
    struct told t = {.is_named = false};
    for (uint32_t i = 0; i < l->lines.count; i++) {
        t.is_named =
            t.is_named || told_name(m, l, i, false).len > 0 || told_name(m, l, i, true).len > 0;
        t.is_placed = t.is_placed || otp_profiles_line(m, l->lines.first + i)->line > 0;
    }
    return t;
}

/*
 * Keeps the names that are there: of the function itself, and of inlined ones when there are as
 * many. False: less would be known than before.
 */
static bool keep_names(struct otp_symbolizer *s, const struct otp_profiles *m,
                       const struct otp_location *l, size_t count)
{
    if (count < l->lines.count || (count == 1 && s->lines[0].line == 0)) {
        return false;
    }
    for (size_t i = 0; i < l->lines.count; i++) {
        struct otp_visit_line *to = &s->lines[count - 1 - i];
        size_t from = l->lines.count - 1 - i;
        if (told_name(m, l, from, false).len > 0 && (i == 0 || count == l->lines.count)) {
            to->name = told_name(m, l, from, false);
            to->system_name = told_name(m, l, from, true);
        }
    }
    return true;
}

const struct otp_visit_line *otp_symbolizer_lines(struct otp_symbolizer *s,
                                                  const struct otp_profiles *m,
                                                  const struct otp_location *l, size_t *out_count)
{
    const struct otp_mapping *map = otp_profiles_mapping(m, l->mapping);
    struct module *mod = module_of(s, m, map);
    struct told told = told_of(m, l);
    uint64_t vaddr;
    size_t count = 0;

    *out_count = 0;
    if (mod == NULL) {
        return NULL;
    }
    otp_arena_fini(&s->texts);
    mod->locations++;
    if (!told.is_placed && mod->symbols != NULL && vaddr_of(mod, map, l->address, &vaddr)) {
        count = look_up(s, mod, vaddr);
    }
    if (count > 0 && told.is_named && !keep_names(s, m, l, count)) {
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        told.is_named = told.is_named || s->lines[i].name.len > 0;
        told.is_placed = told.is_placed || s->lines[i].line > 0;
    }
    mod->named += told.is_named;
    mod->placed += told.is_placed;
    *out_count = count;
    return count > 0 ? s->lines : NULL;
}

/* ---- what came of it ---- */

static const char *reason_of(const struct module *m)
{
    return m->why != NULL ? m->why : "the debug information says nothing of them";
}

static void report_module(const struct module *m)
{
    (void)fprintf(stderr, "otelprof symbolize: ");
    otp_show_text(stderr, m->path.len > 0 ? m->path : otp_text_of("(no file)"));
    if (m->hex.len > 0) {
        (void)fputs(" (build id ", stderr);
        otp_show_text(stderr, m->hex);
        (void)fputs(")", stderr);
    }
    (void)fprintf(stderr,
                  ": of %" PRIu64 " locations %" PRIu64 " without a name, %" PRIu64
                  " without a line: %s\n",
                  m->locations, m->locations - m->named, m->locations - m->placed, reason_of(m));
}

/* What was found in all files, or in one. */
struct found {
    uint64_t locations;
    uint64_t named;
    uint64_t placed;
};

static struct found found_in_all(const struct otp_symbolizer *s)
{
    struct found f = {.locations = 0};

    for (size_t i = 0; i < s->module_count; i++) {
        f.locations += s->modules[i]->locations;
        f.named += s->modules[i]->named;
        f.placed += s->modules[i]->placed;
    }
    return f;
}

static void put_found(struct otp_jsonout *j, struct found f)
{
    otp_jsonout_uint(j, "locations", f.locations);
    otp_jsonout_uint(j, "with_name", f.named);
    otp_jsonout_uint(j, "with_line", f.placed);
}

static void put_module(struct otp_jsonout *j, const struct module *m)
{
    const struct found f = {m->locations, m->named, m->placed};

    otp_jsonout_row(j, NULL);
    otp_jsonout_text(j, "file", m->path);
    otp_jsonout_text(j, "build_id", m->hex);
    put_found(j, f);
    otp_jsonout_string(j, "why", m->placed < m->locations ? reason_of(m) : NULL);
    otp_jsonout_close(j);
}

static void put_report(const struct otp_symbolizer *s, struct otp_jsonout *j)
{
    otp_jsonout_object(j, "symbols");
    put_found(j, found_in_all(s));
    otp_jsonout_list(j, "files");
    for (size_t i = 0; i < s->module_count; i++) {
        put_module(j, s->modules[i]);
    }
    otp_jsonout_close(j);
    otp_jsonout_close(j);
}

void otp_symbolizer_report(const struct otp_symbolizer *s, struct otp_jsonout *json)
{
    struct found f = found_in_all(s);

    if (json != NULL) {
        put_report(s, json);
        return;
    }
    for (size_t i = 0; i < s->module_count; i++) {
        if (s->modules[i]->placed < s->modules[i]->locations) {
            report_module(s->modules[i]);
        }
    }
    (void)fprintf(stderr,
                  "otelprof symbolize: %" PRIu64 " locations, %" PRIu64 " with a name, %" PRIu64
                  " with a line\n",
                  f.locations, f.named, f.placed);
}
