/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tools/otelprof/info.h"

/* Losses are attributes whose key begins so. */
static const char lost_prefix[] = "otelprof.dropped.";

const char *otp_info_version(enum otp_wire_version v)
{
    return v == OTP_PROTO_1_10 ? "1.10" : v == OTP_PROTO_1_9 ? "1.9 (older)" : "1.8 (older)";
}

bool otp_info_next(const struct otp_profiles *m, uint32_t list, uint32_t *at,
                   struct otp_info_attribute *out)
{
    const size_t skip = sizeof(lost_prefix) - 1;
    uint32_t count;
    const int32_t *items = otp_profiles_list(m, list, &count);
    while (*at < count) {
        int32_t i = items[(*at)++];
        if (i < 0 || (uint32_t)i >= m->table[OTP_TABLE_ATTRIBUTE].count) {
            continue;
        }
        const struct otp_attribute *a = otp_profiles_attribute(m, i);
        struct otp_text key = otp_profiles_string(m, a->key);
        out->is_loss = key.len > skip && memcmp(key.data, lost_prefix, skip) == 0;
        out->key = out->is_loss ? otp_text_make(key.data + skip, key.len - skip) : key;
        out->value = &a->value;
        return true;
    }
    return false;
}

struct otp_info_sums otp_info_sum_up(const struct otp_profiles *m, const struct otp_profile *p)
{
    struct otp_info_sums s = {.total = 0};

    for (uint32_t i = 0; i < p->samples.count; i++) {
        const struct otp_sample *sample = otp_profiles_sample(m, p->samples.first + i);
        s.total = otp_add_clamped(s.total, otp_profiles_sample_total(m, sample));
        if ((sample->data & OTP_SAMPLE_LONG) == 0) {
            s.values++;
            continue;
        }
        struct otp_sample_data d;
        otp_profiles_sample_data(m, sample, &d);
        s.values += d.value_count;
        s.timestamps += d.timestamp_count;
    }
    return s;
}

/* ---- what samples know besides their stack ---- */

static int compare_text(const void *left, const void *right)
{
    const struct otp_text *a = left;
    const struct otp_text *b = right;
    return otp_text_compare(*a, *b);
}

/* How many of the texts are different; sorts them. */
static size_t count_different(struct otp_text *texts, size_t count)
{
    size_t different = 0;

    if (count > 0) {
        qsort(texts, count, sizeof(texts[0]), compare_text);
    }
    for (size_t i = 0; i < count; i++) {
        different += i == 0 || compare_text(&texts[i - 1], &texts[i]) != 0;
    }
    return different;
}

static void mark_links(const struct otp_profiles *m, uint8_t *used, struct otp_info_known *k)
{
    uint32_t links = m->table[OTP_TABLE_LINK].count;

    for (uint32_t i = 0; i < m->samples.count; i++) {
        int32_t link = otp_profiles_sample(m, i)->link;
        if (link > 0 && (uint32_t)link < links) {
            used[link] = 1;
            k->linked++;
        }
    }
}

static size_t count_ids(const struct otp_profiles *m, const uint8_t *used, struct otp_text *texts,
                        bool of_spans)
{
    size_t count = 0;

    for (uint32_t i = 0; i < m->table[OTP_TABLE_LINK].count; i++) {
        const struct otp_link *l = otp_profiles_link(m, (int32_t)i);
        if (used[i] != 0) {
            texts[count++] = otp_profiles_text(m, of_spans ? l->span_id : l->trace_id);
        }
    }
    return count_different(texts, count);
}

static void mark_attributes(const struct otp_profiles *m, uint8_t *used)
{
    uint32_t known = m->table[OTP_TABLE_ATTRIBUTE].count;

    for (uint32_t i = 0; i < m->samples.count; i++) {
        uint32_t count;
        const int32_t *list = otp_profiles_list(m, otp_profiles_sample(m, i)->attrs, &count);
        for (uint32_t k = 0; k < count; k++) {
            if (list[k] > 0 && (uint32_t)list[k] < known) {
                used[list[k]] = 1;
            }
        }
    }
}

/* Keys of the attributes that samples have, each once. False: no memory. */
static bool count_labels(const struct otp_profiles *m, const uint8_t *used, struct otp_text *keys,
                         struct otp_info_known *k)
{
    size_t count = 0;

    for (uint32_t i = 0; i < m->table[OTP_TABLE_ATTRIBUTE].count; i++) {
        if (used[i] != 0) {
            keys[count++] = otp_profiles_string(m, otp_profiles_attribute(m, (int32_t)i)->key);
        }
    }
    k->labels = calloc(count_different(keys, count) + 1, sizeof(k->labels[0]));
    if (k->labels == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_text(&keys[i - 1], &keys[i]) != 0) {
            k->labels[k->label_count++].key = keys[i];
        }
        k->labels[k->label_count - 1].values++;
    }
    return true;
}

bool otp_info_known_init(struct otp_info_known *k, const struct otp_profiles *m)
{
    size_t links = m->table[OTP_TABLE_LINK].count;
    size_t attributes = m->table[OTP_TABLE_ATTRIBUTE].count;
    size_t room = (links > attributes ? links : attributes) + 1;
    struct otp_text *texts = malloc(room * sizeof(texts[0]));
    uint8_t *used = calloc(room, 2);
    bool ok = texts != NULL && used != NULL;

    memset(k, 0, sizeof(*k));
    if (ok) {
        mark_links(m, used, k);
        k->spans = count_ids(m, used, texts, true);
        k->traces = count_ids(m, used, texts, false);
        mark_attributes(m, used + room);
        ok = count_labels(m, used + room, texts, k);
    }
    free(texts);
    free(used);
    return ok;
}

void otp_info_known_fini(struct otp_info_known *k)
{
    free(k->labels);
    k->labels = NULL;
}
