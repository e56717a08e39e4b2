/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables of files: this program and libc, replaced and deleted files, separate debug files.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/symbol/maps.h"
#include "core/symbol/objfile.h"
#include "core/symbol/strtab.h"
#include "core/symbol/symbols.h"
#include "tests/unit/run.h"
#include "tests/unit/symbol_elf.h"

#define PATH_BYTES 512
#define FUNC ELF64_ST_INFO(STB_LOCAL, STT_FUNC)

static struct otp_heap heap;
static struct symbol_elf object;
static char folder[] = "/tmp/otp-symbol-XXXXXX";
static char path[PATH_BYTES];
static size_t open_before;

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)8 << 20);
    symbol_elf_make(&object);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    open_before = count_descriptors();
}

static void tear_down(void)
{
    char command[64];
    ck_assert_uint_eq(count_descriptors(), open_before);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
    otp_heap_reset(&heap);
}

static struct otp_symbols *open_source(const struct otp_symbol_source *source)
{
    struct otp_symbols *s;
    ck_assert_int_eq(otp_symbols_open(&heap, source, &s), OTP_OK);
    return s;
}

static bool has(struct otp_symbols *s, uint64_t addr, const char *name)
{
    struct otp_symbol symbol;
    return otp_symbols_find(s, addr, &symbol) && symbol.name.len == strlen(name) &&
           memcmp(symbol.name.data, name, symbol.name.len) == 0;
}

/* ---- this process ---- */

struct loaded {
    const void *addr; /* in: of something in the object */
    uint64_t bias;
    const uint8_t *build_id;
    size_t build_id_len;
};

static void read_notes(struct loaded *l, const struct dl_phdr_info *info, const ElfW(Phdr) * ph)
{
    const char *at = (const char *)info->dlpi_addr + ph->p_vaddr;
    const char *end = at + ph->p_memsz;
    while (at < end) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof(note));
        at += sizeof(note);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at, "GNU", 4) == 0) {
            l->build_id = (const uint8_t *)at + 4;
            l->build_id_len = note.n_descsz;
        }
        at += ((note.n_namesz + 3) & ~3U) + ((note.n_descsz + 3) & ~3U);
    }
}

static int find_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct loaded *l = arg;
    bool mine = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + ph->p_vaddr;
        mine = mine || (ph->p_type == PT_LOAD && (uint64_t)l->addr - start < ph->p_memsz);
    }
    for (int i = 0; mine && i < info->dlpi_phnum; i++) {
        l->bias = info->dlpi_addr;
        if (info->dlpi_phdr[i].p_type == PT_NOTE && info->dlpi_phdr[i].p_align == 4) {
            read_notes(l, info, &info->dlpi_phdr[i]);
        }
    }
    return mine;
}

OTP_NOINLINE static uint64_t a_function_of_this_program(uint64_t x)
{
    __asm__ volatile("" : "+r"(x));
    return x * 3;
}

START_TEST(test_own_program)
{
    uint64_t (*function)(uint64_t) = a_function_of_this_program;
    struct loaded l = {.addr = (const void *)(uintptr_t)function};
    ck_assert_int_eq(dl_iterate_phdr(find_loaded, &l), 1);
    struct otp_symbol_source source = {.path = "",
                                       .alt_path = "/proc/self/exe",
                                       .build_id = l.build_id,
                                       .build_id_len = l.build_id_len};
    struct otp_symbols *s = open_source(&source);
    uint64_t addr = (uint64_t)(uintptr_t)function - l.bias;
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_OK);
    ck_assert(has(s, addr, "a_function_of_this_program"));
    ck_assert(has(s, addr + 4, "a_function_of_this_program"));
    ck_assert_ptr_nonnull(otp_symbols_segment(s, addr));
    ck_assert_uint_eq(strlen(otp_symbols_build_id_hex(s)), 2 * l.build_id_len);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_libc)
{
    Dl_info info;
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    struct loaded l = {.addr = dlsym(libc, "qsort_r")};
    ck_assert_int_ne(dladdr(l.addr, &info), 0);
    ck_assert_int_eq(dl_iterate_phdr(find_loaded, &l), 1);
    ck_assert_uint_gt(l.build_id_len, 0);
    struct otp_symbol_source source = {
        .path = info.dli_fname, .build_id = l.build_id, .build_id_len = l.build_id_len};
    struct otp_symbols *s = open_source(&source);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_OK);
    ck_assert_str_eq(otp_symbols_path(s), info.dli_fname);
    ck_assert(has(s, (uint64_t)l.addr - l.bias, "qsort_r"));
    ck_assert(has(s, (uint64_t)l.addr - l.bias + 1, "qsort_r"));
    ck_assert_uint_gt(otp_symbols_count(s), 2000);
    otp_symbols_destroy(s);

    uint8_t other[64];
    memcpy(other, l.build_id, l.build_id_len);
    other[0] ^= 1;
    source.build_id = other;
    s = open_source(&source);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_NOT_FOUND);
    ck_assert_uint_eq(otp_symbols_count(s), 0);
    otp_symbols_destroy(s);
    dlclose(libc);
}
END_TEST

