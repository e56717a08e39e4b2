/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that stand beside the message. */
#include <stdlib.h>
#include <string.h>

#include "core/decode/meter.h"
#include "core/decode/otlp_parts.h"

/* Profiles of a message with rows beside it, by column. */
struct columns {
    const struct otp_rows *rows;
    uint32_t *count; /* samples */
    uint32_t *next;  /* place of the next one in m->samples */
};

/* The attributes of each row as a list: first_attr is then its number. */
static bool find_lists(struct otp_decoder *d, struct otp_rows *rows)
{
    struct otp_row *row = rows->rows.items;

    for (uint32_t i = 0; i < rows->rows.count; i++) {
        const int32_t *attrs = otp_vec_at(&rows->attrs, row[i].first_attr);
        uint32_t list = 0;
        bool ok = (row[i].attr_count == 1 && otp_decoder_known_list(d, attrs[0], &list)) ||
                  otp_decoder_list(d, attrs, row[i].attr_count, &list);
        if (!ok) {
            return false;
        }
        row[i].first_attr = list;
        row[i].attr_count = 0;
    }
    return true;
}

static uint64_t count_samples(const struct columns *c)
{
    const struct otp_rows *r = c->rows;
    const int64_t *value = r->values.items;
    uint64_t all = 0;

    for (uint32_t i = 0; i < r->rows.count; i++, value += r->width) {
        for (uint32_t k = 0; k < r->width; k++) {
            c->count[k] += value[k] != 0;
        }
    }
    for (uint32_t k = 0; k < r->width; k++) {
        all += c->count[k];
    }
    return all;
}

/* Says where the samples of each profile are. */
static void place_profiles(struct otp_profiles *m, const struct columns *c)
{
    struct otp_profile *profiles = m->profiles.items;
    uint32_t place = m->samples.count;

    for (uint32_t i = 0; i < c->rows->width; i++) {
        uint32_t column = otp_rows_column(i, c->rows->first);
        c->next[column] = place;
        profiles[i].samples.first = place;
        profiles[i].samples.count = c->count[column];
        place += c->count[column];
    }
    m->samples.count = place;
}

/* A value that does not fit into its sample; false: no room. */
static bool put_long(struct otp_profiles *m, int64_t value, uint32_t *out_data)
{
    const int64_t numbers[] = {1, 0, value}; /* how many values and timestamps, and they */

    *out_data = m->numbers.count | OTP_SAMPLE_LONG;
    return otp_vec_append(&m->numbers, numbers, 3);
}

static bool put_samples(struct otp_profiles *m, const struct columns *c)
{
    const struct otp_rows *r = c->rows;
    const struct otp_row *row = r->rows.items;
    const int64_t *value = r->values.items;
    struct otp_sample *samples = m->samples.items;

    for (uint32_t i = 0; i < r->rows.count; i++, value += r->width) {
        otp_meter_at("reading", (const uint8_t *)row, (const uint8_t *)&row[i],
                     (const uint8_t *)&row[r->rows.count], i);
        for (uint32_t k = 0; k < r->width; k++) {
            struct otp_sample s = {.stack = (int32_t)row[i].stack,
                                   .link = (int32_t)row[i].link,
                                   .attrs = row[i].first_attr,
                                   .data = (uint32_t)value[k]};
            if (value[k] == 0) {
                continue;
            }
            if ((uint64_t)value[k] >= OTP_SAMPLE_LONG && !put_long(m, value[k], &s.data)) {
                return false;
            }
            samples[c->next[k]++] = s;
        }
    }
    return true;
}

bool otp_decode_rows(struct otp_decoder *d, struct otp_rows *rows)
{
    const struct otp_field at = {.at = d->m->bytes};
    struct columns c = {.rows = rows,
                        .count = calloc((size_t)rows->width + 1, sizeof(c.count[0])),
                        .next = calloc((size_t)rows->width + 1, sizeof(c.next[0]))};
    bool ok = c.count != NULL && c.next != NULL && d->m->profiles.count == rows->width &&
              find_lists(d, rows) && otp_vec_reserve(&d->m->samples, count_samples(&c));

    if (ok) {
        place_profiles(d->m, &c);
        ok = put_samples(d->m, &c);
    }
    free(c.count);
    free(c.next);
    return ok || otp_decoder_no_room(d, &at);
}
