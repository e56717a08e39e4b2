/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF parser: what it reads from a good object, and that no bad one harms it. */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/symbol/buildid.h"
#include "core/symbol/elf.h"
#include "tests/unit/run.h"
#include "tests/unit/symbol_elf.h"

#define HEAP_LIMIT ((size_t)4 << 20)

static struct otp_heap heap;
static struct symbol_elf object;

static void set_up(void)
{
    otp_heap_init(&heap, HEAP_LIMIT);
    symbol_elf_make(&object);
}

static void tear_down(void)
{
    otp_heap_reset(&heap);
}

static enum otp_status open_len(struct otp_elf *elf, size_t len)
{
    struct otp_elf_bytes bytes = {.fd = -1, .image = object.bytes, .len = len};
    return otp_elf_open(&heap, &bytes, elf);
}

static enum otp_status open_all(struct otp_elf *elf)
{
    return open_len(elf, SE_SIZE);
}

/* Opening with these bytes changed gives status. */
static void expect_u16(size_t at, unsigned v, enum otp_status status)
{
    struct otp_elf elf;
    set_up();
    symbol_elf_u16(&object, at, v);
    ck_assert_int_eq(open_all(&elf), status);
    otp_elf_close(&elf);
}

START_TEST(test_headers)
{
    struct otp_elf elf;
    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_uint_eq(elf.type, ET_DYN);
    ck_assert_uint_eq(elf.segment_count, 3);
    ck_assert_uint_eq(elf.segments[1].vaddr, SE_TEXT_ADDR);
    ck_assert_uint_eq(elf.segments[1].file_offset, SE_TEXT);
    ck_assert_uint_eq(elf.segments[1].memsz, 0x140);
    ck_assert_uint_eq(elf.segments[1].flags, PF_R | PF_X);
    ck_assert_uint_eq(elf.build_id_len, sizeof(symbol_elf_build_id));
    ck_assert_mem_eq(elf.build_id, symbol_elf_build_id, sizeof(symbol_elf_build_id));
    ck_assert_ptr_eq(otp_elf_segment_at(&elf, SE_TEXT_ADDR), &elf.segments[1]);
    ck_assert_ptr_eq(otp_elf_segment_at(&elf, SE_TEXT_ADDR + 0x13f), &elf.segments[1]);
    ck_assert_ptr_null(otp_elf_segment_at(&elf, SE_TEXT_ADDR - 1));
    ck_assert_ptr_null(otp_elf_segment_at(&elf, SE_TEXT_ADDR + 0x140));
    ck_assert_ptr_null(otp_elf_segment_at(&elf, SE_DATA_ADDR));
    otp_elf_close(&elf);
    ck_assert_uint_eq(elf.segment_count, 0);
}
END_TEST

START_TEST(test_sections)
{
    struct otp_elf elf;
    char name[OTP_ELF_DEBUGLINK_MAX];
    uint32_t crc;
    uint64_t off;

    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_ptr_null(otp_elf_section_named(&elf, ".text"));
    ck_assert_int_eq(otp_elf_load_sections(&elf), OTP_OK);
    ck_assert_int_eq(otp_elf_load_sections(&elf), OTP_OK);
    ck_assert_uint_eq(elf.section_count, SE_SHDR_COUNT);
    const struct otp_elf_section *s = otp_elf_section_named(&elf, ".plt");
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(s->addr, SE_PLT_ADDR);
    ck_assert_uint_eq(s->entsize, 16);
    ck_assert_uint_eq(otp_elf_section_of_type(&elf, SHT_DYNSYM)->offset, SE_DYNSYM);
    ck_assert_ptr_null(otp_elf_section_named(&elf, ".absent"));
    ck_assert_ptr_null(otp_elf_section_of_type(&elf, SHT_GROUP));
    ck_assert(!otp_elf_has_minidebuginfo(&elf));
    ck_assert(otp_elf_debuglink(&elf, name, &crc));
    ck_assert_str_eq(name, "small.debug");
    ck_assert_uint_eq(crc, 0x12345678);
    ck_assert(otp_elf_offset_of(&elf, SE_DATA_ADDR + 2, &off));
    ck_assert_uint_eq(off, 0x342);
    ck_assert(!otp_elf_offset_of(&elf, 0x20000, &off));
    otp_elf_close(&elf);
}
END_TEST

