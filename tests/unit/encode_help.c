/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/encode_help.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

#define UNPACK opentelemetry__proto__profiles__v1development__profiles_data__unpack
#define FREE opentelemetry__proto__profiles__v1development__profiles_data__free_unpacked

struct otp_text enc_text(const char *s)
{
    return otp_text_of(s);
}

struct otp_attr enc_attr_string(const char *key, const char *value)
{
    struct otp_attr a = {.key = enc_text(key), .kind = OTP_ATTR_STRING, .string = enc_text(value)};
    return a;
}

struct otp_attr enc_attr_int(const char *key, int64_t value)
{
    struct otp_attr a = {.key = enc_text(key), .kind = OTP_ATTR_INT, .number = value};
    return a;
}

void enc_count_ids(void *arg, uint8_t out_id[16])
{
    uint64_t *next = arg;
    memset(out_id, 0xee, 16);
    ++*next;
    memcpy(out_id, next, sizeof(*next));
}

void enc_rig_init(struct enc_rig *r, const struct otp_otlp_options *options)
{
    struct otp_otlp_options o = {.scope_name = enc_text("test")};
    memset(r, 0, sizeof(*r));
    if (options != NULL) {
        o = *options;
    }
    if (o.make_id == NULL) {
        o.make_id = enc_count_ids;
        o.make_id_arg = &r->next_id;
    }
    otp_heap_init(&r->heap, (size_t)256 << 20);
    otp_buf_init(&r->out, &r->heap, (size_t)64 << 20);
    ck_assert_int_eq(otp_otlp_builder_create(&r->heap, &o, &r->builder), OTP_OK);
    r->v = otp_otlp_builder_visitor(r->builder);
}

void enc_rig_fini(struct enc_rig *r)
{
    enc_free(r->data);
    otp_otlp_builder_destroy(r->builder);
    otp_buf_fini(&r->out);
    otp_heap_reset(&r->heap);
}

static void check_repacks(const struct otp_buf *out, const ENC_PB(ProfilesData) * data)
{
    size_t len = protobuf_c_message_get_packed_size(&data->base);
    ck_assert_uint_eq(len, out->len);
    uint8_t *again = malloc(len);
    ck_assert_ptr_nonnull(again);
    ck_assert_uint_eq(protobuf_c_message_pack(&data->base, again), len);
    ck_assert_mem_eq(again, out->data, len);
    free(again);
}

void enc_rig_finish(struct enc_rig *r)
{
    enc_free(r->data);
    otp_buf_clear(&r->out);
    ck_assert_int_eq(otp_otlp_builder_finish(r->builder, &r->out), OTP_OK);
    r->data = enc_decode(r->out.data, r->out.len);
    enc_check_rules(r->data);
    check_repacks(&r->out, r->data);
}

const ENC_PB(Profile) * enc_rig_profile(const struct enc_rig *r, size_t idx)
{
    ck_assert_uint_lt(idx, r->data->resource_profiles[0]->scope_profiles[0]->n_profiles);
    return r->data->resource_profiles[0]->scope_profiles[0]->profiles[idx];
}

void enc_begin(struct otp_visitor *v, const char *type, const char *unit, const char *type2,
               const char *unit2)
{
    const struct otp_value_type types[] = {
        {.type = enc_text(type), .unit = enc_text(unit)},
        {.type = enc_text(type2), .unit = enc_text(unit2)},
    };
    const struct otp_visit_profile p = {
        .types = types,
        .type_count = type2 == NULL ? 1 : 2,
        .period_type = types[0],
        .period = 10,
        .time_unix_ns = 1000,
        .duration_ns = 1000,
    };
    ck_assert_int_eq(v->begin_profile(v, &p), OTP_OK);
}

void enc_end(struct otp_visitor *v)
{
    ck_assert_int_eq(v->end_profile(v), OTP_OK);
}

