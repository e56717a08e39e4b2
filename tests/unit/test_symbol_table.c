/* SPDX-License-Identifier: Apache-2.0 */
/* What a symbol table answers: ends of functions, choice of names, stubs, objects without sections.
 */
#include <check.h>
#include <elf.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/symbol/symbols.h"
#include "tests/unit/run.h"
#include "tests/unit/symbol_elf.h"

#define FUNC(binding) ELF64_ST_INFO(STB_##binding, STT_FUNC)
#define NO_TYPE(binding) ELF64_ST_INFO(STB_##binding, STT_NOTYPE)

static struct otp_heap heap;
static struct symbol_elf object;

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)4 << 20);
    symbol_elf_make(&object);
}

static void tear_down(void)
{
    otp_heap_reset(&heap);
}

/* Adds a symbol at an offset of the text. */
static void add(const char *name, unsigned info, uint64_t offset, uint64_t size)
{
    symbol_elf_add(&object, name, info, SE_S_TEXT, SE_TEXT_ADDR + offset, size);
}

/* The text at offset belongs to name (NULL: to nothing), whose first and last byte are given. */
static void expect(struct otp_symbols *s, uint64_t offset, const char *name, uint64_t first,
                   uint64_t last)
{
    struct otp_symbol symbol;
    bool found = otp_symbols_find(s, SE_TEXT_ADDR + offset, &symbol);

    ck_assert_msg(found == (name != NULL), "offset %#lx", offset);
    if (found) {
        ck_assert_msg(
            symbol.name.len == strlen(name) && memcmp(symbol.name.data, name, symbol.name.len) == 0,
            "offset %#lx is %.*s, not %s", offset, (int)symbol.name.len, symbol.name.data, name);
        ck_assert_uint_eq(symbol.start - SE_TEXT_ADDR, first);
        ck_assert_uint_eq(symbol.start + symbol.size - 1 - SE_TEXT_ADDR, last);
    }
}

static struct otp_symbols *open_object(void)
{
    return symbol_elf_open(&heap, object.bytes, SE_SIZE);
}

START_TEST(test_sizes)
{
    add("sized", FUNC(GLOBAL), 0x10, 0x08);
    add("unsized", FUNC(LOCAL), 0x20, 0);
    add("last", FUNC(LOCAL), 0xf0, 0);
    struct otp_symbols *s = open_object();
    expect(s, 0x00, NULL, 0, 0);
    expect(s, 0x0f, NULL, 0, 0);
    expect(s, 0x10, "sized", 0x10, 0x17);
    expect(s, 0x17, "sized", 0x10, 0x17);
    expect(s, 0x18, NULL, 0, 0);
    expect(s, 0x20, "unsized", 0x20, 0x3f); /* exported, of .dynsym, is the next */
    expect(s, 0x3f, "unsized", 0x20, 0x3f);
    expect(s, 0x40, "exported", 0x40, 0x4f);
    expect(s, 0x50, NULL, 0, 0);
    expect(s, 0xff, "last", 0xf0, 0xff); /* not into .plt */
    otp_symbols_destroy(s);
}
END_TEST

/* Sizes that reach past the section are cut; ends that overflow too. */
START_TEST(test_too_large_sizes)
{
    add("past", FUNC(GLOBAL), 0x80, 0x1000);
    add("overflow", FUNC(GLOBAL), 0xc0, UINT64_MAX - 4);
    struct otp_symbols *s = open_object();
    expect(s, 0xbf, "past", 0x80, 0xff);
    expect(s, 0xff, "overflow", 0xc0, 0xff);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_nested)
{
    add("outer", FUNC(LOCAL), 0x80, 0x40);
    add("inner", FUNC(LOCAL), 0x90, 0x08);
    struct otp_symbols *s = open_object();
    expect(s, 0x8f, "outer", 0x80, 0xbf);
    expect(s, 0x97, "inner", 0x90, 0x97);
    expect(s, 0x98, "outer", 0x80, 0xbf);
    expect(s, 0xc0, NULL, 0, 0);
    otp_symbols_destroy(s);
}
END_TEST

