/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/retell.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/annot.h"
#include "tools/otelprof/attr_of.h"
#include "tools/otelprof/progress.h"

#define NOT_TOLD UINT32_MAX
#define SHOW_EVERY 65536U /* samples */

static uint32_t *make_ids(uint32_t count)
{
    size_t bytes = ((size_t)count + 1) * sizeof(uint32_t);
    uint32_t *ids = malloc(bytes);
    if (ids != NULL) {
        memset(ids, 0xff, bytes);
    }
    return ids;
}

enum otp_status otp_retell_init(struct otp_retell *r, const struct otp_profiles *m,
                                struct otp_visitor *v, struct otp_heap *heap)
{
    memset(r, 0, sizeof(*r));
    r->m = m;
    r->v = v;
    r->list = NOT_TOLD;
    otp_arena_init(&r->arena, heap);
    r->mappings = make_ids(m->table[OTP_TABLE_MAPPING].count);
    r->locations = make_ids(m->table[OTP_TABLE_LOCATION].count);
    r->stacks = make_ids(m->table[OTP_TABLE_STACK].count);
    r->attrs = make_ids(m->table[OTP_TABLE_ATTRIBUTE].count);
    r->links = make_ids(m->table[OTP_TABLE_LINK].count);
    r->lists = v->rows == NULL ? NULL : make_ids(m->lists.count);
    if (r->mappings == NULL || r->locations == NULL || r->stacks == NULL || r->attrs == NULL ||
        r->links == NULL || (v->rows != NULL && r->lists == NULL)) {
        return OTP_NO_MEMORY;
    }
    return OTP_OK;
}

void otp_retell_fini(struct otp_retell *r)
{
    free(r->mappings);
    free(r->locations);
    free(r->stacks);
    free(r->attrs);
    free(r->links);
    free(r->lists);
    free(r->ids);
    otp_arena_fini(&r->arena);
    memset(r, 0, sizeof(*r));
}

/* The attributes of a list, in the arena. */
static enum otp_status list_attrs(struct otp_retell *r, uint32_t list, struct otp_attr **out_attrs,
                                  uint32_t *out_count)
{
    const int32_t *items = otp_profiles_list(r->m, list, out_count);
    struct otp_attr *attrs = otp_arena_alloc(&r->arena, *out_count * sizeof(attrs[0]) + 1);
    *out_attrs = attrs;
    for (uint32_t i = 0; i < *out_count && attrs != NULL; i++) {
        if (!otp_attr_of_entry(&r->arena, r->m, items[i], &attrs[i], &r->losses.cut_values)) {
            return OTP_NO_MEMORY;
        }
    }
    return attrs == NULL ? OTP_NO_MEMORY : OTP_OK;
}

static enum otp_status tell_mapping(struct otp_retell *r, int32_t i, uint32_t *out_id)
{
    uint32_t *id = &r->mappings[i];
    if (i == 0 || *id != NOT_TOLD) {
        *out_id = i == 0 ? 0 : *id;
        return OTP_OK;
    }
    const struct otp_mapping *m = otp_profiles_mapping(r->m, i);
    struct otp_visit_mapping told = {.start = m->start,
                                     .limit = m->limit,
                                     .file_offset = m->file_offset,
                                     .filename = otp_profiles_string(r->m, m->filename)};
    struct otp_attr *attrs;
    uint32_t count;
    otp_arena_fini(&r->arena);
    OTP_TRY(list_attrs(r, m->attrs, &attrs, &count));
    told.attrs = attrs;
    told.attr_count = count;
    enum otp_status status = r->v->mapping(r->v, &told, id);
    *out_id = *id;
    return status;
}

static void fill_lines(struct otp_retell *r, const struct otp_location *l,
                       struct otp_visit_line *lines)
{
    for (uint32_t i = 0; i < l->lines.count; i++) {
        const struct otp_source_line *line = otp_profiles_line(r->m, l->lines.first + i);
        const struct otp_function *f = otp_profiles_function(r->m, line->function);
        lines[i] = (struct otp_visit_line){
            .name = otp_profiles_string(r->m, f->name),
            .system_name = otp_profiles_string(r->m, f->system_name),
            .filename = otp_profiles_string(r->m, f->filename),
            .start_line = f->start_line,
            .line = line->line,
            .column = line->column,
        };
        r->losses.negative_lines += f->start_line < 0 || line->line < 0 || line->column < 0;
    }
}

