/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph as a picture without scripts, and as folded stacks for other tools. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "tools/otelprof/flame.h"
#include "tools/otelprof/show.h"

#define NODES_MAX 60000U
#define WIDTH 1200.0
#define MARGIN 10.0
#define HEAD 52.0
#define ROW 18.0
#define CHAR 6.7      /* width of a character of the font at 11 px */
#define MIN_WIDTH 0.3 /* narrower frames are left out */

struct picture {
    FILE *to;
    const struct otp_flame *f;
    const struct otp_flame_values *v;
    const struct otp_type *type;
    double *left; /* by node: in units of the value */
    uint32_t depth;
};

static void write_xml(FILE *to, struct otp_text text)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    size_t pos = 0;

    while (pos < text.len) {
        unsigned step = otp_utf8_step_printable(text.data + pos, text.len - pos);
        const char *special = step == 1 ? strchr("<>&\"", text.data[pos]) : NULL;
        if (step == 0) {
            (void)fputc('?', to);
            pos++;
        } else if (special != NULL) {
            (void)fputs(entities[special - "<>&\""], to);
            pos++;
        } else {
            (void)fwrite(text.data + pos, 1, step, to);
            pos += step;
        }
    }
}

/* Hue and lightness from the module and the name, the same for equal ones. */
static void write_fill(struct picture *p, uint32_t node)
{
    static const unsigned hues[] = {24, 205, 145, 48, 275, 340, 175, 95, 230, 8, 310, 62};
    const struct otp_name *n = &p->f->tree.names.items[p->f->tree.nodes[node].name];
    uint64_t module = otp_hash_bytes(n->module.data, n->module.len, 3);
    uint64_t name = otp_hash_bytes(n->name.data, n->name.len, 5);

    if (p->f->base.set != NULL) {
        double now = p->v->total > 0 ? (double)p->v->sums[node] / (double)p->v->total : 0;
        double before =
            p->v->base_total > 0 ? (double)p->v->base_sums[node] / (double)p->v->base_total : 0;
        double size = now > before ? now - before : before - now;
        double strength = size * 8 > 1 ? 1 : size * 8;
        (void)fprintf(p->to, "hsl(%d,%.0f%%,%.0f%%)", now > before ? 8 : 212,
                      size < 1e-4 ? 4 : 20 + 64 * strength, 90 - 22 * strength);
        return;
    }
    (void)fprintf(p->to, "hsl(%u,%d%%,%u%%)", n->module.len == 0 ? 220U : hues[module % 12],
                  n->module.len == 0 ? 8 : 58, (unsigned)(72 + name % 9));
}

static void write_label(struct picture *p, struct otp_text name, double x, double y, double width)
{
    size_t chars = (size_t)((width - 8) / CHAR);

    if (width < 8 + 3 * CHAR) {
        return;
    }
    (void)fprintf(p->to, "<text x=\"%.1f\" y=\"%.1f\">", x + 4, y + 12.5);
    if (name.len > chars) {
        write_xml(p->to, otp_text_make(name.data, otp_utf8_cut(name, chars - 2)));
        (void)fputs("..", p->to);
    } else {
        write_xml(p->to, name);
    }
    (void)fputs("</text>", p->to);
}

static void write_frame(struct picture *p, uint32_t node, uint32_t depth)
{
    double scale = (WIDTH - 2 * MARGIN) / (double)p->v->total;
    double x = MARGIN + p->left[node] * scale;
    double y = HEAD + ROW * depth;
    double width = (double)p->v->sums[node] * scale;
    struct otp_text name =
        node == 0 ? otp_text_of("all") : p->f->tree.names.items[p->f->tree.nodes[node].name].name;
    char value[OTP_SHOW_MAX];
    char percent[OTP_SHOW_MAX];

    if (width < MIN_WIDTH) {
        return;
    }
    (void)fputs("<g><title>", p->to);
    write_xml(p->to, name);
    (void)fprintf(
        p->to, " (%s, %s)</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"17\" fill=\"",
        otp_show_value(value, p->v->sums[node], p->type->unit),
        otp_show_percent(percent, p->v->sums[node], p->v->total), x, y,
        width > 1.5 ? width - 0.5 : width);
    if (node == 0) {
        (void)fputs("hsl(220,8%,84%)", p->to);
    } else {
        write_fill(p, node);
    }
    (void)fputs("\"/>", p->to);
    write_label(p, name, x, y, width);
    (void)fputs("</g>\n", p->to);
}

