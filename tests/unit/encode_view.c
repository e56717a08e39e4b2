/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/encode_view.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KIND(NAME) OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_##NAME

static void add(struct enc_view *v, char *who, int64_t value)
{
    if (v->count == v->capacity) {
        v->capacity = v->capacity * 2 + 64;
        v->items = realloc(v->items, v->capacity * sizeof(v->items[0]));
        ck_assert_ptr_nonnull(v->items);
    }
    v->items[v->count].who = who;
    v->items[v->count++].value = value;
}

static int compare_items(const void *a, const void *b)
{
    const struct enc_view_item *x = a;
    const struct enc_view_item *y = b;
    return strcmp(x->who, y->who);
}

/* Sorts, adds up what is equal, and drops zeros. */
static void settle(struct enc_view *v)
{
    size_t kept = 0;
    if (v->count > 0) {
        qsort(v->items, v->count, sizeof(v->items[0]), compare_items);
    }
    for (size_t i = 0; i < v->count;) {
        struct enc_view_item sum = v->items[i++];
        while (i < v->count && strcmp(v->items[i].who, sum.who) == 0) {
            sum.value += v->items[i].value;
            free(v->items[i++].who);
        }
        if (sum.value != 0) {
            v->items[kept++] = sum;
        } else {
            free(sum.who);
        }
    }
    v->count = kept;
}

void enc_view_forget(struct enc_view *v, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < v->count; i++) {
        char *at = v->items[i].who;
        while ((at = strstr(at, text)) != NULL) {
            memmove(at, at + len, strlen(at + len) + 1);
        }
    }
    settle(v);
}

void enc_view_fini(struct enc_view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        free(v->items[i].who);
    }
    free(v->items);
    memset(v, 0, sizeof(*v));
}

void enc_view_compare(const struct enc_view *a, const struct enc_view *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        ck_assert_str_eq(a->items[i].who, b->items[i].who);
        ck_assert_int_eq(a->items[i].value, b->items[i].value);
    }
    ck_assert_uint_eq(a->count, b->count);
}

static char *end_text(FILE *f, char **text)
{
    ck_assert_int_eq(fclose(f), 0);
    return *text;
}

/* Lines in sorted order, then freed. */
static void print_sorted(FILE *f, struct enc_lines *l)
{
    enc_lines_sort(l);
    for (size_t i = 0; i < l->count; i++) {
        fprintf(f, " %s", l->text[i]);
    }
    enc_lines_free(l);
}

static void add_line(struct enc_lines *l, const char *key, const char *text)
{
    char *line;
    size_t len;
    FILE *f = open_memstream(&line, &len);
    fprintf(f, "%s=%s", key, text);
    enc_lines_add(l, end_text(f, &line));
}

static void add_number(struct enc_lines *l, const char *key, int64_t number, const char *unit)
{
    char text[256];
    snprintf(text, sizeof(text), "%" PRId64 " %s", number, unit);
    add_line(l, key, text);
}

/* ---- OTLP ---- */

static void otlp_attr(struct enc_lines *l, const ENC_PB(ProfilesDictionary) * d, int32_t idx)
{
    const ENC_PB(KeyValueAndUnit) *a = d->attribute_table[idx];
    const char *key = d->string_table[a->key_strindex];
    const char *unit = d->string_table[a->unit_strindex];
    const ENC_COMMON(AnyValue) *v = a->value;
    char text[64];
    if (v->value_case == KIND(STRING_VALUE)) {
        snprintf(text, sizeof(text), "\"%s\"", v->string_value);
        add_line(l, key, text);
    } else if (v->value_case == KIND(BOOL_VALUE)) {
        add_line(l, key, v->bool_value ? "\"true\"" : "\"false\"");
    } else if (v->value_case == KIND(INT_VALUE)) {
        add_number(l, key, v->int_value, unit);
    } else if (v->value_case == KIND(DOUBLE_VALUE) &&
               v->double_value == (double)(int64_t)v->double_value) {
        add_number(l, key, (int64_t)v->double_value, unit);
    }
}

static void otlp_frames(FILE *f, const ENC_PB(ProfilesDictionary) * d, const ENC_PB(Stack) * stack)
{
    for (size_t i = 0; i < stack->n_location_indices; i++) {
        const ENC_PB(Location) *l = d->location_table[stack->location_indices[i]];
        const ENC_PB(Mapping) *m = d->mapping_table[l->mapping_index];
        fprintf(f, "(%" PRIx64 "-%" PRIx64 "+%" PRIx64 " %s @%" PRIx64, m->memory_start,
                m->memory_limit, m->file_offset, d->string_table[m->filename_strindex], l->address);
        for (size_t k = 0; k < l->n_lines; k++) {
            const ENC_PB(Function) *fn = d->function_table[l->lines[k]->function_index];
            fprintf(f, "{%s|%s|%s:%" PRId64 " %" PRId64 ":%" PRId64 "}",
                    d->string_table[fn->name_strindex], d->string_table[fn->system_name_strindex],
                    d->string_table[fn->filename_strindex], fn->start_line, l->lines[k]->line,
                    l->lines[k]->column);
        }
        fputc(')', f);
    }
}

