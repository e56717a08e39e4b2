/* SPDX-License-Identifier: Apache-2.0 */
/* The demangler: what names become, and that hostile names end early. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/annot.h"
#include "core/symbol/demangle.h"
#include "core/symbol/stackcall.h"
#include "tests/unit/run.h"

static struct otp_heap heap;
static struct otp_buf out;
static char name[8192];

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)1 << 20);
    otp_buf_init(&out, &heap, (size_t)128 << 10);
}

static void expect(const char *raw, const char *readable)
{
    otp_buf_clear(&out);
    bool ok = otp_demangle(otp_text_of(raw), &out);
    ck_assert_msg(ok == (readable != NULL), "%s", raw);
    if (ok) {
        ck_assert_str_eq(otp_buf_str(&out), readable);
    } else {
        ck_assert_uint_eq(out.len, 0);
    }
}

START_TEST(test_cplus)
{
    expect("_ZN2ns1fEi", "ns::f(int)");
    expect("_Z1fv", "f()");
    expect("_ZNK3FooIiE3barEv", "Foo<int>::bar() const");
    expect("_ZN3FooC1ERKS_", "Foo::Foo(Foo const&)");
    expect("_ZN3FooD0Ev", "Foo::~Foo()");
    expect("_ZTV3Foo", "vtable for Foo");
    expect("_ZThn16_N3Foo3barEv", "non-virtual thunk to Foo::bar()");
    expect("_ZNSt6vectorIiSaIiEE9push_backEOi",
           "std::vector<int, std::allocator<int> >::push_back(int&&)");
    expect("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
    expect("_Z1fv.cold", "f() [clone .cold]");
    expect("_ZlsRSoRK3Foo", "operator<<(std::ostream&, Foo const&)");
    expect("_ZN1AB5cxx111fEv", "A[abi:cxx11]::f()");
}
END_TEST

START_TEST(test_rust)
{
    expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
           "17h930b740aa94f1d3aE",
           "<Test + 'static as foo::Bar<Test>>::bar");
    expect("_RNvC6_123foo3bar", "123foo::bar");
    expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    expect("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>");
}
END_TEST

START_TEST(test_not_mangled)
{
    static const char *const names[] = {"",    "_",    "_Z",    "_R",      "main",  "malloc@plt",
                                        "_Zx", "_RxX", "__Z1f", "_ZN3foo", "_Z3fo", "_start"};
    for (size_t i = 0; i < OTP_ARRAY_LEN(names); i++) {
        expect(names[i], NULL);
    }
    otp_buf_clear(&out);
    ck_assert(!otp_demangle(otp_text_make("_Z1f\0v", 6), &out));
}
END_TEST

START_TEST(test_appends)
{
    ck_assert(otp_buf_add_str(&out, "before "));
    ck_assert(otp_demangle(otp_text_make("_Z1fvXYZ", 5), &out));
    ck_assert_str_eq(otp_buf_str(&out), "before f()");
    ck_assert(!otp_demangle(otp_text_of("_ZN3foo"), &out));
    ck_assert_str_eq(otp_buf_str(&out), "before f()");
}
END_TEST

/* No room in the buffer: false, and the buffer as it was and good for more. */
START_TEST(test_no_room)
{
    otp_buf_init(&out, &heap, 12);
    ck_assert(otp_buf_add_str(&out, "before "));
    ck_assert(!otp_demangle(otp_text_of("_ZN2ns8functionEi"), &out));
    ck_assert_uint_eq(out.len, 7);
    ck_assert(otp_buf_ok(&out));
    ck_assert(otp_demangle(otp_text_of("_Z1fv"), &out));
    ck_assert_str_eq(otp_buf_str(&out), "before f()");
}
END_TEST

static size_t append(size_t len, const char *text)
{
    size_t more = strlen(text);
    ck_assert_uint_lt(len + more, sizeof(name));
    memcpy(name + len, text, more + 1);
    return len + more;
}

static void repeat(const char *head, const char *unit, size_t count, const char *tail)
{
    size_t unit_len = strlen(unit);
    size_t len = append(0, head);
    for (size_t i = 0; i < count; i++, len += unit_len) {
        memcpy(name + len, unit, unit_len);
    }
    (void)append(len, tail);
}

/* Each level doubles the result. */
static void make_doubling(unsigned levels)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    ck_assert_uint_le(levels, sizeof(digits) - 1);
    size_t len = append(0, "_Z1f1AIiiE");
    for (unsigned i = 0; i < levels; i++) {
        char unit[16] = "S_IS#_S#_E";
        unit[4] = unit[7] = digits[i];
        len = append(len, unit);
    }
}

START_TEST(test_result_limit)
{
    make_doubling(8);
    ck_assert(otp_demangle(otp_text_of(name), &out));
    size_t len = out.len;
    ck_assert_uint_gt(len, 4096);
    make_doubling(36);
    clock_t start = clock();
    ck_assert(!otp_demangle(otp_text_of(name), &out));
    ck_assert_int_lt(clock() - start, CLOCKS_PER_SEC); /* all of it would take hours */
    ck_assert_uint_eq(out.len, len);
    ck_assert(otp_buf_ok(&out));
    expect("_Z1fi", "f(int)");
}
END_TEST