/* Of several names of one address the choice does not depend on their order in the file. */
START_TEST(test_aliases)
{
    static const struct {
        const char *name;
        unsigned info;
        uint64_t size;
    } names[][2] = {
        /* the first of each pair wins */
        {{"strong", FUNC(GLOBAL), 8}, {"a_weak", FUNC(WEAK), 8}},
        {{"weak", FUNC(WEAK), 8}, {"a_local", FUNC(LOCAL), 8}},
        {{"read", FUNC(GLOBAL), 8}, {"__read", FUNC(GLOBAL), 8}},
        {{"sized", FUNC(LOCAL), 8}, {"a_unsized", FUNC(GLOBAL), 0}},
        {{"function", FUNC(LOCAL), 8}, {"a_label", NO_TYPE(GLOBAL), 8}},
        {{"longer", FUNC(GLOBAL), 16}, {"a_short", FUNC(GLOBAL), 8}},
        {{"open", FUNC(GLOBAL), 8}, {"open64", FUNC(GLOBAL), 8}},
        {{"_ZN1AC1Ev", FUNC(WEAK), 8}, {"_ZN1AC2Ev", FUNC(WEAK), 8}},
    };
    for (size_t i = 0; i < 2 * OTP_ARRAY_LEN(names); i++) {
        size_t pair = i / 2;
        size_t first = i % 2;
        set_up();
        add(names[pair][first].name, names[pair][first].info, 0x80, names[pair][first].size);
        add(names[pair][1 - first].name, names[pair][1 - first].info, 0x80,
            names[pair][1 - first].size);
        struct otp_symbols *s = open_object();
        expect(s, 0x87, names[pair][0].name, 0x80, names[pair][0].size == 16 ? 0x8f : 0x87);
        otp_symbols_destroy(s);
        tear_down();
    }
}
END_TEST

START_TEST(test_versions)
{
    add("default@@VERS_2", FUNC(GLOBAL), 0x80, 8);
    add("old@VERS_1", FUNC(GLOBAL), 0x90, 8);
    add("@", FUNC(GLOBAL), 0xa0, 8);
    struct otp_symbols *s = open_object();
    expect(s, 0x80, "default", 0x80, 0x87);
    expect(s, 0x90, "old", 0x90, 0x97);
    expect(s, 0xa0, "@", 0xa0, 0xa7);
    otp_symbols_destroy(s);
}
END_TEST

/* Labels of assembly code name code between functions, and nothing inside of one. */
START_TEST(test_labels)
{
    add("function", FUNC(LOCAL), 0x80, 0x10);
    add("inside", NO_TYPE(LOCAL), 0x88, 0);
    add("entry", NO_TYPE(GLOBAL), 0xa0, 0);
    add("$x", NO_TYPE(LOCAL), 0xb0, 0);
    add(".L1", NO_TYPE(LOCAL), 0xb8, 0);
    add("second", NO_TYPE(GLOBAL), 0xc0, 0);
    struct otp_symbols *s = open_object();
    expect(s, 0x8f, "function", 0x80, 0x8f);
    expect(s, 0x90, NULL, 0, 0);
    expect(s, 0xa0, "entry", 0xa0, 0xbf);
    expect(s, 0xb9, "entry", 0xa0, 0xbf);
    expect(s, 0xff, "second", 0xc0, 0xff);
    otp_symbols_destroy(s);
}
END_TEST

/* Only functions with an address in code are taken. */
START_TEST(test_others)
{
    add("object", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0x80, 8);
    add("section", ELF64_ST_INFO(STB_LOCAL, STT_SECTION), 0x80, 8);
    add("thread_local", ELF64_ST_INFO(STB_GLOBAL, STT_TLS), 0x80, 8);
    symbol_elf_add(&object, "undefined", FUNC(GLOBAL), SHN_UNDEF, SE_TEXT_ADDR + 0x80, 8);
    symbol_elf_add(&object, "absolute", FUNC(GLOBAL), SHN_ABS, SE_TEXT_ADDR + 0x80, 8);
    symbol_elf_add(&object, "in_data", FUNC(GLOBAL), SE_S_TEXT, SE_DATA_ADDR, 8);
    symbol_elf_add(&object, "far", FUNC(GLOBAL), SE_S_TEXT, UINT64_MAX - 2, 8);
    add("", FUNC(GLOBAL), 0x90, 8);
    add("ifunc", ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0xa0, 8);
    struct otp_symbols *s = open_object();
    struct otp_symbol symbol;
    expect(s, 0x80, NULL, 0, 0);
    expect(s, 0x90, NULL, 0, 0);
    expect(s, 0xa0, "ifunc", 0xa0, 0xa7);
    ck_assert(!otp_symbols_find(s, SE_DATA_ADDR, &symbol));
    ck_assert(!otp_symbols_find(s, UINT64_MAX - 1, &symbol));
    ck_assert(!otp_symbols_at(s, otp_symbols_count(s), &symbol));
    /* ifunc, exported, three stubs, and the one whose name is empty */
    ck_assert_uint_eq(otp_symbols_count(s), 6);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_stubs)
{
    struct otp_symbols *s = open_object();
    expect(s, 0x100, NULL, 0, 0); /* the resolver's */
    expect(s, 0x110, "first@plt", 0x110, 0x11f);
    expect(s, 0x11f, "first@plt", 0x110, 0x11f);
    expect(s, 0x12f, "second@plt", 0x120, 0x12f);
    expect(s, 0x130, "second@plt", 0x130, 0x13f);
    expect(s, 0x140, NULL, 0, 0);
    otp_symbols_destroy(s);
}
END_TEST