uint32_t enc_frame(struct otp_visitor *v, const char *name)
{
    uint32_t id = 0;
    const struct otp_visit_line line = {.name = enc_text(name)};
    const struct otp_visit_frame f = {.lines = &line, .line_count = 1};
    ck_assert_int_eq(v->frame(v, &f, &id), OTP_OK);
    return id;
}

uint32_t enc_stack(struct otp_visitor *v, const char *const *names)
{
    uint32_t frames[64];
    size_t count = 0;
    uint32_t id = 0;
    for (; names[count] != NULL; count++) {
        ck_assert_uint_lt(count, 64);
        frames[count] = enc_frame(v, names[count]);
    }
    ck_assert_int_eq(v->stack(v, frames, count, &id), OTP_OK);
    return id;
}

void enc_sample_add(struct otp_visitor *v, uint32_t stack, int64_t value, int64_t value2,
                    uint64_t time_ns)
{
    const int64_t values[] = {value, value2};
    const struct otp_visit_sample s = {.stack = stack, .values = values, .timestamp_ns = time_ns};
    ck_assert_int_eq(v->sample(v, &s), OTP_OK);
}

ENC_PB(ProfilesData) * enc_decode(const void *bytes, size_t len)
{
    ENC_PB(ProfilesData) *data = UNPACK(NULL, len, bytes);
    ck_assert_ptr_nonnull(data);
    return data;
}

void enc_free(ENC_PB(ProfilesData) * data)
{
    FREE(data, NULL);
}

/* ---- rules ---- */

/* References seen to each table. */
struct refs {
    const ENC_PB(ProfilesDictionary) * d;
    bool *mapping;
    bool *location;
    bool *function;
    bool *link;
    bool *string;
    bool *attribute;
    bool *stack;
};

static void use(bool *seen, size_t count, int32_t idx)
{
    ck_assert_int_ge(idx, 0);
    ck_assert_uint_lt((size_t)idx, count);
    seen[idx] = true;
}

static void use_string(struct refs *r, int32_t idx)
{
    use(r->string, r->d->n_string_table, idx);
}

static void use_attrs(struct refs *r, const int32_t *idx, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        use(r->attribute, r->d->n_attribute_table, idx[i]);
        ck_assert_int_ne(idx[i], 0);
        for (size_t k = 0; k < i; k++) {
            ck_assert_int_ne(r->d->attribute_table[idx[i]]->key_strindex,
                             r->d->attribute_table[idx[k]]->key_strindex);
        }
    }
}

static void use_type(struct refs *r, const ENC_PB(ValueType) * t)
{
    ck_assert_ptr_nonnull(t);
    use_string(r, t->type_strindex);
    use_string(r, t->unit_strindex);
}