static enum otp_status tell_location(struct otp_retell *r, int32_t i, uint32_t *out_id)
{
    uint32_t *id = &r->locations[i];
    if (i == 0 || *id != NOT_TOLD) {
        *out_id = i == 0 ? 0 : *id;
        return OTP_OK;
    }
    const struct otp_location *l = otp_profiles_location(r->m, i);
    struct otp_visit_frame told = {.address = l->address, .line_count = l->lines.count};
    struct otp_attr *attrs;
    uint32_t count;
    OTP_TRY(tell_mapping(r, l->mapping, &told.mapping));
    otp_arena_fini(&r->arena);
    OTP_TRY(list_attrs(r, l->attrs, &attrs, &count));
    struct otp_visit_line *lines =
        otp_arena_alloc(&r->arena, l->lines.count * sizeof(lines[0]) + 1);
    if (lines == NULL) {
        return OTP_NO_MEMORY;
    }
    fill_lines(r, l, lines);
    told.lines = lines;
    size_t found = 0;
    const struct otp_visit_line *better =
        r->symbolizer == NULL ? NULL : otp_symbolizer_lines(r->symbolizer, r->m, l, &found);
    if (better != NULL) {
        told.lines = better;
        told.line_count = found;
    }
    told.attrs = attrs;
    told.attr_count = count;
    enum otp_status status = r->v->frame(r->v, &told, id);
    *out_id = *id;
    return status;
}

static enum otp_status tell_stack(struct otp_retell *r, int32_t i, uint32_t *out_id)
{
    uint32_t *id = &r->stacks[i];
    if (*id != NOT_TOLD) {
        *out_id = *id;
        return OTP_OK;
    }
    const struct otp_slice *stack = otp_profiles_stack(r->m, i);
    const int32_t *frames = otp_profiles_frames(r->m, stack);
    uint32_t *told = malloc(((size_t)stack->count + 1) * sizeof(told[0]));
    enum otp_status status = told == NULL ? OTP_NO_MEMORY : OTP_OK;
    for (uint32_t k = 0; k < stack->count && status == OTP_OK; k++) {
        status = tell_location(r, frames[k], &told[k]);
    }
    if (status == OTP_OK) {
        status = r->v->stack(r->v, told, stack->count, id);
    }
    free(told);
    *out_id = *id;
    return status;
}

static enum otp_status tell_attr(struct otp_retell *r, int32_t i, uint32_t *out_id)
{
    uint32_t *id = &r->attrs[i];
    struct otp_attr a;
    if (*id == NOT_TOLD) {
        otp_arena_fini(&r->arena);
        if (!otp_attr_of_entry(&r->arena, r->m, i, &a, &r->losses.cut_values)) {
            return OTP_NO_MEMORY;
        }
        OTP_TRY(r->v->attr(r->v, &a, id));
    }
    *out_id = *id;
    return OTP_OK;
}

/* Ids of another length are no link. */
static enum otp_status tell_link(struct otp_retell *r, int32_t i, uint32_t *out_id)
{
    uint32_t *id = &r->links[i];
    if (*id == NOT_TOLD) {
        const struct otp_link *l = otp_profiles_link(r->m, i);
        *id = 0;
        if (l->trace_id.len == 16 && l->span_id.len == 8) {
            OTP_TRY(
                r->v->link(r->v, r->m->bytes + l->trace_id.off, r->m->bytes + l->span_id.off, id));
        }
    }
    *out_id = *id;
    return OTP_OK;
}

static bool is_timed(const struct otp_sample_data *d)
{
    return d->timestamp_count > 0 && (d->value_count == 0 || d->value_count == d->timestamp_count);
}