/* Without section headers the dynamic segment leads to .dynsym, through either hash table. */
START_TEST(test_no_sections)
{
    for (unsigned gnu = 0; gnu < 2; gnu++) {
        set_up();
        symbol_elf_u64(&object, 40, 0);
        if (gnu == 1) {
            symbol_elf_u64(&object, SE_DYNAMIC + 48, DT_GNU_HASH);
            symbol_elf_u64(&object, SE_DYNAMIC + 56, SE_DATA_ADDR + SE_GNU_HASH - 0x340);
        }
        struct otp_symbols *s = open_object();
        ck_assert_int_eq(otp_symbols_load_names(s), OTP_OK);
        expect(s, 0x40, "exported", 0x40, 0x4f);
        ck_assert_uint_eq(otp_symbols_count(s), 1);
        otp_symbols_destroy(s);
    }
}
END_TEST

/* Names need not end: an unterminated one is none, the others stay. */
START_TEST(test_unterminated_names)
{
    add("good", FUNC(GLOBAL), 0x80, 8);
    add("bad", FUNC(GLOBAL), 0x90, 8);
    symbol_elf_u64(&object, SE_SHDR(SE_S_STRTAB) + 32, 1 + 5 + 3);
    struct otp_symbols *s = open_object();
    expect(s, 0x80, "good", 0x80, 0x87);
    expect(s, 0x90, NULL, 0, 0);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_broken_symtab_keeps_dynsym)
{
    add("full", FUNC(GLOBAL), 0x80, 8);
    symbol_elf_u64(&object, SE_SHDR(SE_S_STRTAB) + 24, UINT64_MAX - 8);
    struct otp_symbols *s = open_object();
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_OK);
    expect(s, 0x80, NULL, 0, 0);
    expect(s, 0x40, "exported", 0x40, 0x4f);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_no_symbols)
{
    symbol_elf_u32(&object, SE_SHDR(SE_S_SYMTAB) + 4, SHT_NULL);
    symbol_elf_u32(&object, SE_SHDR(SE_S_DYNSYM) + 4, SHT_NULL);
    struct otp_symbols *s = open_object();
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_NOT_FOUND);
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_NOT_FOUND);
    ck_assert_uint_eq(otp_symbols_count(s), 0);
    expect(s, 0x80, NULL, 0, 0);
    ck_assert_ptr_nonnull(otp_symbols_segment(s, SE_TEXT_ADDR));
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_identity)
{
    struct otp_symbols *s = open_object();
    size_t count;
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_OK);
    ck_assert_str_eq(otp_symbols_path(s), "[vdso]");
    ck_assert_str_eq(otp_symbols_build_id_hex(s), "0123456789abcdef1032547698badcfe0f1e2d3c");
    ck_assert_uint_eq(strlen(otp_symbols_htlhash_hex(s)), 32);
    const struct otp_elf_segment *code = otp_symbols_segment(s, SE_TEXT_ADDR + 5);
    ck_assert_uint_eq(code->vaddr, SE_TEXT_ADDR);
    ck_assert_uint_eq(code->file_offset, SE_TEXT);
    ck_assert_ptr_null(otp_symbols_segment(s, SE_DATA_ADDR));
    ck_assert_ptr_eq(&otp_symbols_segments(s, &count)[1], code);
    ck_assert_uint_eq(count, 3);
    otp_symbols_destroy(s);
    otp_symbols_destroy(NULL);
}
END_TEST