static int compare_indices(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static bool same_identity(const ENC_PB(Sample) * a, const ENC_PB(Sample) * b)
{
    size_t n = a->n_attribute_indices;
    if (a->stack_index != b->stack_index || a->link_index != b->link_index ||
        n != b->n_attribute_indices) {
        return false;
    }
    int32_t x[64];
    int32_t y[64];
    ck_assert_uint_le(n, 64);
    memcpy(x, a->attribute_indices, n * sizeof(x[0]));
    memcpy(y, b->attribute_indices, n * sizeof(y[0]));
    qsort(x, n, sizeof(x[0]), compare_indices);
    qsort(y, n, sizeof(y[0]), compare_indices);
    return memcmp(x, y, n * sizeof(x[0])) == 0;
}

static void check_sample(struct refs *r, const ENC_PB(Profile) * p, const ENC_PB(Sample) * s)
{
    use(r->stack, r->d->n_stack_table, s->stack_index);
    use(r->link, r->d->n_link_table, s->link_index);
    use_attrs(r, s->attribute_indices, s->n_attribute_indices);
    if (s->n_timestamps_unix_nano == 0) {
        ck_assert_uint_eq(s->n_values, 1);
        ck_assert_int_ne(s->values[0], 0);
    } else if (s->n_values != 0) {
        ck_assert_uint_eq(s->n_values, s->n_timestamps_unix_nano);
    }
    for (size_t i = 0; i < s->n_timestamps_unix_nano; i++) {
        uint64_t t = s->timestamps_unix_nano[i];
        ck_assert_uint_ge(t, p->time_unix_nano);
        ck_assert_uint_lt(t - p->time_unix_nano, p->duration_nano);
        ck_assert(i == 0 || s->timestamps_unix_nano[i - 1] <= t);
    }
}

static void check_profile(struct refs *r, const ENC_PB(Profile) * p, const ENC_PB(Profile) * first)
{
    use_type(r, p->sample_type);
    use_type(r, p->period_type);
    use_attrs(r, p->attribute_indices, p->n_attribute_indices);
    ck_assert_uint_eq(p->time_unix_nano, first->time_unix_nano);
    ck_assert_uint_eq(p->duration_nano, first->duration_nano);
    ck_assert(p->profile_id.len == 16 || p->profile_id.len == 0);
    ck_assert((p->original_payload.len == 0) == (p->original_payload_format[0] == '\0'));
    ck_assert_uint_gt(p->n_samples, 0);
    for (size_t i = 0; i < p->n_samples; i++) {
        const ENC_PB(Sample) *s = p->samples[i];
        check_sample(r, p, s);
        ck_assert((s->n_values != 0) == (p->samples[0]->n_values != 0));
        ck_assert((s->n_timestamps_unix_nano != 0) == (p->samples[0]->n_timestamps_unix_nano != 0));
        for (size_t k = 0; k < i && p->n_samples <= 300; k++) {
            ck_assert(!same_identity(s, p->samples[k]));
        }
    }
}

static void check_locations(struct refs *r)
{
    const ENC_PB(ProfilesDictionary) *d = r->d;
    for (size_t i = 0; i < d->n_location_table; i++) {
        const ENC_PB(Location) *l = d->location_table[i];
        use(r->mapping, d->n_mapping_table, l->mapping_index);
        use_attrs(r, l->attribute_indices, l->n_attribute_indices);
        for (size_t k = 0; k < l->n_lines; k++) {
            use(r->function, d->n_function_table, l->lines[k]->function_index);
            ck_assert_int_ge(l->lines[k]->line, 0);
            ck_assert_int_ge(l->lines[k]->column, 0);
        }
    }
    for (size_t i = 0; i < d->n_stack_table; i++) {
        for (size_t k = 0; k < d->stack_table[i]->n_location_indices; k++) {
            ck_assert_int_ne(d->stack_table[i]->location_indices[k], 0);
            use(r->location, d->n_location_table, d->stack_table[i]->location_indices[k]);
        }
    }
}

static void check_entries(struct refs *r)
{
    const ENC_PB(ProfilesDictionary) *d = r->d;
    for (size_t i = 0; i < d->n_function_table; i++) {
        const ENC_PB(Function) *f = d->function_table[i];
        use_string(r, f->name_strindex);
        use_string(r, f->system_name_strindex);
        use_string(r, f->filename_strindex);
        ck_assert_int_ge(f->start_line, 0);
        ck_assert(i == 0 ||
                  (f->name_strindex | f->system_name_strindex | f->filename_strindex) != 0);
    }
    for (size_t i = 0; i < d->n_mapping_table; i++) {
        const ENC_PB(Mapping) *m = d->mapping_table[i];
        use_string(r, m->filename_strindex);
        use_attrs(r, m->attribute_indices, m->n_attribute_indices);
        ck_assert((m->memory_start == 0 && m->memory_limit == 0) ||
                  m->memory_start < m->memory_limit);
    }
    for (size_t i = 0; i < d->n_attribute_table; i++) {
        const ENC_PB(KeyValueAndUnit) *a = d->attribute_table[i];
        use_string(r, a->key_strindex);
        use_string(r, a->unit_strindex);
        ck_assert(i == 0 || (a->key_strindex != 0 && a->value != NULL));
    }
    for (size_t i = 1; i < d->n_link_table; i++) {
        ck_assert_uint_eq(d->link_table[i]->trace_id.len, 16);
        ck_assert_uint_eq(d->link_table[i]->span_id.len, 8);
    }
    for (size_t i = 0; i < d->n_string_table; i++) {
        ck_assert(otp_utf8_is_valid(enc_text(d->string_table[i])));
    }
}

/* Entry 0 is the zero value, no two entries are equal, each other one was referred to. */
static void check_table(ProtobufCMessage *const *entries, const bool *seen, size_t count,
                        size_t zero_len)
{
    char **packed = calloc(count, sizeof(packed[0]));
    size_t *len = calloc(count, sizeof(len[0]));
    ck_assert_uint_ge(count, 1);
    ck_assert(packed != NULL && len != NULL);
    for (size_t i = 0; i < count; i++) {
        len[i] = protobuf_c_message_get_packed_size(entries[i]);
        packed[i] = malloc(len[i] + 1);
        ck_assert_ptr_nonnull(packed[i]);
        protobuf_c_message_pack(entries[i], (uint8_t *)packed[i]);
        ck_assert(i == 0 || seen[i]);
        for (size_t k = 0; k < i && count <= 1000; k++) {
            ck_assert(len[i] != len[k] || memcmp(packed[i], packed[k], len[i]) != 0);
        }
    }
    ck_assert(len[0] == 0 || len[0] == zero_len);
    for (size_t i = 0; i < count; i++) {
        free(packed[i]);
    }
    free(packed);
    free(len);
}

static void check_strings(const struct refs *r)
{
    const ENC_PB(ProfilesDictionary) *d = r->d;
    ck_assert_uint_ge(d->n_string_table, 1);
    ck_assert_str_eq(d->string_table[0], "");
    for (size_t i = 1; i < d->n_string_table; i++) {
        ck_assert_msg(r->string[i], "string '%s' is an orphan", d->string_table[i]);
        for (size_t k = 0; k < i && d->n_string_table <= 1000; k++) {
            ck_assert_str_ne(d->string_table[i], d->string_table[k]);
        }
    }
}

static void check_tables(const struct refs *r)
{
    const ENC_PB(ProfilesDictionary) *d = r->d;
    const size_t zero_link = 2 + 16 + 2 + 8;
    check_strings(r);
#define TABLE(name, zero)                                                                          \
    check_table((ProtobufCMessage *const *)(void *)d->name##_table, r->name, d->n_##name##_table,  \
                (zero))
    TABLE(mapping, 0);
    TABLE(location, 0);
    TABLE(function, 0);
    TABLE(link, zero_link);
    TABLE(attribute, 0);
    TABLE(stack, 0);
#undef TABLE
}

void enc_check_rules(const ENC_PB(ProfilesData) * data)
{
    ck_assert_ptr_nonnull(data->dictionary);
    ck_assert_uint_eq(data->n_resource_profiles, 1);
    ck_assert_ptr_nonnull(data->resource_profiles[0]->resource);
    ck_assert_uint_eq(data->resource_profiles[0]->n_scope_profiles, 1);
    const ENC_PB(ScopeProfiles) *scope = data->resource_profiles[0]->scope_profiles[0];
    ck_assert_ptr_nonnull(scope->scope);
    ck_assert_uint_ge(scope->n_profiles, 1);
    const ENC_PB(ProfilesDictionary) *d = data->dictionary;
    struct refs r = {
        .d = d,
        .mapping = calloc(d->n_mapping_table + 1, 1),
        .location = calloc(d->n_location_table + 1, 1),
        .function = calloc(d->n_function_table + 1, 1),
        .link = calloc(d->n_link_table + 1, 1),
        .string = calloc(d->n_string_table + 1, 1),
        .attribute = calloc(d->n_attribute_table + 1, 1),
        .stack = calloc(d->n_stack_table + 1, 1),
    };
    for (size_t i = 0; i < scope->n_profiles; i++) {
        check_profile(&r, scope->profiles[i], scope->profiles[0]);
    }
    check_locations(&r);
    check_entries(&r);
    check_tables(&r);
    free(r.mapping);
    free(r.location);
    free(r.function);
    free(r.link);
    free(r.string);
    free(r.attribute);
    free(r.stack);
}

/* ---- canonical text ---- */

void enc_lines_add(struct enc_lines *l, char *line)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity * 2 + 64;
        l->text = realloc(l->text, l->capacity * sizeof(l->text[0]));
        ck_assert_ptr_nonnull(l->text);
    }
    l->text[l->count++] = line;
}