/* Tells an observation for each time when there is one value for each, or none; else one sum. */
static enum otp_status tell_values(struct otp_retell *r, const struct otp_sample *s,
                                   struct otp_visit_sample *told)
{
    int64_t value = otp_profiles_sample_total(r->m, s);
    told->values = &value;
    if ((s->data & OTP_SAMPLE_LONG) == 0) {
        return r->v->sample(r->v, told);
    }
    struct otp_sample_data d;
    otp_profiles_sample_data(r->m, s, &d);
    if (!is_timed(&d)) {
        r->losses.odd_times += d.timestamp_count > 0;
        return r->v->sample(r->v, told);
    }
    for (uint32_t i = 0; i < d.timestamp_count; i++) {
        uint64_t time = (uint64_t)d.timestamps[i];
        value = d.value_count == 0 ? 1 : d.values[i];
        told->timestamp_ns = time == UINT64_MAX ? time - 1 : time;
        r->losses.zero_values += value == 0;
        OTP_TRY(r->v->sample(r->v, told));
    }
    return OTP_OK;
}

/* The ids of the attributes of a list, in r->ids, where those of the last list still are. */
static enum otp_status tell_list(struct otp_retell *r, uint32_t list, uint32_t *out_count)
{
    const int32_t *items = otp_profiles_list(r->m, list, out_count);
    if (list == r->list) {
        return OTP_OK;
    }
    if (*out_count > r->id_room) {
        uint32_t *ids = realloc(r->ids, *out_count * sizeof(ids[0]));
        if (ids == NULL) {
            return OTP_NO_MEMORY;
        }
        r->ids = ids;
        r->id_room = *out_count;
    }
    r->list = NOT_TOLD;
    for (uint32_t i = 0; i < *out_count; i++) {
        OTP_TRY(tell_attr(r, items[i], &r->ids[i]));
    }
    r->list = list;
    return OTP_OK;
}

static enum otp_status tell_sample(struct otp_retell *r, const struct otp_sample *s)
{
    struct otp_visit_sample told = {.link = 0};
    uint32_t count;
    OTP_TRY(tell_list(r, s->attrs, &count));
    told.attrs = r->ids;
    told.attr_count = count;
    OTP_TRY(tell_stack(r, s->stack, &told.stack));
    OTP_TRY(tell_link(r, s->link, &told.link));
    return tell_values(r, s, &told);
}

enum otp_status otp_retell_samples(struct otp_retell *r, uint32_t profile)
{
    const struct otp_profile *p = otp_profiles_profile(r->m, profile);
    for (uint32_t i = 0; i < p->samples.count; i++) {
        if (i % SHOW_EVERY == SHOW_EVERY - 1) {
            otp_progress_show("writing samples", i, p->samples.count);
        }
        OTP_TRY(tell_sample(r, otp_profiles_sample(r->m, p->samples.first + i)));
    }
    return OTP_OK;
}

/* ---- rows ---- */

bool otp_retell_has_times(const struct otp_profiles *m, uint32_t profile)
{
    const struct otp_profile *p = otp_profiles_profile(m, profile);
    const struct otp_sample *samples = otp_vec_at(&m->samples, p->samples.first);
    for (uint32_t i = 0; i < p->samples.count; i++) {
        if (OTP_UNLIKELY((samples[i].data & OTP_SAMPLE_LONG) != 0)) {
            struct otp_sample_data d;
            otp_profiles_sample_data(m, &samples[i], &d);
            if (is_timed(&d)) {
                return true;
            }
        }
    }
    return false;
}

/* Tells what of a sample was not told yet. */
static enum otp_status tell_parts(struct otp_retell *r, const struct otp_sample *s)
{
    uint32_t count;
    uint32_t id;
    if (r->lists[s->attrs] == NOT_TOLD) {
        OTP_TRY(tell_list(r, s->attrs, &count));
        OTP_TRY(r->v->list(r->v, r->ids, count, &r->lists[s->attrs]));
    }
    OTP_TRY(tell_stack(r, s->stack, &id));
    return tell_link(r, s->link, &id);
}

static enum otp_status long_value(struct otp_retell *r, const struct otp_sample *s,
                                  struct otp_buf *longs, uint32_t *out_value)
{
    struct otp_sample_data d;
    int64_t total = otp_profiles_sample_total(r->m, s);
    size_t place = longs->len / sizeof(total);
    otp_profiles_sample_data(r->m, s, &d);
    r->losses.odd_times += d.timestamp_count > 0;
    *out_value = (uint32_t)total;
    if (total >= 0 && total < (int64_t)OTP_VISIT_ROW_LONG) {
        return OTP_OK;
    }
    *out_value = (uint32_t)place | OTP_VISIT_ROW_LONG;
    return place >= OTP_VISIT_ROW_LONG                 ? OTP_FULL
           : otp_buf_add(longs, &total, sizeof(total)) ? OTP_OK
                                                       : OTP_NO_MEMORY;
}