/* Looks for the kernel's object among the mappings. */
static bool find_vdso(void *arg, const struct otp_maps_entry *e)
{
    struct otp_symbol_source *source = arg;
    if (e->name.len == 6 && memcmp(e->name.data, "[vdso]", 6) == 0) {
        source->path = "[vdso]";
        source->image = (const void *)(uintptr_t)e->start;
        source->image_len = e->end - e->start;
    }
    return source->image == NULL;
}

START_TEST(test_vdso)
{
    struct otp_symbol_source source = {.path = ""};
    size_t clocks = 0;
    struct otp_symbol symbol;
    ck_assert_int_eq(otp_maps_read(&heap, NULL, find_vdso, &source), OTP_OK);
    ck_assert_ptr_nonnull(source.image);
    struct otp_symbols *s = open_source(&source);
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_OK);
    for (size_t i = 0; i < otp_symbols_count(s); i++) {
        ck_assert(otp_symbols_at(s, i, &symbol));
        ck_assert_ptr_nonnull(otp_symbols_segment(s, symbol.start));
        clocks += memmem(symbol.name.data, symbol.name.len, "clock_gettime", 13) != NULL;
    }
    ck_assert_uint_ge(clocks, 1);
    ck_assert_uint_eq(strlen(otp_symbols_htlhash_hex(s)), 32);
    ck_assert_uint_gt(strlen(otp_symbols_build_id_hex(s)), 0);
    otp_symbols_destroy(s);
}
END_TEST

/* ---- paths ---- */

static struct otp_symbol_source source_of(const char *p)
{
    struct otp_symbol_source source = {
        .path = p, .build_id = symbol_elf_build_id, .build_id_len = sizeof(symbol_elf_build_id)};
    return source;
}

/* Opens p as the object of the test; is it taken? */
static bool takes(const struct otp_symbol_source *source)
{
    struct otp_symbols *s = open_source(source);
    bool ok = otp_symbols_file_status(s) == OTP_OK;
    ck_assert_int_eq(ok, has(s, SE_TEXT_ADDR + 0x40, "exported"));
    otp_symbols_destroy(s);
    return ok;
}

