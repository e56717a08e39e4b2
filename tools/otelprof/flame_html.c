/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interactive page: the parts of flame_page.* around the tree as JSON. All foreign text goes
 * through otp_show_json, which leaves no character that could end the script or begin markup.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "tools/otelprof/flame.h"
#include "tools/otelprof/flame_page.h"
#include "tools/otelprof/flame_threads.h"
#include "tools/otelprof/show.h"

/* More frames than that make browsers slow and files large. */
#define NODES_MAX 120000U
#define ABOUT_ROOM 400

/* The distinct texts of one kind (modules, files) and which of them each name has. */
struct texts {
    struct otp_names set;
    uint32_t *of_name;
};

/* Names that are used, numbered anew from 0; number 0 is the root's, 1 that of small frames. */
struct numbering {
    uint32_t *number; /* by name; OTP_TREE_NONE: not used */
    uint32_t *names;  /* by number; OTP_TREE_NONE: none */
    uint32_t count;
};

static bool numbering_init(struct numbering *n, const struct otp_flame *f,
                           const struct otp_flame_order *o)
{
    uint32_t all = f->tree.names.count;

    n->number = malloc(((size_t)all + 1) * sizeof(n->number[0]));
    n->names = malloc(((size_t)all + 2) * sizeof(n->names[0]));
    if (n->number == NULL || n->names == NULL) {
        return false;
    }
    memset(n->number, 0xff, ((size_t)all + 1) * sizeof(n->number[0]));
    n->names[0] = OTP_TREE_NONE;
    n->names[1] = OTP_TREE_NONE;
    n->count = 2;
    for (uint32_t i = 1; i < o->count; i++) {
        if (o->nodes[i] == OTP_TREE_NONE) {
            continue;
        }
        uint32_t name = f->tree.nodes[o->nodes[i]].name;
        if (n->number[name] == OTP_TREE_NONE) {
            n->number[name] = n->count;
            n->names[n->count++] = name;
        }
    }
    return true;
}

static void numbering_fini(struct numbering *n)
{
    free(n->number);
    free(n->names);
}

static struct otp_text text_of(const struct otp_flame *f, const struct numbering *n, uint32_t i,
                               int what)
{
    if (n->names[i] == OTP_TREE_NONE) {
        return otp_text_of(what == 0 && i == 1 ? OTP_FLAME_SMALL : "");
    }
    const struct otp_name *name = &f->tree.names.items[n->names[i]];
    return what == 0 ? name->name : what == 1 ? name->module : name->file;
}

/* Writes "key": [texts], the distinct ones of that kind, and "key_of": [their numbers by name]. */
static bool write_texts(FILE *to, const struct otp_flame *f, const struct numbering *n, int what)
{
    static const char *const keys[][2] = {{"modules", "module"}, {"files", "file"}};
    struct texts t = {.of_name = malloc((size_t)n->count * sizeof(t.of_name[0]))};
    bool ok = t.of_name != NULL;

    otp_names_init(&t.set);
    for (uint32_t i = 0; i < n->count && ok; i++) {
        struct otp_name name = {.name = text_of(f, n, i, what)};
        t.of_name[i] = otp_names_add(&t.set, &name);
        ok = t.of_name[i] != UINT32_MAX;
    }
    (void)fprintf(to, ",\n\"%s\":[", keys[what - 1][0]);
    for (uint32_t i = 0; i < t.set.count && ok; i++) {
        (void)fputs(i > 0 ? "," : "", to);
        otp_show_json(to, t.set.items[i].name);
    }
    (void)fprintf(to, "],\n\"%s\":[", keys[what - 1][1]);
    for (uint32_t i = 0; i < n->count && ok; i++) {
        (void)fprintf(to, "%s%u", i > 0 ? "," : "", (unsigned)t.of_name[i]);
    }
    (void)fputc(']', to);
    otp_names_fini(&t.set);
    free(t.of_name);
    return ok;
}

static void write_frames(FILE *to, const struct otp_flame *f, const struct otp_flame_order *o,
                         const struct numbering *n)
{
    (void)fputs(",\n\"depth\":[", to);
    for (uint32_t i = 0; i < o->count; i++) {
        (void)fprintf(to, "%s%u", i > 0 ? "," : "", (unsigned)o->depths[i]);
    }
    (void)fputs("],\n\"name\":[", to);
    for (uint32_t i = 0; i < o->count; i++) {
        uint32_t node = o->nodes[i];
        unsigned number = node == OTP_TREE_NONE ? 1
                          : node == 0           ? 0
                                                : (unsigned)n->number[f->tree.nodes[node].name];
        (void)fprintf(to, "%s%u", i > 0 ? "," : "", number);
    }
    (void)fputc(']', to);
}

static void write_pairs(FILE *to, const struct otp_flame *f, const struct otp_flame_order *o,
                        const int64_t *self, const int64_t *sums)
{
    bool is_first = true;

    for (uint32_t i = 0; i < o->count; i++) {
        int64_t value = o->nodes[i] != OTP_TREE_NONE
                            ? self[o->nodes[i]]
                            : otp_flame_left_out(f, o, o->parents[i], sums);
        if (value != 0) {
            (void)fprintf(to, "%s%u,%" PRId64, is_first ? "" : ",", (unsigned)i, value);
            is_first = false;
        }
    }
}