START_TEST(test_kind)
{
    struct otp_elf elf;
    object.bytes[0] = 0x7e;
    ck_assert_int_eq(open_all(&elf), OTP_MALFORMED);
    expect_u16(EI_CLASS, ELFCLASS32 | ELFDATA2LSB << 8, OTP_UNSUPPORTED);
    expect_u16(EI_CLASS, ELFCLASS64 | ELFDATA2MSB << 8, OTP_UNSUPPORTED);
    expect_u16(16, ET_REL, OTP_UNSUPPORTED);
    expect_u16(16, ET_CORE, OTP_UNSUPPORTED);
    expect_u16(16, ET_EXEC, OTP_OK);
    expect_u16(18, EM_AARCH64, OTP_UNSUPPORTED);
    expect_u16(54, 55, OTP_MALFORMED);
    expect_u16(56, 0xffff, OTP_TOO_LARGE);
    expect_u16(56, 4096, OTP_TRUNCATED);
    expect_u16(56, 0, OTP_OK);
}
END_TEST

START_TEST(test_bad_segments)
{
    static const struct {
        size_t at;
        uint64_t value;
    } changes[] = {
        {32, UINT64_MAX - 10},                 /* table at the end of numbers */
        {SE_PHDRS + 56 + 16, UINT64_MAX - 10}, /* address + size overflows */
        {SE_PHDRS + 56 + 8, UINT64_MAX - 10},  /* offset + size overflows */
        {SE_PHDRS + 56 + 32, 0x141},           /* more in the file than in memory */
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(changes); i++) {
        struct otp_elf elf;
        set_up();
        symbol_elf_u64(&object, changes[i].at, changes[i].value);
        enum otp_status status = open_all(&elf);
        ck_assert(status == OTP_MALFORMED || status == OTP_TRUNCATED);
        ck_assert_uint_eq(elf.segment_count, 0);
    }
}
END_TEST

/* More PT_LOAD headers than are kept: the rest is left out, nothing is written past the array. */
START_TEST(test_many_segments)
{
    struct otp_elf elf;
    size_t count = 100;
    size_t len = SE_SIZE + count * 56;
    unsigned char *bytes = malloc(len);
    memcpy(bytes, object.bytes, SE_SIZE);
    for (size_t i = 0; i < count; i++) {
        memcpy(bytes + SE_SIZE + i * 56, object.bytes + SE_PHDRS + 56, 56);
    }
    uint64_t at = SE_SIZE;
    memcpy(bytes + 32, &at, sizeof(at));
    bytes[56] = (unsigned char)count;
    struct otp_elf_bytes source = {.fd = -1, .image = bytes, .len = len};
    ck_assert_int_eq(otp_elf_open(&heap, &source, &elf), OTP_OK);
    ck_assert_uint_eq(elf.segment_count, OTP_ELF_SEGMENTS_MAX);
    ck_assert_uint_eq(elf.segments[OTP_ELF_SEGMENTS_MAX - 1].vaddr, SE_TEXT_ADDR);
    otp_elf_close(&elf);
    free(bytes);
}
END_TEST

/* Notes padded to 8 bytes, behind another note; and notes of 4 in a segment that says 8. */
START_TEST(test_note_alignment)
{
    struct otp_elf elf;
    size_t align_at = SE_PHDRS + 4 * 56 + 48;
    size_t size_at = SE_PHDRS + 4 * 56 + 32;

    symbol_elf_u64(&object, align_at, 8);
    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_uint_eq(elf.build_id_len, 20);
    otp_elf_close(&elf);

    memset(object.bytes + SE_NOTE, 0, 0x60);
    symbol_elf_u32(&object, SE_NOTE, 4); /* a property of 4 bytes, padded to 8 */
    symbol_elf_u32(&object, SE_NOTE + 4, 4);
    symbol_elf_u32(&object, SE_NOTE + 8, 5);
    symbol_elf_u32(&object, SE_NOTE + 12, 0x00554e47);
    symbol_elf_u32(&object, SE_NOTE + 24, 4);
    symbol_elf_u32(&object, SE_NOTE + 28, 3);
    symbol_elf_u32(&object, SE_NOTE + 32, NT_GNU_BUILD_ID);
    symbol_elf_u32(&object, SE_NOTE + 36, 0x00554e47);
    symbol_elf_u32(&object, SE_NOTE + 40, 0x00ccbbaa);
    symbol_elf_u64(&object, size_at, 43);
    symbol_elf_u64(&object, size_at + 8, 43);
    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_uint_eq(elf.build_id_len, 3);
    ck_assert_mem_eq(elf.build_id, "\xaa\xbb\xcc", 3);
    otp_elf_close(&elf);
}
END_TEST