START_TEST(test_deleted)
{
    char marked[PATH_BYTES + 16];
    struct otp_symbol_source source = source_of(marked);
    struct otp_symbol_source unknown = {.path = marked};
    snprintf(marked, sizeof(marked), "%s (deleted)", in_folder("lib.so"));
    ck_assert(!takes(&source));

    symbol_elf_write(in_folder("lib.so"), object.bytes, SE_SIZE);
    struct otp_symbols *s = open_source(&source);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_OK);
    ck_assert_str_eq(otp_symbols_path(s), path);
    otp_symbols_destroy(s);
    ck_assert(!takes(&unknown)); /* may be any file by now */

    object.bytes[SE_NOTE + 16] ^= 1;
    symbol_elf_write(in_folder("lib.so"), object.bytes, SE_SIZE);
    s = open_source(&source);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_NOT_FOUND);
    ck_assert_str_eq(otp_symbols_path(s), path);
    ck_assert_str_eq(otp_symbols_build_id_hex(s), "0123456789abcdef1032547698badcfe0f1e2d3c");
    otp_symbols_destroy(s);

    symbol_elf_write(marked, object.bytes, SE_SIZE); /* really called so */
    s = open_source(&unknown);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_OK);
    ck_assert_str_eq(otp_symbols_path(s), marked);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_alt_path)
{
    char other[PATH_BYTES];
    struct otp_symbol_source source = source_of(other);
    snprintf(other, sizeof(other), "%s", in_folder("other.so"));
    source.alt_path = in_folder("alt");
    ck_assert(!takes(&source));
    symbol_elf_write(path, object.bytes, SE_SIZE);
    ck_assert(takes(&source));
    object.bytes[SE_NOTE + 16] ^= 1; /* the loader started another program than alt_path is */
    symbol_elf_write(path, object.bytes, SE_SIZE);
    ck_assert(!takes(&source));
    object.bytes[SE_NOTE + 16] ^= 1;
    symbol_elf_write(other, object.bytes, SE_SIZE);
    ck_assert(takes(&source));
}
END_TEST

START_TEST(test_odd_paths)
{
    static const char *const names[] = {"sp ace", "new\nline", "\xff\xfe\x80.so", "back\\slash"};
    char old[PATH_BYTES];
    for (size_t i = 0; i < OTP_ARRAY_LEN(names); i++) {
        struct otp_symbol_source source = source_of(in_folder(names[i]));
        symbol_elf_write(path, object.bytes, SE_SIZE);
        ck_assert(takes(&source));
    }
    ck_assert_ptr_nonnull(getcwd(old, sizeof(old)));
    ck_assert_int_eq(chdir(folder), 0);
    struct otp_symbol_source source = source_of("./sp ace");
    ck_assert(takes(&source));
    ck_assert_int_eq(chdir(old), 0);
}
END_TEST

/* Neither waits for a writer of the pipe nor reads a folder or a device. */
START_TEST(test_not_files)
{
    struct otp_symbol_source source = source_of(in_folder("pipe"));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert(!takes(&source));
    source.path = folder;
    ck_assert(!takes(&source));
    source.path = "/dev/zero";
    ck_assert(!takes(&source));
    source.path = in_folder("empty");
    symbol_elf_write(path, "", 0);
    struct otp_symbols *s = open_source(&source);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_TRUNCATED);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_memfd)
{
    int fd = memfd_create("jit", MFD_CLOEXEC);
    struct otp_symbol_source source = source_of(path);
    ck_assert_int_eq(write(fd, object.bytes, SE_SIZE), SE_SIZE);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ck_assert(takes(&source));
    close(fd);
}
END_TEST

/* A file that is replaced between opening and loading gives no names, even of the same build id. */
START_TEST(test_replaced)
{
    char next[PATH_BYTES];
    struct otp_symbol_source source = source_of(path);
    snprintf(next, sizeof(next), "%s", in_folder("next.so"));
    symbol_elf_write(next, object.bytes, SE_SIZE);
    symbol_elf_write(in_folder("lib.so"), object.bytes, SE_SIZE);
    struct otp_symbols *s = open_source(&source);
    ck_assert_int_eq(rename(next, path), 0);
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_NOT_FOUND);
    ck_assert(!has(s, SE_TEXT_ADDR + 0x40, "exported"));
    ck_assert_ptr_nonnull(otp_symbols_segment(s, SE_TEXT_ADDR));
    otp_symbols_destroy(s);
}
END_TEST

/* ---- names that are left in the file ---- */

#define BIG_NAMES (OTP_STRTAB_KEPT_MAX + 200000)

/* A file whose .strtab is too large to be kept: a long name at its start, a short one at its end.
 */