/* A pack expansion of a type that doubles on each level, which is searched before it is printed. */
START_TEST(test_search_limit)
{
    clock_t start = clock();
    make_doubling(36);
    size_t len = strlen(name);
    memmove(name + 6, name + 4, len - 3); /* behind "_ZTCFv" */
    memcpy(name, "_ZTCFv", 6);
    (void)append(len + 2, "E0_DpSZ_");
    ck_assert(!otp_demangle(otp_text_of(name), &out));
    ck_assert_int_lt(clock() - start, CLOCKS_PER_SEC);
    expect("_Z1fIJicEEvDpT_", "void f<int, char>(int, char)");
}
END_TEST

/* An honest name of that kind, with over 40 references. */
START_TEST(test_long_packs)
{
    size_t len = append(0, "_Z1fI1AJicEEvT_");
    for (int i = 0; i < 50; i++) {
        len = append(len, "S0_");
    }
    (void)append(len, "DpT0_");
    ck_assert(otp_demangle(otp_text_of(name), &out));
    const char *text = otp_buf_str(&out);
    ck_assert_uint_gt(out.len, 10);
    ck_assert_str_eq(text + out.len - 10, "int, char)");
}
END_TEST

START_TEST(test_name_limit)
{
    repeat("_Z4089", "a", 4089, "v");
    ck_assert_uint_eq(strlen(name), 4096);
    ck_assert(otp_demangle(otp_text_of(name), &out));
    ck_assert_uint_eq(out.len, 4089 + 2);
    repeat("_Z4090", "a", 4090, "v");
    ck_assert(!otp_demangle(otp_text_of(name), &out));
}
END_TEST

/* Shapes that nest once for each of their bytes, up to the longest name. */
START_TEST(test_deep_nesting)
{
    static const char *const units[] = {"P",  "F",   "PF",  "FP", "PK",   "M1A",  "A1_", "J",
                                        "I",  "Z",   "ZN",  "N",  "XngE", "DTng", "Dp",  "cv",
                                        "GR", "C1a", "NvC", "R",  "T",    "Y",    "1AI", "RT_"};
    static const char *const heads[] = {"_Z1f", "_ZT", "_ZN1aI", "_R", "_RINvC1a1f", "_Z1fIiE"};
    for (size_t i = 0; i < OTP_ARRAY_LEN(units) * OTP_ARRAY_LEN(heads); i++) {
        const char *unit = units[i % OTP_ARRAY_LEN(units)];
        const char *head = heads[i / OTP_ARRAY_LEN(units)];
        repeat(head, unit, (4090 - strlen(head)) / strlen(unit), "i");
        otp_buf_clear(&out);
        (void)otp_demangle(otp_text_of(name), &out);
        repeat(head, unit, 300 / strlen(unit), "iEEE");
        otp_buf_clear(&out);
        (void)otp_demangle(otp_text_of(name), &out);
    }
    expect("_Z1fi", "f(int)");
}
END_TEST

/* Many templates with many references to template parameters: room for each pair of them. */
START_TEST(test_pairs)
{
    repeat("_Z1f", "1AIRT_E", 500, "");
    ck_assert(!otp_demangle(otp_text_of(name), &out));
    repeat("_Z1fIiEv", "1AIRT_E", 100, "");
    (void)otp_demangle(otp_text_of(name), &out);
    expect("_Z1fi", "f(int)");
}
END_TEST

/* ---- leaving a foreign stack ---- */

struct visit {
    struct otp_stackcall call;
    int depth;
    bool leave;
    volatile char *lowest;
};

static OTP_NOINLINE void descend(struct visit *v, int depth)
{
    volatile char here[64];
    here[0] = (char)depth;
    v->lowest = here;
    v->depth = depth;
    if (depth < 100) {
        descend(v, depth + 1);
    } else if (v->leave) {
        otp_stackcall_leave(&v->call);
    }
    here[1] = here[0];
    v->depth--;
}

static void start(void *arg)
{
    descend(arg, 0);
}

START_TEST(test_stackcall)
{
    char *stack = aligned_alloc(64, 1 << 16);
    for (int round = 0; round < 10; round++) {
        struct visit v = {.leave = round % 2 == 1};
        bool returned = otp_stackcall_run(&v.call, start, &v, stack + (1 << 16));
        ck_assert_int_eq(returned, !v.leave);
        ck_assert_int_eq(v.depth, v.leave ? 100 : -1);
        ck_assert(v.lowest > stack && v.lowest < stack + (1 << 16));
    }
    free(stack);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbol_demangle");
    TCase *all = tcase_create("names");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, set_up, NULL);
    tcase_add_test(all, test_cplus);
    tcase_add_test(all, test_rust);
    tcase_add_test(all, test_not_mangled);
    tcase_add_test(all, test_appends);
    tcase_add_test(all, test_no_room);
    tcase_add_test(all, test_result_limit);
    tcase_add_test(all, test_search_limit);
    tcase_add_test(all, test_long_packs);
    tcase_add_test(all, test_name_limit);
    tcase_add_test(all, test_deep_nesting);
    tcase_add_test(all, test_pairs);
    tcase_add_test(all, test_stackcall);
    suite_add_tcase(suite, all);
    return unit_run(suite);
}
