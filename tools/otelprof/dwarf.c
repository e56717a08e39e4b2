/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units are found by the ranges that they state, functions by an index of each unit that is made
 * when its first address is asked for: .debug_aranges, which would be quicker, is not written by
 * all compilers. Trees of entries are walked with a stack of fixed size, since their depth is the
 * file's.
 */
#define _GNU_SOURCE /* dup3 */
#include "tools/otelprof/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/otelprof/dwp.h"

#define DWO_NAME "x" /* not longer than any other */
#define PATH_ROOM 2048
#define WALK_DEPTH 64
#define OVERLAPS_MAX 32U /* ranges that begin before an address and are looked at */

/* Addresses of something. */
struct range {
    Dwarf_Addr low;
    Dwarf_Addr high;
    uint64_t what; /* number of a unit, offset of a function's entry */
};

struct ranges {
    struct range *items;
    size_t count;
    size_t capacity;
};

struct unit {
    Dwarf_Die die;   /* as it stands in the program's file, with the table of lines */
    Dwarf_Die whole; /* the same, or, where it is split, that of its .dwo file; once indexed */
    Dwarf_Addr bias; /* of the unit's addresses against those of libdwfl */
    struct ranges functions;
    bool is_indexed;
};

/* Where units are packed (.dwp): the program's file once more, opened so that libdw looks for its
 * .dwo files in a folder of ours, which gets them one by one. */
struct package {
    struct otp_dwp *dwp; /* NULL: there is none */
    int fd;
    Elf *elf;
    Dwarf *dwarf;
    char folder[PATH_ROOM];
    char dwo[PATH_ROOM + 2];
};

struct otp_dwarf {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwfl_Callbacks callbacks;
    char *debug_path;
    Dwarf_Addr bias; /* of libdwfl's addresses against the file's */
    struct unit *units;
    size_t unit_count;
    struct ranges unit_ranges;
    bool is_listed;
    struct package package;
};

/* ---- ranges ---- */

static bool add_range(struct ranges *r, Dwarf_Addr low, Dwarf_Addr high, uint64_t what)
{
    if (low >= high) {
        return true;
    }
    if (r->count == r->capacity) {
        size_t capacity = r->capacity * 2 + 64;
        struct range *items = realloc(r->items, capacity * sizeof(items[0]));
        if (items == NULL) {
            return false;
        }
        r->items = items;
        r->capacity = capacity;
    }
    r->items[r->count++] = (struct range){.low = low, .high = high, .what = what};
    return true;
}

/* Adds all ranges of an entry. */
static bool add_ranges(struct ranges *r, Dwarf_Die *die, uint64_t what)
{
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    ptrdiff_t next = 0;
    bool ok = true;

    while (ok && (next = dwarf_ranges(die, next, &base, &low, &high)) > 0) {
        ok = add_range(r, low, high, what);
    }
    return ok;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct range *a = left;
    const struct range *b = right;
    int diff = (a->low > b->low) - (a->low < b->low);
    return diff != 0 ? diff : (a->high < b->high) - (a->high > b->high);
}

static void sort_ranges(struct ranges *r)
{
    if (r->count > 0) {
        qsort(r->items, r->count, sizeof(r->items[0]), compare_ranges);
    }
}

/* The range with the latest start that holds an address, NULL: none. */
static const struct range *find_range(const struct ranges *r, Dwarf_Addr address)
{
    size_t low = 0;
    size_t high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->items[middle].low <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = 0; i < OVERLAPS_MAX && i < low; i++) {
        const struct range *found = &r->items[low - 1 - i];
        if (address < found->high) {
            return found;
        }
    }
    return NULL;
}

/* ---- packages ---- */

/* Opens the file with the units' heads so that libdw takes p->folder for the folder it is in: it
 * asks where the descriptor leads to. */