static void otlp_hex(struct enc_lines *l, const char *key, const ProtobufCBinaryData *id)
{
    char text[40] = "\"";
    for (size_t i = 0; i < id->len; i++) {
        snprintf(text + 1 + 2 * i, 4, "%02x\"", id->data[i]);
    }
    add_line(l, key, text);
}

static char *otlp_who(const ENC_PB(ProfilesDictionary) * d, const ENC_PB(Profile) * p,
                      const ENC_PB(Sample) * s, uint64_t time)
{
    struct enc_lines labels = {.count = 0};
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    fprintf(f, "%s/%s ", d->string_table[p->sample_type->type_strindex],
            d->string_table[p->sample_type->unit_strindex]);
    otlp_frames(f, d, d->stack_table[s->stack_index]);
    for (size_t i = 0; i < s->n_attribute_indices; i++) {
        otlp_attr(&labels, d, s->attribute_indices[i]);
    }
    if (s->link_index != 0) {
        otlp_hex(&labels, "trace_id", &d->link_table[s->link_index]->trace_id);
        otlp_hex(&labels, "span_id", &d->link_table[s->link_index]->span_id);
    }
    print_sorted(f, &labels);
    fprintf(f, " t%" PRIu64, time);
    return end_text(f, &text);
}

static void otlp_profile(struct enc_view *v, const ENC_PB(ProfilesDictionary) * d,
                         const ENC_PB(Profile) * p, bool with_times)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        const ENC_PB(Sample) *s = p->samples[i];
        size_t count = s->n_values > 0 ? s->n_values : s->n_timestamps_unix_nano;
        for (size_t k = 0; k < count; k++) {
            uint64_t time =
                with_times && s->n_timestamps_unix_nano > 0 ? s->timestamps_unix_nano[k] : 0;
            add(v, otlp_who(d, p, s, time), s->n_values > 0 ? s->values[k] : 1);
        }
    }
}

void enc_view_otlp(struct enc_view *v, const ENC_PB(ProfilesData) * data, bool with_times)
{
    memset(v, 0, sizeof(*v));
    for (size_t r = 0; r < data->n_resource_profiles; r++) {
        for (size_t s = 0; s < data->resource_profiles[r]->n_scope_profiles; s++) {
            const ENC_PB(ScopeProfiles) *scope = data->resource_profiles[r]->scope_profiles[s];
            for (size_t i = 0; i < scope->n_profiles; i++) {
                otlp_profile(v, data->dictionary, scope->profiles[i], with_times);
            }
        }
    }
    settle(v);
}

/* ---- pprof ---- */

PPROF_PB(Profile) * enc_pprof_decode(const void *bytes, size_t len)
{
    PPROF_PB(Profile) *p = perftools__profiles__profile__unpack(NULL, len, bytes);
    ck_assert_ptr_nonnull(p);
    return p;
}

void enc_pprof_free(PPROF_PB(Profile) * p)
{
    perftools__profiles__profile__free_unpacked(p, NULL);
}

static void pprof_frames(FILE *f, const PPROF_PB(Profile) * p, const PPROF_PB(Sample) * s)
{
    static const PPROF_PB(Mapping) no_mapping = PERFTOOLS__PROFILES__MAPPING__INIT;
    for (size_t i = 0; i < s->n_location_id; i++) {
        const PPROF_PB(Location) *l = p->location[s->location_id[i] - 1];
        const PPROF_PB(Mapping) *m =
            l->mapping_id != 0 ? p->mapping[l->mapping_id - 1] : &no_mapping;
        fprintf(f, "(%" PRIx64 "-%" PRIx64 "+%" PRIx64 " %s @%" PRIx64, m->memory_start,
                m->memory_limit, m->file_offset, p->string_table[m->filename], l->address);
        for (size_t k = 0; k < l->n_line; k++) {
            const PPROF_PB(Function) *fn = p->function[l->line[k]->function_id - 1];
            fprintf(f, "{%s|%s|%s:%" PRId64 " %" PRId64 ":%" PRId64 "}", p->string_table[fn->name],
                    p->string_table[fn->system_name], p->string_table[fn->filename], fn->start_line,
                    l->line[k]->line, l->line[k]->column);
        }
        fputc(')', f);
    }
}

static char *pprof_who(const PPROF_PB(Profile) * p, const PPROF_PB(Sample) * s, size_t type,
                       const char *time_label)
{
    struct enc_lines labels = {.count = 0};
    uint64_t time = 0;
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    fprintf(f, "%s/%s ", p->string_table[p->sample_type[type]->type],
            p->string_table[p->sample_type[type]->unit]);
    pprof_frames(f, p, s);
    for (size_t i = 0; i < s->n_label; i++) {
        const PPROF_PB(Label) *l = s->label[i];
        const char *key = p->string_table[l->key];
        if (time_label != NULL && strcmp(key, time_label) == 0) {
            ck_assert_str_eq(p->string_table[l->num_unit], "nanoseconds");
            time = (uint64_t)l->num;
        } else if (l->str != 0) {
            char quoted[64];
            snprintf(quoted, sizeof(quoted), "\"%s\"", p->string_table[l->str]);
            add_line(&labels, key, quoted);
        } else {
            add_number(&labels, key, l->num, p->string_table[l->num_unit]);
        }
    }
    print_sorted(f, &labels);
    fprintf(f, " t%" PRIu64, time);
    return end_text(f, &text);
}