/* A build id in the section only, as in a separate debug file. */
START_TEST(test_note_section)
{
    struct otp_elf elf;
    symbol_elf_u32(&object, SE_PHDRS + 4 * 56, PT_NULL);
    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_uint_eq(elf.build_id_len, 0);
    ck_assert_int_eq(otp_elf_load_sections(&elf), OTP_OK);
    ck_assert_uint_eq(elf.build_id_len, 20);
    otp_elf_close(&elf);
}
END_TEST

/* gABI: numbers that do not fit the header are in the first section header. */
START_TEST(test_section_extension)
{
    struct otp_elf elf;
    symbol_elf_u16(&object, 60, 0);
    symbol_elf_u16(&object, 62, SHN_XINDEX);
    symbol_elf_u64(&object, SE_SHDR(0) + 32, SE_SHDR_COUNT);
    symbol_elf_u32(&object, SE_SHDR(0) + 40, SE_S_SHSTRTAB);
    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_int_eq(otp_elf_load_sections(&elf), OTP_OK);
    ck_assert_uint_eq(elf.section_count, SE_SHDR_COUNT);
    ck_assert_ptr_nonnull(otp_elf_section_named(&elf, ".text"));
    otp_elf_close(&elf);
}
END_TEST

START_TEST(test_section_count)
{
    static const struct {
        uint64_t count;
        enum otp_status status;
    } cases[] = {
        {(uint64_t)1 << 32, OTP_TOO_LARGE},
        {UINT64_MAX, OTP_TOO_LARGE},
        {OTP_ELF_SECTIONS_MAX, OTP_TRUNCATED},
        {SE_SHDR_COUNT + 1, OTP_TRUNCATED},
        {0, OTP_NOT_FOUND},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        struct otp_elf elf;
        set_up();
        symbol_elf_u16(&object, 60, 0);
        symbol_elf_u64(&object, SE_SHDR(0) + 32, cases[i].count);
        ck_assert_int_eq(open_all(&elf), OTP_OK);
        ck_assert_int_eq(otp_elf_load_sections(&elf), cases[i].status);
        ck_assert_ptr_null(elf.sections);
        ck_assert_ptr_null(otp_elf_section_named(&elf, ".text"));
        otp_elf_close(&elf);
        ck_assert_uint_lt(heap.peak_bytes, (size_t)1 << 20);
    }
}
END_TEST

START_TEST(test_no_section_names)
{
    struct otp_elf elf;
    symbol_elf_u16(&object, 62, 500);
    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_int_eq(otp_elf_load_sections(&elf), OTP_OK);
    ck_assert_ptr_null(otp_elf_section_named(&elf, ".symtab"));
    ck_assert_ptr_null(otp_elf_section_named(&elf, ""));
    ck_assert_ptr_nonnull(otp_elf_section_of_type(&elf, SHT_SYMTAB));
    otp_elf_close(&elf);
}
END_TEST

START_TEST(test_compressed_is_not_used)
{
    struct otp_elf elf;
    symbol_elf_u64(&object, SE_SHDR(SE_S_SYMTAB) + 8, SHF_COMPRESSED);
    ck_assert_int_eq(open_all(&elf), OTP_OK);
    ck_assert_int_eq(otp_elf_load_sections(&elf), OTP_OK);
    ck_assert_ptr_null(otp_elf_section_of_type(&elf, SHT_SYMTAB));
    otp_elf_close(&elf);
}
END_TEST

START_TEST(test_bad_debuglink)
{
    struct otp_elf elf;
    char name[OTP_ELF_DEBUGLINK_MAX];
    uint32_t crc;
    static const struct {
        const char *text;
        uint64_t size;
    } cases[] = {
        {"small.debug", 12}, {"../../passwd", 20}, {"", 16}, {"no.nul.at.all....", 8}, {"x", 600},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        set_up();
        memcpy(object.bytes + SE_LINK, cases[i].text, strlen(cases[i].text) + 1);
        symbol_elf_u64(&object, SE_SHDR(SE_S_LINK) + 32, cases[i].size);
        ck_assert_int_eq(open_all(&elf), OTP_OK);
        ck_assert_int_eq(otp_elf_load_sections(&elf), OTP_OK);
        ck_assert(!otp_elf_debuglink(&elf, name, &crc));
        otp_elf_close(&elf);
    }
}
END_TEST