/* One list per type: [frame, value, ...] of the frames that have one. */
static bool write_values(FILE *to, const struct otp_flame *f, const struct otp_flame_order *o,
                         bool is_base)
{
    bool ok = true;

    (void)fprintf(to, ",\n\"%s\":[", is_base ? "base" : "self");
    for (size_t t = 0; t < f->types.count && ok; t++) {
        struct otp_flame_values v;
        ok = otp_flame_values_init(&v, f, t);
        (void)fputs(t > 0 ? ",\n[" : "[", to);
        if (ok) {
            write_pairs(to, f, o, is_base ? v.base : v.self, is_base ? v.base_sums : v.sums);
        }
        (void)fputc(']', to);
        otp_flame_values_fini(&v);
    }
    (void)fputc(']', to);
    return ok;
}

static void write_types(FILE *to, const struct otp_flame *f)
{
    (void)fputs(",\n\"types\":[", to);
    for (size_t t = 0; t < f->types.count; t++) {
        (void)fprintf(to, "%s{\"type\":", t > 0 ? "," : "");
        otp_show_json(to, f->types.items[t].type);
        (void)fputs(",\"unit\":", to);
        otp_show_json(to, f->types.items[t].unit);
        (void)fputc('}', to);
    }
    (void)fprintf(to, "],\n\"first\":%zu", f->first);
}

static void write_json(FILE *to, const char *key, const char *text)
{
    (void)fprintf(to, ",\n\"%s\":", key);
    otp_show_json(to, otp_text_of(text));
}

/* What the profiler lost, summed over all profiles; "" when nothing. */
static void lost_text(const struct otp_flame *f, char *out, size_t room)
{
    static const char prefix[] = "otelprof.dropped.";
    int64_t lost = 0;

    for (size_t i = 0; i < f->now.set->message_count; i++) {
        const struct otp_profiles *m = f->now.set->messages[i];
        for (uint32_t k = 0; k < m->profiles.count; k++) {
            uint32_t count;
            const int32_t *list = otp_profiles_list(m, otp_profiles_profile(m, k)->attrs, &count);
            for (uint32_t n = 0; n < count; n++) {
                const struct otp_attribute *a = otp_profiles_attribute(m, list[n]);
                struct otp_text key = otp_profiles_string(m, a->key);
                bool is_loss = key.len >= sizeof(prefix) - 1 && a->value.kind == OTP_VALUE_INT &&
                               memcmp(key.data, prefix, sizeof(prefix) - 1) == 0;
                lost = is_loss ? otp_add_clamped(lost, a->value.of.number) : lost;
            }
        }
    }
    (void)snprintf(out, room, "%" PRId64 " events were lost: see otelprof info", lost);
    out[0] = lost == 0 ? '\0' : out[0];
}

static bool write_data(FILE *to, const struct otp_flame *f, const struct otp_flame_order *o)
{
    struct numbering n = {.number = NULL};
    char title[ABOUT_ROOM];
    char about[ABOUT_ROOM];
    bool ok = numbering_init(&n, f, o);

    if (ok) {
        otp_flame_title(f, title, about, sizeof(title));
        (void)fputs("{\"small\":\"" OTP_FLAME_SMALL "\"", to);
        write_json(to, "title", title);
        write_json(to, "about", about);
        lost_text(f, about, sizeof(about));
        write_json(to, "lost", about);
        (void)snprintf(about, sizeof(about), "%u small frames are taken together",
                       (unsigned)o->left_out);
        write_json(to, "note", o->left_out > 0 ? about : "");
        write_types(to, f);
        (void)fputs(",\n\"names\":[", to);
        for (uint32_t i = 0; i < n.count; i++) {
            (void)fputs(i > 0 ? ",\n" : "", to);
            otp_show_json(to, text_of(f, &n, i, 0));
        }
        (void)fputc(']', to);
        ok = write_texts(to, f, &n, 1) && write_texts(to, f, &n, 2);
        write_frames(to, f, o, &n);
        ok = write_values(to, f, o, false) && ok;
        ok = otp_flame_write_threads(to, f, o) && ok;
        if (f->base.set != NULL) {
            ok = write_values(to, f, o, true) && ok;
        } else {
            (void)fputs(",\n\"base\":null", to);
        }
        (void)fputs("}\n", to);
    }
    numbering_fini(&n);
    return ok;
}

bool otp_flame_write_html(FILE *to, struct otp_flame *f)
{
    struct otp_flame_order o;

    if (!otp_flame_order_init(&o, f, NODES_MAX, OTP_FLAME_ALL_TYPES)) {
        otp_flame_order_fini(&o);
        return false;
    }
    /* Nothing may be loaded from anywhere; only what is in the page itself may run. */
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<title>otelprof</title>\n<style>\n",
                to);
    (void)fputs(otp_flame_page_css, to);
    (void)fputs("</style>\n</head>\n<body>\n", to);
    (void)fputs(otp_flame_page_html, to);
    (void)fputs("<script type=\"application/json\" id=\"data\">\n", to);
    bool ok = write_data(to, f, &o);
    (void)fputs("</script>\n<script>\n", to);
    (void)fputs(otp_flame_page_js, to);
    (void)fputs("</script>\n</body>\n</html>\n", to);
    otp_flame_order_fini(&o);
    return ok;
}