static int compare_lines(const void *a, const void *b)
{
    const char *const *x = a;
    const char *const *y = b;
    return strcmp(*x, *y);
}

void enc_lines_sort(struct enc_lines *l)
{
    if (l->count > 0) {
        qsort(l->text, l->count, sizeof(l->text[0]), compare_lines);
    }
}

void enc_lines_free(struct enc_lines *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->text[i]);
    }
    free(l->text);
    memset(l, 0, sizeof(*l));
}

/* Lines sorted, without the earlier ones of equal keys (up to '='), in brackets. */
static void print_attr_lines(FILE *f, struct enc_lines *l)
{
    for (size_t i = 0; i < l->count; i++) {
        size_t key = (size_t)(strchr(l->text[i], '=') - l->text[i]) + 1;
        for (size_t k = i + 1; k < l->count; k++) {
            if (strncmp(l->text[i], l->text[k], key) == 0) {
                l->text[i][0] = '\0';
                break;
            }
        }
    }
    enc_lines_sort(l);
    fputc('[', f);
    for (size_t i = 0; i < l->count; i++) {
        if (l->text[i][0] != '\0') {
            fprintf(f, "%s,", l->text[i]);
        }
    }
    fputc(']', f);
    enc_lines_free(l);
}

static char *line_of(FILE *f, char **text)
{
    ck_assert_int_eq(fclose(f), 0);
    return *text;
}

