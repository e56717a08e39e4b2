/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/bars.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/annot.h"
#include "core/base/utf8.h"
#include "tools/otelprof/show.h"

#define BAR_MIN 8U
#define BAR_MAX 40U
#define GAP 2U /* between a bar and a name */
/* A name is not cut below these to make room for a bar: */
#define NAME_WIDE 40U   /* with all columns of numbers there, */
#define NAME_NARROW 24U /* without the one that can be done without, */
#define NAME_LEAST 8U   /* when bars are asked for */
#define EIGHTHS 8U

static const char title_on[] = "\033[1m";
static const char bar_on[] = "\033[36m";
static const char loss_on[] = "\033[35m"; /* less than nothing */
static const char module_on[] = "\033[2m";
static const char all_off[] = "\033[0m";

static void put_colour(const struct otp_bars *b, const char *code)
{
    if (b->has_colour) {
        (void)fputs(code, stdout);
    }
}

/* ---- how wide a text is ---- */

/* The code point of a valid character. */
static uint32_t code_of(const char *s, unsigned step)
{
    uint32_t code = (unsigned char)s[0] & (step == 1 ? 0x7fU : 0xffU >> (step + 1));

    for (unsigned i = 1; i < step; i++) {
        code = code << 6 | ((unsigned char)s[i] & 0x3fU);
    }
    return code;
}

/* Scripts of east Asia take two columns a character; so do most pictures. */
static bool is_wide(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                         {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

    for (size_t i = 0; i < OTP_ARRAY_LEN(ranges); i++) {
        if (c >= ranges[i][0] && c <= ranges[i][1]) {
            return true;
        }
    }
    return false;
}

/* The character at pos as otp_show_text() shows it: its columns, its bytes by *out_step. */
static unsigned columns_at(struct otp_text text, size_t pos, size_t *out_step)
{
    unsigned step = otp_utf8_step_printable(text.data + pos, text.len - pos);

    if (step > 0) {
        *out_step = step;
        return is_wide(code_of(text.data + pos, step)) ? 2 : 1;
    }
    step = otp_utf8_step(text.data + pos, text.len - pos);
    *out_step = step == 0 ? 1 : step;
    return 1; /* a question mark */
}

/* How many bytes of text fit into `room` columns, and how many columns they take. */
static size_t fit(struct otp_text text, unsigned room, unsigned *out_columns)
{
    size_t pos = 0;
    unsigned columns = 0;

    while (pos < text.len) {
        size_t step;
        unsigned more = columns_at(text, pos, &step);
        if (more > room - columns) {
            break;
        }
        columns += more;
        pos += step;
    }
    *out_columns = columns;
    return pos;
}

static unsigned width_of(struct otp_text text)
{
    unsigned columns;
    (void)fit(text, UINT32_MAX, &columns);
    return columns;
}

unsigned otp_bars_name_columns(struct otp_text name, struct otp_text module)
{
    return width_of(name) + (module.len > 0 ? 4 + width_of(module) : 0);
}

/* ---- the plan ---- */

/* Divides what the numbers leave among bars and names that want so many columns; false: there is
 * not enough. */
static bool divide(struct otp_bars *b, unsigned left, unsigned longest, unsigned least)
{
    unsigned wanted = longest < least ? longest : least;
    unsigned spare = left > longest ? left - longest : 0;

    if (left < BAR_MIN + wanted) {
        return false;
    }
    b->columns = spare < BAR_MIN ? BAR_MIN : spare > BAR_MAX ? BAR_MAX : spare;
    b->name_columns = left - b->columns;
    return true;
}

void otp_bars_plan(struct otp_bars *b, unsigned used, unsigned longest, uint64_t largest)
{
    unsigned all = otp_terminal_columns();
    unsigned left = all > used + GAP ? all - used - GAP : 0;

    b->columns = 0;
    b->is_narrow = false;
    b->largest = largest;
    b->has_colour = otp_terminal_has_colour(b->colour);
    b->is_utf8 = otp_terminal_is_utf8();
    if (!otp_terminal_has_bars(b->when) || largest == 0 || divide(b, left, longest, NAME_WIDE)) {
        return;
    }
    left += all > used + GAP ? OTP_BARS_SPARE : 0;
    b->is_narrow = divide(b, left, longest, NAME_NARROW);
    if (!b->is_narrow && b->when == OTP_WHEN_ALWAYS) { /* perhaps longer than the line */
        left = left < BAR_MIN + NAME_LEAST ? BAR_MIN + NAME_LEAST : left;
        b->is_narrow = divide(b, left, longest, NAME_LEAST);
    }
}

/* ---- printing ---- */

void otp_bars_begin_titles(const struct otp_bars *b)
{
    put_colour(b, title_on);
}

void otp_bars_end_titles(const struct otp_bars *b, const char *last_title)
{
    if (b->columns > 0) {
        (void)printf("%*s", (int)(b->columns + GAP), "");
    }
    (void)fputs(last_title, stdout);
    put_colour(b, all_off);
    (void)putchar('\n');
}

/* A bar of `eighths` of a column; the rest of a column counts where it can be shown. */
static unsigned draw_blocks(const struct otp_bars *b, unsigned eighths)
{
    unsigned whole = eighths / EIGHTHS;
    unsigned rest = eighths % EIGHTHS;

    for (unsigned i = 0; i < whole; i++) {
        (void)fputs(b->is_utf8 ? "\xe2\x96\x88" : "#", stdout); /* U+2588, a full block */
    }
    if (rest > 0 && b->is_utf8) { /* U+2589 is seven eighths, U+258F one */
        (void)printf("\xe2\x96%c", (char)(0x90U - rest));
        whole++;
    }
    return whole;
}

void otp_bars_draw(const struct otp_bars *b, int64_t value)
{
    if (b->columns == 0) {
        return;
    }
    double part = (double)otp_magnitude(value) / (double)b->largest;
    unsigned full = b->columns * EIGHTHS;
    unsigned eighths = part >= 1 ? full : (unsigned)(part * full + 0.5);
    if (eighths == 0 && value != 0) {
        eighths = 1; /* little is not nothing */
    }
    put_colour(b, value < 0 ? loss_on : bar_on);
    unsigned drawn = draw_blocks(b, eighths);
    put_colour(b, all_off);
    (void)printf("%*s", (int)(b->columns - drawn + GAP), "");
}

static void put_module(const struct otp_bars *b, struct otp_text module)
{
    (void)fputs("  ", stdout);
    put_colour(b, module_on);
    (void)putchar('[');
    otp_show_text(stdout, module);
    (void)putchar(']');
    put_colour(b, all_off);
}

void otp_bars_name(struct otp_bars *b, struct otp_text name, struct otp_text module)
{
    unsigned columns;
    bool has_module = module.len > 0;

    if (b->columns > 0 && otp_bars_name_columns(name, module) > b->name_columns) {
        /* The module goes first; what is left of the name ends in three points. */
        has_module = false;
        b->cut++;
        if (width_of(name) > b->name_columns) {
            name.len = fit(name, b->name_columns - 3, &columns);
            otp_show_text(stdout, name);
            (void)fputs("...\n", stdout);
            return;
        }
    }
    otp_show_text(stdout, name);
    if (has_module) {
        put_module(b, module);
    }
    (void)putchar('\n');
}

void otp_bars_end(const struct otp_bars *b)
{
    if (b->cut > 0) {
        (void)printf("%" PRIu64 " names are cut to the width of the line (--bars never shows them "
                     "whole)\n",
                     b->cut);
    }
}