/* An image of another object than the one that is loaded is not used. */
START_TEST(test_wrong_build_id)
{
    static const uint8_t other[3] = {0xaa, 0xbb, 0x0c};
    struct otp_symbol_source source = {.path = "lib",
                                       .image = object.bytes,
                                       .image_len = SE_SIZE,
                                       .build_id = other,
                                       .build_id_len = sizeof(other)};
    struct otp_symbols *s;
    struct otp_symbol symbol;
    ck_assert_int_eq(otp_symbols_open(&heap, &source, &s), OTP_OK);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_NOT_FOUND);
    ck_assert_str_eq(otp_symbols_build_id_hex(s), "aabb0c");
    ck_assert_str_eq(otp_symbols_htlhash_hex(s), "");
    ck_assert_ptr_null(otp_symbols_segment(s, SE_TEXT_ADDR));
    ck_assert(!otp_symbols_find(s, SE_TEXT_ADDR + 0x40, &symbol));
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_NOT_FOUND);
    otp_symbols_destroy(s);
}
END_TEST

START_TEST(test_arguments)
{
    uint8_t id[OTP_ELF_BUILD_ID_MAX + 1] = {0};
    struct otp_symbol_source source = {.path = NULL};
    struct otp_symbols *s;
    ck_assert_int_eq(otp_symbols_open(&heap, &source, &s), OTP_INVALID);
    ck_assert_ptr_null(s);
    source = (struct otp_symbol_source){.path = "", .build_id = id, .build_id_len = sizeof(id)};
    ck_assert_int_eq(otp_symbols_open(&heap, &source, &s), OTP_INVALID);
    source = (struct otp_symbol_source){.path = ""};
    ck_assert_int_eq(otp_symbols_open(&heap, &source, &s), OTP_OK);
    ck_assert_int_eq(otp_symbols_file_status(s), OTP_NOT_FOUND);
    otp_symbols_destroy(s);
}
END_TEST

/* A heap that is full gives an answer at each step and can be used again when there is room. */
START_TEST(test_no_memory)
{
    struct otp_symbol_source source = {.path = "x", .image = object.bytes, .image_len = SE_SIZE};
    struct otp_symbols *s;
    otp_heap_init(&heap, 4096);
    ck_assert_int_eq(otp_symbols_open(&heap, &source, &s), OTP_NO_MEMORY);
    ck_assert_ptr_null(s);
    otp_heap_reset(&heap);
    otp_heap_init(&heap, (size_t)4 << 20);
    s = open_object();
    heap.limit_bytes = heap.mapped_bytes;
    while (otp_heap_alloc(&heap, 32) != NULL) {
    }
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_NO_MEMORY);
    expect(s, 0x40, NULL, 0, 0);
    heap.limit_bytes = (size_t)4 << 20;
    ck_assert_int_eq(otp_symbols_load_names(s), OTP_OK);
    expect(s, 0x40, "exported", 0x40, 0x4f);
    otp_symbols_destroy(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbol_table");
    TCase *names = tcase_create("names");
    tcase_add_checked_fixture(names, set_up, tear_down);
    tcase_add_test(names, test_sizes);
    tcase_add_test(names, test_too_large_sizes);
    tcase_add_test(names, test_nested);
    tcase_add_test(names, test_aliases);
    tcase_add_test(names, test_versions);
    tcase_add_test(names, test_labels);
    tcase_add_test(names, test_others);
    tcase_add_test(names, test_stubs);
    tcase_add_test(names, test_no_sections);
    tcase_add_test(names, test_unterminated_names);
    tcase_add_test(names, test_broken_symtab_keeps_dynsym);
    tcase_add_test(names, test_no_symbols);
    suite_add_tcase(suite, names);
    TCase *objects = tcase_create("objects");
    tcase_add_checked_fixture(objects, set_up, tear_down);
    tcase_add_test(objects, test_identity);
    tcase_add_test(objects, test_wrong_build_id);
    tcase_add_test(objects, test_arguments);
    tcase_add_test(objects, test_no_memory);
    suite_add_tcase(suite, objects);
    return unit_run(suite);
}