void enc_print_attrs(FILE *f, const struct otp_attr *attrs, size_t count)
{
    struct enc_lines l = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        const struct otp_attr *a = &attrs[i];
        char *text;
        size_t len;
        FILE *m = open_memstream(&text, &len);
        fprintf(m, "%.*s=", (int)a->key.len, a->key.data);
        if (a->kind == OTP_ATTR_STRING) {
            fprintf(m, "s:%.*s", (int)a->string.len, a->string.data);
        } else if (a->kind == OTP_ATTR_DOUBLE) {
            fprintf(m, "d:%a", a->real);
        } else {
            fprintf(m, "%c:%" PRId64, a->kind == OTP_ATTR_INT ? 'i' : 'b', a->number);
        }
        fprintf(m, " %.*s", (int)a->unit.len, a->unit.data);
        enc_lines_add(&l, line_of(m, &text));
    }
    print_attr_lines(f, &l);
}

void enc_print_mapping(FILE *f, const struct otp_visit_mapping *m)
{
    fprintf(f, "%" PRIx64 "-%" PRIx64 "+%" PRIx64 " %.*s", m->start, m->limit, m->file_offset,
            (int)m->filename.len, m->filename.data);
    enc_print_attrs(f, m->attrs, m->attr_count);
}

void enc_print_frame(FILE *f, const struct otp_visit_frame *frame, const char *mapping)
{
    fprintf(f, "(%s @%" PRIx64 " ", mapping, frame->address);
    for (size_t i = 0; i < frame->line_count; i++) {
        const struct otp_visit_line *l = &frame->lines[i];
        fprintf(f, "{%.*s|%.*s|%.*s:%" PRId64 " %" PRId64 ":%" PRId64 "}", (int)l->name.len,
                l->name.data, (int)l->system_name.len, l->system_name.data, (int)l->filename.len,
                l->filename.data, l->start_line, l->line, l->column);
    }
    enc_print_attrs(f, frame->attrs, frame->attr_count);
    fputc(')', f);
}