/* Gives each node its left edge; parents come before children. */
static void lay_out(struct picture *p, const struct otp_flame_order *o)
{
    double *next = p->left + p->f->tree.count; /* where the next child of a node begins */

    for (uint32_t i = 0; i < o->count; i++) {
        uint32_t node = o->nodes[i];
        if (node == OTP_TREE_NONE) {
            continue;
        }
        uint32_t parent = p->f->tree.nodes[node].parent;
        double size = p->v->sums[node] > 0 ? (double)p->v->sums[node] : 0;
        p->left[node] = parent == OTP_TREE_NONE ? 0 : next[parent];
        next[node] = p->left[node];
        if (parent != OTP_TREE_NONE) {
            next[parent] += size;
        }
        if (size * (WIDTH - 2 * MARGIN) >= MIN_WIDTH * (double)p->v->total &&
            o->depths[i] > p->depth) {
            p->depth = o->depths[i];
        }
    }
}

static void write_picture(struct picture *p, const struct otp_flame_order *o)
{
    char title[200];
    char about[200];
    char value[OTP_SHOW_MAX];
    double height = HEAD + ROW * (p->depth + 1) + MARGIN;

    otp_flame_title(p->f, title, about, sizeof(title));
    (void)fprintf(p->to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"11\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfbfa\"/>\n"
                  "<text x=\"10\" y=\"20\" font-family=\"sans-serif\" font-size=\"16\" "
                  "font-weight=\"bold\">",
                  WIDTH, height, WIDTH, height);
    write_xml(p->to, otp_text_of(title));
    (void)fputs("</text>\n<text x=\"10\" y=\"38\" font-family=\"sans-serif\" font-size=\"12\" "
                "fill=\"#666b73\">",
                p->to);
    write_xml(p->to, p->type->type);
    (void)fprintf(p->to, " %s; ", otp_show_value(value, p->v->total, p->type->unit));
    write_xml(p->to, otp_text_of(about));
    (void)fputs("</text>\n", p->to);
    for (uint32_t i = 0; i < o->count && p->v->total > 0; i++) {
        if (o->nodes[i] != OTP_TREE_NONE) {
            write_frame(p, o->nodes[i], o->depths[i]);
        }
    }
    (void)fputs("</svg>\n", p->to);
}

bool otp_flame_write_svg(FILE *to, struct otp_flame *f)
{
    struct otp_flame_values v;
    struct otp_flame_order o;
    struct picture p = {.to = to,
                        .f = f,
                        .v = &v,
                        .type = &f->types.items[f->first],
                        .left = calloc((size_t)f->tree.count * 2, sizeof(double))};

    bool has_order = otp_flame_order_init(&o, f, NODES_MAX, f->first);
    bool ok = otp_flame_values_init(&v, f, f->first) && has_order && p.left != NULL;
    if (ok) {
        lay_out(&p, &o);
        write_picture(&p, &o);
    }
    otp_flame_order_fini(&o);
    otp_flame_values_fini(&v);
    free(p.left);
    return ok;
}

/* Semicolons and line ends have a meaning in folded stacks. */
static void write_folded_name(FILE *to, struct otp_text name)
{
    size_t from = 0;

    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == ';') {
            otp_show_text(to, otp_text_make(name.data + from, i - from));
            (void)fputc(':', to);
            from = i + 1;
        }
    }
    otp_show_text(to, otp_text_make(name.data + from, name.len - from));
}

/* Whether a value cannot stand in folded stacks as it is, or looks as if it had been changed. */
static bool needs_escapes(struct otp_text name)
{
    unsigned step = 1;

    for (size_t i = 0; i < name.len && step > 0; i += step) {
        step = otp_utf8_step_printable(name.data + i, name.len - i);
        if (name.data[i] == ';' ||
            (name.data[i] == '\\' && i + 1 < name.len && name.data[i + 1] == 'x')) {
            step = 0;
        }
    }
    return step == 0;
}