void enc_view_pprof(struct enc_view *v, const PPROF_PB(Profile) * p, const char *time_label)
{
    memset(v, 0, sizeof(*v));
    for (size_t i = 0; i < p->n_sample; i++) {
        for (size_t k = 0; k < p->n_sample_type; k++) {
            add(v, pprof_who(p, p->sample[i], k, time_label), p->sample[i]->value[k]);
        }
    }
    settle(v);
}

/* ---- rules of pprof ---- */

static void use(bool *seen, size_t count, int64_t idx)
{
    ck_assert_int_ge(idx, 0);
    ck_assert_uint_lt((uint64_t)idx, count);
    seen[idx] = true;
}

/* The strings that the message refers to. */
static void use_strings(const PPROF_PB(Profile) * p, bool *seen)
{
    size_t n = p->n_string_table;
    for (size_t i = 0; i < p->n_sample_type; i++) {
        use(seen, n, p->sample_type[i]->type);
        use(seen, n, p->sample_type[i]->unit);
    }
    for (size_t i = 0; i < p->n_sample; i++) {
        for (size_t k = 0; k < p->sample[i]->n_label; k++) {
            const PPROF_PB(Label) *l = p->sample[i]->label[k];
            use(seen, n, l->key);
            use(seen, n, l->str);
            use(seen, n, l->num_unit);
        }
    }
    for (size_t i = 0; i < p->n_mapping; i++) {
        use(seen, n, p->mapping[i]->filename);
        use(seen, n, p->mapping[i]->build_id);
    }
    for (size_t i = 0; i < p->n_function; i++) {
        use(seen, n, p->function[i]->name);
        use(seen, n, p->function[i]->system_name);
        use(seen, n, p->function[i]->filename);
    }
    for (size_t i = 0; i < p->n_comment; i++) {
        use(seen, n, p->comment[i]);
    }
    if (p->period_type != NULL) {
        use(seen, n, p->period_type->type);
        use(seen, n, p->period_type->unit);
    }
    use(seen, n, p->default_sample_type);
    use(seen, n, p->drop_frames);
    use(seen, n, p->keep_frames);
    use(seen, n, p->doc_url);
}

static void check_samples(const PPROF_PB(Profile) * p)
{
    for (size_t i = 0; i < p->n_sample; i++) {
        ck_assert_uint_eq(p->sample[i]->n_value, p->n_sample_type);
        for (size_t k = 0; k < p->sample[i]->n_location_id; k++) {
            ck_assert_uint_ge(p->sample[i]->location_id[k], 1);
            ck_assert_uint_le(p->sample[i]->location_id[k], p->n_location);
        }
        for (size_t k = 0; k < p->sample[i]->n_label; k++) {
            const PPROF_PB(Label) *l = p->sample[i]->label[k];
            ck_assert_int_ne(l->key, 0);
            ck_assert(l->str == 0 || (l->num == 0 && l->num_unit == 0));
        }
    }
}

void enc_pprof_check(const PPROF_PB(Profile) * p)
{
    bool *seen = calloc(p->n_string_table + 1, sizeof(seen[0]));
    ck_assert_ptr_nonnull(seen);
    ck_assert_uint_ge(p->n_sample_type, 1);
    ck_assert_uint_ge(p->n_string_table, 1);
    ck_assert_str_eq(p->string_table[0], "");
    use_strings(p, seen);
    for (size_t i = 1; i < p->n_string_table; i++) {
        ck_assert_msg(seen[i], "string '%s' is an orphan", p->string_table[i]);
        for (size_t k = 0; k < i && i < 1000; k++) {
            ck_assert_str_ne(p->string_table[i], p->string_table[k]);
        }
    }
    free(seen);
    check_samples(p);
    for (size_t i = 0; i < p->n_mapping; i++) {
        ck_assert_uint_eq(p->mapping[i]->id, i + 1);
    }
    for (size_t i = 0; i < p->n_location; i++) {
        ck_assert_uint_eq(p->location[i]->id, i + 1);
        ck_assert_uint_le(p->location[i]->mapping_id, p->n_mapping);
        for (size_t k = 0; k < p->location[i]->n_line; k++) {
            ck_assert_uint_ge(p->location[i]->line[k]->function_id, 1);
            ck_assert_uint_le(p->location[i]->line[k]->function_id, p->n_function);
        }
    }
    for (size_t i = 0; i < p->n_function; i++) {
        ck_assert_uint_eq(p->function[i]->id, i + 1);
    }
}