static void dump_attrs(FILE *f, const ENC_PB(ProfilesDictionary) * d, const int32_t *idx,
                       size_t count)
{
    struct enc_lines l = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        const ENC_PB(KeyValueAndUnit) *a = d->attribute_table[idx[i]];
        const ENC_COMMON(AnyValue) *v = a->value;
        char *text;
        size_t len;
        FILE *m = open_memstream(&text, &len);
        fprintf(m, "%s=", d->string_table[a->key_strindex]);
        if (v->value_case == OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE) {
            fprintf(m, "s:%s", v->string_value);
        } else if (v->value_case ==
                   OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_DOUBLE_VALUE) {
            fprintf(m, "d:%a", v->double_value);
        } else if (v->value_case == OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_INT_VALUE) {
            fprintf(m, "i:%" PRId64, v->int_value);
        } else {
            fprintf(m, "b:%d", v->bool_value != 0);
        }
        fprintf(m, " %s", d->string_table[a->unit_strindex]);
        enc_lines_add(&l, line_of(m, &text));
    }
    print_attr_lines(f, &l);
}

static void dump_location(FILE *f, const ENC_PB(ProfilesDictionary) * d, const ENC_PB(Location) * l)
{
    const ENC_PB(Mapping) *m = d->mapping_table[l->mapping_index];
    fprintf(f, "(%" PRIx64 "-%" PRIx64 "+%" PRIx64 " %s", m->memory_start, m->memory_limit,
            m->file_offset, d->string_table[m->filename_strindex]);
    dump_attrs(f, d, m->attribute_indices, m->n_attribute_indices);
    fprintf(f, " @%" PRIx64 " ", l->address);
    for (size_t i = 0; i < l->n_lines; i++) {
        const ENC_PB(Function) *fn = d->function_table[l->lines[i]->function_index];
        fprintf(f, "{%s|%s|%s:%" PRId64 " %" PRId64 ":%" PRId64 "}",
                d->string_table[fn->name_strindex], d->string_table[fn->system_name_strindex],
                d->string_table[fn->filename_strindex], fn->start_line, l->lines[i]->line,
                l->lines[i]->column);
    }
    dump_attrs(f, d, l->attribute_indices, l->n_attribute_indices);
    fputc(')', f);
}

static void dump_sample(const ENC_PB(ProfilesDictionary) * d, const ENC_PB(Profile) * p,
                        const ENC_PB(Sample) * s, struct enc_lines *out)
{
    size_t count = s->n_timestamps_unix_nano == 0 ? 1 : s->n_timestamps_unix_nano;
    for (size_t i = 0; i < count; i++) {
        char *text;
        size_t len;
        FILE *f = open_memstream(&text, &len);
        fprintf(f, "%s %s ", d->string_table[p->sample_type->type_strindex],
                d->string_table[p->sample_type->unit_strindex]);
        const ENC_PB(Stack) *stack = d->stack_table[s->stack_index];
        for (size_t k = 0; k < stack->n_location_indices; k++) {
            dump_location(f, d, d->location_table[stack->location_indices[k]]);
        }
        dump_attrs(f, d, s->attribute_indices, s->n_attribute_indices);
        const ENC_PB(Link) *link = d->link_table[s->link_index];
        for (size_t k = 0; k < link->span_id.len; k++) {
            fprintf(f, "%02x", link->span_id.data[k]);
        }
        fprintf(f, " @%" PRIu64 " =%" PRId64,
                s->n_timestamps_unix_nano == 0 ? 0 : s->timestamps_unix_nano[i],
                s->n_values == 0 ? 1 : s->values[i]);
        enc_lines_add(out, line_of(f, &text));
    }
}

void enc_dump(const ENC_PB(ProfilesData) * data, struct enc_lines *out)
{
    const ENC_PB(ScopeProfiles) *scope = data->resource_profiles[0]->scope_profiles[0];
    for (size_t i = 0; i < scope->n_profiles; i++) {
        for (size_t k = 0; k < scope->profiles[i]->n_samples; k++) {
            dump_sample(data->dictionary, scope->profiles[i], scope->profiles[i]->samples[k], out);
        }
    }
    enc_lines_sort(out);
}