enum otp_status otp_retell_rows(struct otp_retell *r, uint32_t profile, struct otp_visit_rows *rows,
                                struct otp_buf *longs)
{
    const struct otp_profile *p = otp_profiles_profile(r->m, profile);
    const struct otp_sample *samples = otp_vec_at(&r->m->samples, p->samples.first);
    struct otp_visit_row *to = rows->items + rows->count;
    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample s = samples[i]; /* its place may be that of the row */
        if (OTP_UNLIKELY(r->stacks[s.stack] == NOT_TOLD || r->lists[s.attrs] == NOT_TOLD ||
                         r->links[s.link] == NOT_TOLD)) {
            OTP_TRY(tell_parts(r, &s));
        }
        struct otp_visit_row row = {.stack = r->stacks[s.stack],
                                    .list = r->lists[s.attrs],
                                    .link = r->links[s.link],
                                    .value = s.data};
        if (OTP_UNLIKELY((s.data & OTP_SAMPLE_LONG) != 0)) {
            OTP_TRY(long_value(r, &s, longs, &row.value));
        }
        memcpy(&to[i], &row, sizeof(row));
        if (i % SHOW_EVERY == SHOW_EVERY - 1) {
            otp_progress_show("writing samples", i, p->samples.count);
        }
    }
    rows->count += p->samples.count;
    return OTP_OK;
}

enum otp_status otp_retell_all_mappings(struct otp_retell *r)
{
    uint32_t id;
    for (uint32_t i = 1; i < r->m->table[OTP_TABLE_MAPPING].count; i++) {
        OTP_TRY(tell_mapping(r, (int32_t)i, &id));
    }
    return OTP_OK;
}

/* What a profile's samples reach, by place in the tables. */
struct reached {
    unsigned char *stacks;
    unsigned char *locations;
    unsigned char *mappings;
};

static void mark_stack(const struct otp_retell *r, int32_t i, struct reached *u)
{
    const struct otp_slice *stack = otp_profiles_stack(r->m, i);
    const int32_t *frames = otp_profiles_frames(r->m, stack);
    u->stacks[i] = 1;
    for (uint32_t k = 0; k < stack->count; k++) {
        u->locations[frames[k]] = 1;
        u->mappings[otp_profiles_location(r->m, frames[k])->mapping] = 1;
    }
}

static enum otp_status tell_reached(struct otp_retell *r, const struct reached *u)
{
    uint32_t id;
    for (uint32_t i = 1; i < r->m->table[OTP_TABLE_MAPPING].count; i++) {
        if (u->mappings[i]) {
            OTP_TRY(tell_mapping(r, (int32_t)i, &id));
        }
    }
    for (uint32_t i = 1; i < r->m->table[OTP_TABLE_LOCATION].count; i++) {
        if (r->symbolizer != NULL) {
            otp_progress_show("looking up", i, r->m->table[OTP_TABLE_LOCATION].count);
        }
        if (u->locations[i]) {
            OTP_TRY(tell_location(r, (int32_t)i, &id));
        }
    }
    return OTP_OK;
}

enum otp_status otp_retell_tables(struct otp_retell *r, uint32_t profile)
{
    const struct otp_profile *p = otp_profiles_profile(r->m, profile);
    struct reached u = {.stacks = calloc(r->m->table[OTP_TABLE_STACK].count, 1),
                        .locations = calloc(r->m->table[OTP_TABLE_LOCATION].count, 1),
                        .mappings = calloc(r->m->table[OTP_TABLE_MAPPING].count, 1)};
    enum otp_status status = OTP_NO_MEMORY;
    if (u.stacks != NULL && u.locations != NULL && u.mappings != NULL) {
        for (uint32_t i = 0; i < p->samples.count; i++) {
            int32_t stack = otp_profiles_sample(r->m, p->samples.first + i)->stack;
            if (!u.stacks[stack]) {
                mark_stack(r, stack, &u);
            }
        }
        status = tell_reached(r, &u);
    }
    free(u.stacks);
    free(u.locations);
    free(u.mappings);
    return status;
}