static bool open_in_folder(struct package *p, const char *path)
{
    p->fd = open(path, O_RDONLY | O_CLOEXEC);
    p->elf = p->fd < 0 ? NULL : elf_begin(p->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    int fd = p->elf == NULL ? -1 : open(p->dwo, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && dup3(fd, p->fd, O_CLOEXEC) >= 0;
    p->dwarf = ok ? dwarf_begin_elf(p->elf, DWARF_C_READ, NULL) : NULL;
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(p->dwo);
    }
    return p->dwarf != NULL;
}

static void close_package(struct package *p)
{
    if (p->dwp == NULL) {
        return;
    }
    (void)dwarf_end(p->dwarf);
    (void)elf_end(p->elf);
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    if (p->folder[0] != '\0') {
        (void)rmdir(p->folder);
    }
    otp_dwp_close(p->dwp);
    p->dwp = NULL;
}

static void open_package(struct package *p, const char *path, const char *beside)
{
    char name[PATH_ROOM];
    const char *tmp = getenv("TMPDIR");

    p->fd = -1;
    if (beside == NULL || snprintf(name, sizeof(name), "%s.dwp", beside) >= (int)sizeof(name)) {
        return;
    }
    p->dwp = otp_dwp_open(name);
    if (p->dwp == NULL) {
        return;
    }
    int len = snprintf(p->folder, sizeof(p->folder), "%s/otelprof.XXXXXX",
                       tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp);
    if (len >= (int)sizeof(p->folder) || mkdtemp(p->folder) == NULL) {
        p->folder[0] = '\0';
        close_package(p);
        return;
    }
    (void)snprintf(p->dwo, sizeof(p->dwo), "%s/%s", p->folder, DWO_NAME);
    if (!open_in_folder(p, path)) {
        close_package(p);
    }
}

/* ---- opening ---- */

struct otp_dwarf *otp_dwarf_open(const char *path, const char *debug_path)
{
    struct otp_dwarf *d = calloc(1, sizeof(*d));

    if (d == NULL) {
        return NULL;
    }
    d->debug_path = strdup(debug_path);
    d->callbacks.find_elf = dwfl_build_id_find_elf;
    d->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    d->callbacks.section_address = dwfl_offline_section_address;
    d->callbacks.debuginfo_path = &d->debug_path;
    d->dwfl = d->debug_path == NULL ? NULL : dwfl_begin(&d->callbacks);
    if (d->dwfl != NULL) {
        dwfl_report_begin(d->dwfl);
        d->module = dwfl_report_elf(d->dwfl, path, path, -1, 0, false);
        (void)dwfl_report_end(d->dwfl, NULL, NULL); /* there is nothing to be removed */
    }
    if (d->module == NULL || dwfl_module_getelf(d->module, &d->bias) == NULL) {
        otp_dwarf_close(d);
        return NULL;
    }
    return d;
}

void otp_dwarf_close(struct otp_dwarf *d)
{
    if (d == NULL) {
        return;
    }
    for (size_t i = 0; i < d->unit_count; i++) {
        free(d->units[i].functions.items);
    }
    free(d->units);
    free(d->unit_ranges.items);
    close_package(&d->package);
    if (d->dwfl != NULL) {
        dwfl_end(d->dwfl);
    }
    free(d->debug_path);
    free(d);
}

/* ---- units that are elsewhere ---- */

/* Puts the .dwo file of a unit where libdw will look for it; false: it is in no package. */
static bool put_dwo(struct package *p, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    uint64_t id;
    bool has_name = dwarf_attr(die, DW_AT_dwo_name, &attribute) != NULL ||
                    dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute) != NULL;
    const char *name = has_name ? dwarf_formstring(&attribute) : NULL;

    if (name == NULL || name[0] == '\0' ||
        dwarf_cu_info(die->cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) != 0) {
        return false;
    }
    int fd = open(p->dwo, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && otp_dwp_write(p->dwp, id, fd);
    if (fd >= 0) {
        (void)close(fd); /* what is not whole is not read */
    }
    /* Whatever it was called, now it is called DWO_NAME: the text is in a mapping of our own. */
    memcpy((char *)(uintptr_t)name, DWO_NAME, sizeof(DWO_NAME));
    return ok;
}

/* The unit with all of its entries: a compiler may leave most of them in another file. */
static Dwarf_Die whole_of(struct otp_dwarf *d, Dwarf_Die *die)
{
    Dwarf_Die split;
    uint8_t type;

    if (dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 ||
        type != DW_UT_skeleton) {
        return *die;
    }
    if (d->package.dwp != NULL) {
        (void)put_dwo(&d->package, die); /* if not, libdw finds nothing there */
    }
    bool is_found = dwarf_cu_info(die->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
                    dwarf_tag(&split) == DW_TAG_compile_unit;
    if (d->package.dwp != NULL) {
        (void)unlink(d->package.dwo); /* libdw has read it */
    }
    return is_found ? split : *die;
}

/* ---- which function ---- */

/* Entries under which functions may be defined. */
static bool may_hold_functions(int tag)
{
    return tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit || tag == DW_TAG_namespace ||
           tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_common_block;
}

/* Steps to the next entry of a walk, which may have to go up for it; false: that was the last. */
static bool walk_on(Dwarf_Die *path, int *depth)
{
    while (*depth > 0) {
        Dwarf_Die next;
        if (dwarf_siblingof(&path[*depth], &next) == 0) {
            path[*depth] = next;
            return true;
        }
        (*depth)--;
    }
    return false;
}

static bool index_functions(struct otp_dwarf *d, struct unit *u)
{
    Dwarf_Die path[WALK_DEPTH];
    int depth = 0;
    bool ok = true;

    u->is_indexed = true;
    u->whole = whole_of(d, &u->die);
    path[0] = u->whole;
    if (dwarf_child(&path[0], &path[1]) != 0) {
        return true;
    }
    depth = 1;
    do {
        int tag = dwarf_tag(&path[depth]);
        if (tag == DW_TAG_subprogram) {
            ok = add_ranges(&u->functions, &path[depth], dwarf_dieoffset(&path[depth]));
        }
        if (may_hold_functions(tag) && depth + 1 < WALK_DEPTH &&
            dwarf_child(&path[depth], &path[depth + 1]) == 0) {
            depth++;
        } else if (!walk_on(path, &depth)) {
            break;
        }
    } while (ok);
    sort_ranges(&u->functions);
    return ok;
}

static bool add_unit(struct otp_dwarf *d, Dwarf_Die *die, Dwarf_Addr bias, size_t *capacity)
{
    if (d->unit_count == *capacity) {
        *capacity = *capacity * 2 + 64;
        struct unit *units = realloc(d->units, *capacity * sizeof(units[0]));
        if (units == NULL) {
            return false;
        }
        d->units = units;
    }
    struct unit *u = &d->units[d->unit_count];
    *u = (struct unit){.die = *die, .bias = bias};
    size_t before = d->unit_ranges.count;
    bool ok = add_ranges(&d->unit_ranges, die, d->unit_count);
    d->unit_count++;
    if (ok && d->unit_ranges.count == before) { /* it does not state its ranges */
        ok = index_functions(d, u);
        for (size_t i = 0; i < u->functions.count && ok; i++) {
            ok = add_range(&d->unit_ranges, u->functions.items[i].low, u->functions.items[i].high,
                           d->unit_count - 1);
        }
    }
    for (size_t i = before; i < d->unit_ranges.count; i++) { /* into libdwfl's space */
        d->unit_ranges.items[i].low += bias;
        d->unit_ranges.items[i].high += bias;
    }
    return ok;
}

/* Units whose entries are in a package; false: there is none. */
static bool list_packed(struct otp_dwarf *d)
{
    const char *main_file = NULL;
    const char *debug_file = NULL;
    size_t capacity = 0;
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    bool ok = true;

    (void)dwfl_module_info(d->module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
    const char *path = debug_file != NULL ? debug_file : main_file;
    if (path == NULL) {
        return false;
    }
    open_package(&d->package, path, path);
    if (d->package.dwp == NULL) {
        open_package(&d->package, path, main_file);
    }
    if (d->package.dwp == NULL) {
        return false;
    }
    while (ok && dwarf_get_units(d->package.dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
        ok = add_unit(d, &die, d->bias, &capacity);
    }
    return true;
}

/* Lists the units. */
static void list_units(struct otp_dwarf *d)
{
    Dwarf_Addr bias;
    size_t capacity = 0;
    Dwarf_Die *die = NULL;
    bool ok = true;

    d->is_listed = true;
    if (dwfl_module_getdwarf(d->module, &bias) == NULL) {
        return;
    }
    ok = !list_packed(d);
    while (ok && (die = dwfl_module_nextcu(d->module, die, &bias)) != NULL) {
        ok = add_unit(d, die, bias, &capacity);
    }
    sort_ranges(&d->unit_ranges);
}

bool otp_dwarf_has_info(struct otp_dwarf *d)
{
    if (!d->is_listed) {
        list_units(d);
    }
    return d->unit_count > 0;
}

/* ---- what is at an address ---- */

static const char *text_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

static int64_t number_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute found;
    Dwarf_Word value;

    if (dwarf_formudata(dwarf_attr_integrate(die, attribute, &found), &value) != 0 ||
        value > INT32_MAX) {
        return 0;
    }
    return (int64_t)value;
}

/* The file that number `attribute` of an entry names in its unit. */
static const char *file_of(struct unit *u, Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Files *files;
    size_t count;
    int64_t number = number_of(die, attribute);

    if (dwarf_getsrcfiles(&u->whole, &files, &count) != 0 || number < 0 ||
        (size_t)number >= count) {
        return NULL;
    }
    return dwarf_filesrc(files, (size_t)number, NULL, NULL);
}

static void name_frame(Dwarf_Die *die, struct otp_dwarf_frame *frame)
{
    frame->name = text_of(die, DW_AT_name);
    frame->linkage_name = text_of(die, DW_AT_linkage_name);
    if (frame->linkage_name == NULL) {
        frame->linkage_name = text_of(die, DW_AT_MIPS_linkage_name);
    }
    frame->start_line = number_of(die, DW_AT_decl_line);
}

/* The child of an entry that holds the address: an inlined call, a block, a nested function. */
static bool child_at(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *out_child)
{
    if (dwarf_child(parent, out_child) != 0) {
        return false;
    }
    do {
        int tag = dwarf_tag(out_child);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
             tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_subprogram) &&
            dwarf_haspc(out_child, address) > 0) {
            return true;
        }
    } while (dwarf_siblingof(out_child, out_child) == 0);
    return false;
}

/* The function and the calls inlined into it at an address, outermost first. */
static size_t collect(Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die *out_dies)
{
    Dwarf_Die at = *function;
    size_t count = 1;

    out_dies[0] = *function;
    for (int steps = 0; steps < 4 * OTP_DWARF_DEPTH && count < OTP_DWARF_DEPTH; steps++) {
        Dwarf_Die child;
        if (!child_at(&at, address, &child)) {
            break;
        }
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) {
            count = 0; /* its caller is on the stack */
        }
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
            out_dies[count++] = child;
        }
        at = child;
    }
    return count;
}