START_TEST(test_no_memory)
{
    struct otp_elf elf;
    otp_heap_init(&heap, 4096);
    ck_assert_int_eq(open_all(&elf), OTP_NO_MEMORY);
    ck_assert_uint_eq(heap.mapped_bytes, 0);
}
END_TEST

/* ---- hostile objects: everything is done with each, nothing may crash or keep memory ---- */

/* Plain conditions: Check's own macros write a line to a file for each call. */
static bool is_sane(const struct otp_symbol *symbol, uint64_t addr)
{
    return addr >= symbol->start && addr - symbol->start < symbol->size && symbol->name.len > 0 &&
           symbol->name.len <= SE_SIZE + 4;
}

static void use_all(const void *image, size_t len)
{
    struct otp_symbol symbol;
    struct otp_symbol_source source = {.path = "[vdso]", .image = image, .image_len = len};
    struct otp_symbols *s;
    size_t count;
    bool sane = true;

    if (otp_symbols_open(&heap, &source, &s) != OTP_OK) {
        ck_abort_msg("not opened");
    }
    (void)otp_symbols_load_names(s);
    for (uint64_t addr = SE_TEXT_ADDR - 8; addr < SE_PLT_ADDR + 0x48; addr += 4) {
        sane = sane && (!otp_symbols_find(s, addr, &symbol) || is_sane(&symbol, addr));
        (void)otp_symbols_segment(s, addr);
    }
    for (size_t i = 0; i < otp_symbols_count(s); i++) {
        (void)otp_symbols_at(s, i, &symbol);
    }
    const struct otp_elf_segment *segments = otp_symbols_segments(s, &count);
    sane = sane && (count == 0 || segments != NULL) && otp_symbols_count(s) <= 64;
    otp_symbols_destroy(s);
    if (!sane || heap.mapped_bytes > (size_t)512 << 10) {
        ck_abort_msg("insane result or memory kept");
    }
}

static void fill(void)
{
    set_up();
    symbol_elf_add(&object, "alpha", ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), SE_S_TEXT, SE_TEXT_ADDR,
                   0x20);
    symbol_elf_add(&object, "beta", ELF64_ST_INFO(STB_LOCAL, STT_FUNC), SE_S_TEXT,
                   SE_TEXT_ADDR + 0x20, 0);
    symbol_elf_add(&object, "gamma", ELF64_ST_INFO(STB_WEAK, STT_NOTYPE), SE_S_TEXT,
                   SE_TEXT_ADDR + 0x60, 0);
    symbol_elf_add(&object, "delta@@V1", ELF64_ST_INFO(STB_WEAK, STT_FUNC), SE_S_TEXT,
                   SE_TEXT_ADDR + 0x60, 0x10);
}

/* The image is copied to its exact size, so that a sanitizer sees each byte read past the end. */
START_TEST(test_every_prefix)
{
    fill();
    for (size_t len = 0; len <= SE_SIZE; len++) {
        unsigned char *copy = malloc(len + 1);
        memcpy(copy, object.bytes, len);
        use_all(copy, len);
        free(copy);
    }
}
END_TEST

static void flip_range(size_t from, size_t to)
{
    static const unsigned char masks[] = {1, 2, 4, 8, 16, 32, 64, 128, 0xff};
    unsigned char *copy = malloc(SE_SIZE);
    fill();
    memcpy(copy, object.bytes, SE_SIZE);
    for (size_t at = from; at < to; at++) {
        for (size_t i = 0; i < sizeof(masks) + 2; i++) {
            unsigned char old = copy[at];
            copy[at] = i < sizeof(masks) ? old ^ masks[i] : i == sizeof(masks) ? 0 : 0x7f;
            use_all(copy, SE_SIZE);
            copy[at] = old;
        }
    }
    free(copy);
}

START_TEST(test_every_header_byte)
{
    flip_range(0, SE_PHDRS + 56 * SE_PHDR_COUNT);
    flip_range(SE_SHDRS, SE_SHDR(SE_SHDR_COUNT));
}
END_TEST

START_TEST(test_every_table_byte)
{
    flip_range(SE_NOTE, SE_NOTE + 36);
    flip_range(SE_PLT, SE_SHSTRTAB);
}
END_TEST