static void write_big(const char *p, size_t long_name)
{
    size_t len = SE_SIZE + BIG_NAMES;
    unsigned char *bytes = calloc(1, len);
    symbol_elf_add(&object, "1", FUNC, SE_S_TEXT, SE_TEXT_ADDR + 0x80, 8);
    symbol_elf_add(&object, "2", FUNC, SE_S_TEXT, SE_TEXT_ADDR + 0x90, 8);
    symbol_elf_u32(&object, SE_SYMTAB + 48, BIG_NAMES - 5);
    symbol_elf_u64(&object, SE_SHDR(SE_S_STRTAB) + 24, SE_SIZE);
    symbol_elf_u64(&object, SE_SHDR(SE_S_STRTAB) + 32, BIG_NAMES);
    memcpy(bytes, object.bytes, SE_SIZE);
    memset(bytes + SE_SIZE + 1, 'n', long_name);
    memcpy(bytes + len - 5, "tail", 5);
    symbol_elf_write(p, bytes, len);
    free(bytes);
}

START_TEST(test_names_in_file)
{
    static const size_t lens[] = {1, 255, 256, 257, 5000, OTP_STRTAB_NAME_MAX};
    for (size_t i = 0; i < OTP_ARRAY_LEN(lens); i++) {
        struct otp_symbol_source source = source_of(in_folder("big.so"));
        struct otp_symbol symbol;
        symbol_elf_make(&object);
        write_big(path, lens[i]);
        struct otp_symbols *s = open_source(&source);
        ck_assert(otp_symbols_find(s, SE_TEXT_ADDR + 0x80, &symbol));
        ck_assert_uint_eq(symbol.name.len, lens[i]);
        ck_assert_int_eq(symbol.name.data[lens[i] - 1], 'n');
        ck_assert(has(s, SE_TEXT_ADDR + 0x90, "tail"));
        ck_assert(has(s, SE_TEXT_ADDR + 0x40, "exported"));
        ck_assert(has(s, SE_PLT_ADDR + 0x10, "first@plt"));
        ck_assert_uint_lt(heap.mapped_bytes, (size_t)400 << 10);
        unlink(path);
        ck_assert(!has(s, SE_TEXT_ADDR + 0x90, "tail")); /* gone with the file */
        ck_assert(has(s, SE_TEXT_ADDR + 0x40, "exported"));
        otp_symbols_destroy(s);
    }
}
END_TEST

START_TEST(test_too_long_name)
{
    struct otp_symbol_source source = source_of(in_folder("big.so"));
    write_big(path, OTP_STRTAB_NAME_MAX + 70000);
    struct otp_symbols *s = open_source(&source);
    struct otp_symbol symbol;
    ck_assert(!otp_symbols_find(s, SE_TEXT_ADDR + 0x80, &symbol));
    ck_assert(has(s, SE_TEXT_ADDR + 0x90, "tail"));
    otp_symbols_destroy(s);
}
END_TEST

/* ---- separate debug files ---- */

/* Makes the object that is stripped at "bin/prog"; object becomes its debug file. */
static void make_stripped(bool with_build_id)
{
    char p[PATH_BYTES];
    if (!with_build_id) {
        symbol_elf_u32(&object, SE_PHDRS + 4 * 56, PT_NULL);
        symbol_elf_u32(&object, SE_SHDR(SE_S_NOTE) + 4, SHT_PROGBITS);
    }
    symbol_elf_u32(&object, SE_SHDR(SE_S_SYMTAB) + 4, SHT_NULL);
    snprintf(p, sizeof(p), "%s/bin", folder);
    ck_assert_int_eq(mkdir(p, 0700), 0);
    symbol_elf_write(in_folder("bin/prog"), object.bytes, SE_SIZE);
    symbol_elf_u32(&object, SE_SHDR(SE_S_SYMTAB) + 4, SHT_SYMTAB);
    symbol_elf_add(&object, "from_debug", FUNC, SE_S_TEXT, SE_TEXT_ADDR + 0x80, 8);
}