static void place_by_line(struct unit *u, Dwarf_Addr address, struct otp_dwarf_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&u->die, address);
    int number;

    if (line == NULL) {
        return;
    }
    frame->file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_lineno(line, &number) == 0 && number > 0) {
        frame->line = number;
    }
    if (dwarf_linecol(line, &number) == 0 && number > 0) {
        frame->column = number;
    }
}

static size_t frames_of_unit(struct otp_dwarf *d, struct unit *u, Dwarf_Addr address,
                             struct otp_dwarf_frame *out_frames)
{
    Dwarf_Die dies[OTP_DWARF_DEPTH];
    Dwarf_Die function;
    size_t count = 0;

    if (!u->is_indexed) {
        (void)index_functions(d, u); /* without memory for it some functions are not found */
    }
    const struct range *r = find_range(&u->functions, address);
    if (r != NULL && dwarf_offdie(dwarf_cu_getdwarf(u->whole.cu), r->what, &function)) {
        count = collect(&function, address, dies);
    }
    memset(out_frames, 0, (count == 0 ? 1 : count) * sizeof(out_frames[0]));
    place_by_line(u, address, &out_frames[0]);
    for (size_t i = 0; i < count; i++) {
        Dwarf_Die *die = &dies[count - 1 - i];
        name_frame(die, &out_frames[i]);
        if (i + 1 < count) { /* where it was inlined is where its caller was */
            out_frames[i + 1].file = file_of(u, die, DW_AT_call_file);
            out_frames[i + 1].line = number_of(die, DW_AT_call_line);
            out_frames[i + 1].column = number_of(die, DW_AT_call_column);
        }
    }
    return count > 0 ? count : out_frames[0].line > 0;
}

size_t otp_dwarf_find(struct otp_dwarf *d, uint64_t vaddr, struct otp_dwarf_frame *out_frames)
{
    if (!otp_dwarf_has_info(d)) {
        return 0;
    }
    Dwarf_Addr address = vaddr + d->bias;
    const struct range *r = find_range(&d->unit_ranges, address);
    if (r == NULL) {
        return 0;
    }
    struct unit *u = &d->units[r->what];
    return frames_of_unit(d, u, address - u->bias, out_frames);
}