/* The value of a group: different ones stay different. */
static void write_folded_value(FILE *to, struct otp_text name)
{
    if (!needs_escapes(name)) {
        otp_show_text(to, name);
        return;
    }
    for (size_t i = 0; i < name.len;) {
        unsigned step = otp_utf8_step_printable(name.data + i, name.len - i);
        if (step == 0 || name.data[i] == ';' || name.data[i] == '\\') {
            (void)fprintf(to, "\\x%02x", (unsigned)(unsigned char)name.data[i]);
            step = 1;
        } else {
            (void)fwrite(name.data + i, 1, step, to);
        }
        i += step;
    }
}

/* Names from the outermost caller on; path has room for all of them. */
static void write_path(FILE *to, const struct otp_flame *f, uint32_t node, uint32_t *path)
{
    uint32_t depth = 0;

    for (; node != 0; node = f->tree.nodes[node].parent) {
        path[depth++] = node;
    }
    if (depth == 0) {
        (void)fputs("[no stack]", to);
    }
    uint32_t group_level = f->tree.has_programs ? 1 : 0;
    for (uint32_t level = 0; depth-- > 0; level++) {
        struct otp_text name = f->tree.names.items[f->tree.nodes[path[depth]].name].name;
        if (f->tree.by != NULL && level == group_level) {
            write_folded_value(to, name);
        } else {
            write_folded_name(to, name);
        }
        (void)fputs(depth > 0 ? ";" : "", to);
    }
}

bool otp_flame_write_folded(FILE *to, struct otp_flame *f)
{
    struct otp_flame_values v;
    uint32_t *path = malloc((size_t)f->tree.count * sizeof(path[0]));
    bool ok = otp_flame_values_init(&v, f, f->first) && path != NULL;

    for (uint32_t i = 0; ok && i < f->tree.count; i++) {
        int64_t base = f->base.set != NULL ? v.base[i] : 0;
        if (v.self[i] == 0 && base == 0) {
            continue;
        }
        write_path(to, f, i, path);
        if (f->base.set != NULL) {
            (void)fprintf(to, " %" PRId64, base);
        }
        (void)fprintf(to, " %" PRId64 "\n", v.self[i]);
    }
    otp_flame_values_fini(&v);
    free(path);
    return ok;
}

/* The value of a resource attribute, cut to room, or "". */
static void resource_text(const struct otp_profiles *m, const char *key, char *out, size_t room)
{
    struct otp_text text = otp_text_make("", 0);

    if (m->resources.count > 0) {
        struct otp_slice attrs = otp_profiles_resource(m, 0)->attrs;
        text = otp_profiles_value_text(m, otp_profiles_find_keyvalue(m, attrs, key));
    }
    size_t len = otp_utf8_clean(text, out, room - 1);
    out[len] = '\0';
}

void otp_flame_title(const struct otp_flame *f, char *out_title, char *out_about, size_t room)
{
    const struct otp_profiles *m = f->now.set->messages[0];
    char name[120];
    char host[80];
    char from[OTP_SHOW_MAX];
    char length[OTP_SHOW_MAX];
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;

    for (size_t i = 0; i < f->now.set->message_count; i++) {
        const struct otp_profiles *each = f->now.set->messages[i];
        for (uint32_t k = 0; k < each->profiles.count; k++) {
            const struct otp_profile *p = otp_profiles_profile(each, k);
            uint64_t until = p->time_ns + p->duration_ns;
            first = p->time_ns < first ? p->time_ns : first;
            last = until > last ? until : last;
        }
    }
    resource_text(m, "service.name", name, sizeof(name));
    if (name[0] == '\0') {
        resource_text(m, "process.executable.name", name, sizeof(name));
    }
    resource_text(m, "host.name", host, sizeof(host));
    (void)snprintf(out_title, room, "%s%s", name[0] != '\0' ? name : "profile",
                   f->tree.has_programs ? " and others" : "");
    (void)snprintf(
        out_about, room, "%s for %s%s%s%s", otp_show_time(from, first),
        otp_show_value(length, last > first ? (int64_t)(last - first) : 0, otp_text_of("ns")),
        host[0] != '\0' ? " on " : "", host, f->base.set != NULL ? ", compared" : "");
}