static void set_bytes(size_t from, size_t to)
{
    unsigned char *copy = malloc(SE_SIZE);
    memcpy(copy, object.bytes, SE_SIZE);
    for (size_t at = from; at < to; at++) {
        unsigned char old = copy[at];
        for (unsigned v = 0; v < 256; v += 5) {
            copy[at] = (unsigned char)v;
            use_all(copy, SE_SIZE);
        }
        copy[at] = old;
    }
    free(copy);
}

/* The same without section headers: through PT_DYNAMIC and the hash tables. */
START_TEST(test_every_dynamic_byte)
{
    fill();
    symbol_elf_u64(&object, 40, 0);
    set_bytes(SE_DYNAMIC, SE_DYNAMIC + 0x50);
    set_bytes(SE_HASH, SE_HASH + 8);
    symbol_elf_u64(&object, SE_DYNAMIC + 48, DT_GNU_HASH);
    symbol_elf_u64(&object, SE_DYNAMIC + 56, SE_DATA_ADDR + SE_GNU_HASH - 0x340);
    set_bytes(SE_DYNAMIC, SE_DYNAMIC + 0x50);
    set_bytes(SE_GNU_HASH, SE_GNU_HASH + 32);
}
END_TEST

/* ---- identities ---- */

/* Expected values are from coreutils: (head -c 4096; tail -c 4096; length as 8 bytes) | sha256sum.
 */
START_TEST(test_htlhash)
{
    static const struct {
        size_t len;
        const char *hex;
    } cases[] = {
        {0, "af5570f5a1810b7af78caf4bc70a660f"},    {1, "52807a4607ea5debf0b7d4ccb452f4af"},
        {4096, "90bb800c5f450e89215cbcc78f924f68"}, {6000, "f7afd699cf39fe41587779ff201c7139"},
        {8192, "9451ed8ae8e30ad6dd586918da276aac"}, {20000, "82c85da84555c2b213cc3359fcbcef86"},
    };
    unsigned char *bytes = malloc(20000);
    for (size_t i = 0; i < 20000; i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(cases); i++) {
        struct otp_elf_bytes source = {.fd = -1, .image = bytes, .len = cases[i].len};
        char hex[OTP_HTLHASH_HEX_SIZE];
        ck_assert_int_eq(otp_htlhash(&source, hex), OTP_OK);
        ck_assert_str_eq(hex, cases[i].hex);
    }
    free(bytes);
}
END_TEST

START_TEST(test_build_id_hex)
{
    char hex[OTP_BUILD_ID_HEX_SIZE];
    uint8_t id[OTP_ELF_BUILD_ID_MAX + 10];
    memset(id, 0x0f, sizeof(id));
    otp_build_id_hex(id, 2, hex);
    ck_assert_str_eq(hex, "0f0f");
    otp_build_id_hex(id, 0, hex);
    ck_assert_str_eq(hex, "");
    otp_build_id_hex(id, sizeof(id), hex);
    ck_assert_uint_eq(strlen(hex), OTP_BUILD_ID_HEX_SIZE - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbol_elf");
    TCase *good = tcase_create("parser");
    tcase_add_checked_fixture(good, set_up, tear_down);
    tcase_add_test(good, test_headers);
    tcase_add_test(good, test_sections);
    tcase_add_test(good, test_kind);
    tcase_add_test(good, test_bad_segments);
    tcase_add_test(good, test_many_segments);
    tcase_add_test(good, test_note_alignment);
    tcase_add_test(good, test_note_section);
    tcase_add_test(good, test_section_extension);
    tcase_add_test(good, test_section_count);
    tcase_add_test(good, test_no_section_names);
    tcase_add_test(good, test_compressed_is_not_used);
    tcase_add_test(good, test_bad_debuglink);
    tcase_add_test(good, test_no_memory);
    suite_add_tcase(suite, good);
    TCase *hostile = tcase_create("hostile");
    tcase_set_timeout(hostile, 120);
    tcase_add_checked_fixture(hostile, set_up, tear_down);
    tcase_add_test(hostile, test_every_prefix);
    tcase_add_test(hostile, test_every_header_byte);
    tcase_add_test(hostile, test_every_table_byte);
    tcase_add_test(hostile, test_every_dynamic_byte);
    suite_add_tcase(suite, hostile);
    TCase *ids = tcase_create("identities");
    tcase_add_test(ids, test_htlhash);
    tcase_add_test(ids, test_build_id_hex);
    suite_add_tcase(suite, ids);
    return unit_run(suite);
}