/* Is the debug file found once it is written to p? */
static bool finds_debug(const char *p, bool by_build_id)
{
    char prog[PATH_BYTES];
    char parent[PATH_BYTES];
    snprintf(prog, sizeof(prog), "%s/bin/prog", folder);
    snprintf(parent, sizeof(parent), "mkdir -p \"$(dirname '%s')\"", p);
    ck_assert_int_eq(system(parent), 0);
    symbol_elf_write(p, object.bytes, SE_SIZE);
    struct otp_symbol_source source = {.path = prog, .debug_root = folder};
    if (by_build_id) {
        source = source_of(prog);
        source.debug_root = folder;
    }
    struct otp_symbols *s = open_source(&source);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_OK);
    bool found = has(s, SE_TEXT_ADDR + 0x80, "from_debug");
    ck_assert(has(s, SE_TEXT_ADDR + 0x40, "exported"));
    otp_symbols_destroy(s);
    unlink(p);
    return found;
}

START_TEST(test_debug_by_build_id)
{
    static const char *const id_path = ".build-id/01/23456789abcdef1032547698badcfe0f1e2d3c.debug";
    char with_root[2 * PATH_BYTES];
    make_stripped(true);
    snprintf(with_root, sizeof(with_root), "%s%s/bin/small.debug", folder, folder);
    ck_assert(finds_debug(in_folder(id_path), true));
    ck_assert(finds_debug(in_folder("bin/small.debug"), true));
    ck_assert(finds_debug(in_folder("bin/.debug/small.debug"), true));
    ck_assert(finds_debug(with_root, true));
    ck_assert(!finds_debug(in_folder("bin/other.debug"), true));
    object.bytes[SE_NOTE + 16] ^= 1;
    ck_assert(!finds_debug(in_folder(id_path), true));
    ck_assert(!finds_debug(in_folder("bin/small.debug"), true));
    object.bytes[SE_NOTE + 16] ^= 1;
    symbol_elf_u32(&object, SE_SHDR(SE_S_SYMTAB) + 4,
                   SHT_NOBITS); /* a debug file without symbols */
    ck_assert(!finds_debug(in_folder(id_path), true));
}
END_TEST

/* Without build ids the debug link's checksum decides. */
START_TEST(test_debug_by_checksum)
{
    struct otp_elf_bytes bytes = {.fd = -1, .image = object.bytes, .len = SE_SIZE};
    uint32_t crc;
    make_stripped(false);
    ck_assert(!finds_debug(in_folder("bin/small.debug"), false));
    ck_assert_int_eq(otp_objfile_crc32(&bytes, &crc), OTP_OK);
    char prog[PATH_BYTES];
    snprintf(prog, sizeof(prog), "%s/bin/prog", folder);
    int fd = open(prog, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, &crc, sizeof(crc), SE_LINK + 12), sizeof(crc));
    close(fd);
    ck_assert(finds_debug(in_folder("bin/small.debug"), false));
    object.bytes[SE_TEXT] ^= 1;
    ck_assert(!finds_debug(in_folder("bin/small.debug"), false));
}
END_TEST

/* "123456789" is the check value of this CRC. */
START_TEST(test_crc)
{
    struct otp_elf_bytes bytes = {.fd = -1, .image = (const unsigned char *)"123456789", .len = 9};
    uint32_t crc;
    ck_assert_int_eq(otp_objfile_crc32(&bytes, &crc), OTP_OK);
    ck_assert_uint_eq(crc, 0xcbf43926);
    bytes.len = 0;
    ck_assert_int_eq(otp_objfile_crc32(&bytes, &crc), OTP_OK);
    ck_assert_uint_eq(crc, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbol_files");
    TCase *all = tcase_create("files");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, test_own_program);
    tcase_add_test(all, test_libc);
    tcase_add_test(all, test_vdso);
    tcase_add_test(all, test_deleted);
    tcase_add_test(all, test_alt_path);
    tcase_add_test(all, test_odd_paths);
    tcase_add_test(all, test_not_files);
    tcase_add_test(all, test_memfd);
    tcase_add_test(all, test_replaced);
    tcase_add_test(all, test_names_in_file);
    tcase_add_test(all, test_too_long_name);
    tcase_add_test(all, test_debug_by_build_id);
    tcase_add_test(all, test_debug_by_checksum);
    tcase_add_test(all, test_crc);
    suite_add_tcase(suite, all);
    return unit_run(suite);
}
