/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decode/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/decode/profiles.h"

struct otp_text otp_profiles_string(const struct otp_profiles *m, int32_t i)
{
    const struct otp_vec *strings = &m->table[OTP_TABLE_STRING];

    if (i < 0 || (uint32_t)i >= strings->count) {
        return otp_text_make("", 0);
    }
    return otp_profiles_text(m, OTP_ITEM(otp_piece, *strings, i)[0]);
}

void otp_profiles_sample_data(const struct otp_profiles *m, const struct otp_sample *s,
                              struct otp_sample_data *out_data)
{
    const int64_t *numbers = m->numbers.items;

    if ((s->data & OTP_SAMPLE_LONG) == 0) {
        *out_data = (struct otp_sample_data){.value_count = 1, .one = (int64_t)s->data};
        out_data->values = &out_data->one;
        return;
    }
    numbers += s->data & ~OTP_SAMPLE_LONG;
    out_data->value_count = (uint32_t)numbers[0];
    out_data->timestamp_count = (uint32_t)numbers[1];
    out_data->values = numbers + 2;
    out_data->timestamps = out_data->values + out_data->value_count;
}

void otp_profiles_forget_samples(struct otp_profiles *m, const struct otp_profile *p)
{
    otp_give_back(otp_vec_at(&m->samples, p->samples.first),
                  otp_vec_at(&m->samples, (size_t)p->samples.first + p->samples.count));
}

int64_t otp_profiles_long_total(const struct otp_profiles *m, const struct otp_sample *s)
{
    struct otp_sample_data d;
    int64_t total = 0;

    otp_profiles_sample_data(m, s, &d);
    if (d.value_count == 0) {
        return d.timestamp_count;
    }
    for (uint32_t i = 0; i < d.value_count; i++) {
        total = otp_add_clamped(total, d.values[i]);
    }
    return total;
}

static bool text_is(struct otp_text text, const char *s)
{
    size_t len = strlen(s);
    return text.len == len && memcmp(text.data, s, len) == 0;
}

const struct otp_value *otp_profiles_find_attr(const struct otp_profiles *m, uint32_t list,
                                               const char *key)
{
    const struct otp_vec *table = &m->table[OTP_TABLE_ATTRIBUTE];
    uint32_t count;
    const int32_t *items = otp_profiles_list(m, list, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (items[i] >= 0 && (uint32_t)items[i] < table->count) {
            const struct otp_attribute *a = otp_profiles_attribute(m, items[i]);
            if (text_is(otp_profiles_string(m, a->key), key)) {
                return &a->value;
            }
        }
    }
    return NULL;
}

struct otp_text otp_profiles_key(const struct otp_profiles *m, const struct otp_keyvalue *kv)
{
    return kv->key_strindex == 0 ? otp_profiles_text(m, kv->key)
                                 : otp_profiles_string(m, kv->key_strindex);
}

const struct otp_value *otp_profiles_find_keyvalue(const struct otp_profiles *m,
                                                   struct otp_slice keyvalues, const char *key)
{
    for (uint32_t i = 0; i < keyvalues.count; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(m, keyvalues.first + i);
        if (text_is(otp_profiles_key(m, kv), key)) {
            return &kv->value;
        }
    }
    return NULL;
}

struct otp_text otp_profiles_value_text(const struct otp_profiles *m, const struct otp_value *v)
{
    if (v != NULL && v->kind == OTP_VALUE_STRING) {
        return otp_profiles_text(m, v->of.piece);
    }
    if (v != NULL && v->kind == OTP_VALUE_STRINDEX) {
        return otp_profiles_string(m, (int32_t)v->of.number);
    }
    return otp_text_make("", 0);
}

bool otp_profiles_init(struct otp_profiles *m, uint64_t budget_bytes)
{
    static const size_t entry_size[OTP_TABLES] = {
        [OTP_TABLE_MAPPING] = sizeof(struct otp_mapping),
        [OTP_TABLE_LOCATION] = sizeof(struct otp_location),
        [OTP_TABLE_FUNCTION] = sizeof(struct otp_function),
        [OTP_TABLE_LINK] = sizeof(struct otp_link),
        [OTP_TABLE_STRING] = sizeof(struct otp_piece),
        [OTP_TABLE_ATTRIBUTE] = sizeof(struct otp_attribute),
        [OTP_TABLE_STACK] = sizeof(struct otp_slice),
    };

    m->budget.left_bytes = budget_bytes;
    for (int i = 0; i < OTP_TABLES; i++) {
        otp_vec_init(&m->table[i], &m->budget, entry_size[i]);
    }
    otp_vec_init(&m->lines, &m->budget, sizeof(struct otp_source_line));
    otp_vec_init(&m->frames, &m->budget, sizeof(int32_t));
    otp_vec_init(&m->lists, &m->budget, sizeof(int32_t));
    otp_vec_init(&m->numbers, &m->budget, sizeof(int64_t));
    otp_vec_init(&m->keyvalues, &m->budget, sizeof(struct otp_keyvalue));
    otp_vec_init(&m->resources, &m->budget, sizeof(struct otp_profiles_resource));
    otp_vec_init(&m->scopes, &m->budget, sizeof(struct otp_scope));
    otp_vec_init(&m->profiles, &m->budget, sizeof(struct otp_profile));
    otp_vec_init(&m->samples, &m->budget, sizeof(struct otp_sample));
    otp_vec_init(&m->notes, &m->budget, sizeof(struct otp_note));
    return otp_vec_push(&m->lists) != NULL; /* list 0: no attributes */
}

/* All arrays of a message, one after the other; NULL behind the last. */
static struct otp_vec *vec_at(struct otp_profiles *m, size_t i)
{
    struct otp_vec *others[] = {&m->lines,  &m->frames,   &m->lists,   &m->numbers, &m->keyvalues,
                                &m->scopes, &m->profiles, &m->samples, &m->notes,   &m->resources};

    if (i < OTP_TABLES) {
        return &m->table[i];
    }
    i -= OTP_TABLES;
    return i < OTP_ARRAY_LEN(others) ? others[i] : NULL;
}

void otp_profiles_fini(struct otp_profiles *m)
{
    struct otp_vec *v;
    for (size_t i = 0; (v = vec_at(m, i)) != NULL; i++) {
        otp_vec_fini(v);
    }
}

void otp_profiles_trim(struct otp_profiles *m)
{
    struct otp_vec *v;
    for (size_t i = 0; (v = vec_at(m, i)) != NULL; i++) {
        otp_vec_trim(v);
    }
}

void otp_profile_set_init(struct otp_profile_set *set)
{
    memset(set, 0, sizeof(*set));
}

void otp_profile_set_fini(struct otp_profile_set *set)
{
    for (size_t i = 0; i < set->message_count; i++) {
        otp_profiles_fini(set->messages[i]);
        free(set->messages[i]);
    }
    for (size_t i = 0; i < set->blob_count; i++) {
        free(set->blobs[i]->name);
        free(set->blobs[i]->bytes);
        free(set->blobs[i]);
    }
    free(set->messages);
    free(set->blobs);
    otp_profile_set_init(set);
}

/* Text under construction; what does not fit is cut off. */
struct place_text {
    char *out;
    size_t room; /* without the NUL */
    size_t len;
};

static void put(struct place_text *t, const char *text, size_t len)
{
    size_t fits = t->room - t->len < len ? t->room - t->len : len;
    memcpy(t->out + t->len, text, fits);
    t->len += fits;
}

void otp_place_format(const struct otp_place *p, char *out, size_t room)
{
    struct place_text t = {.out = out, .room = room - 1};
    char digits[OTP_FMT_NUMBER_MAX];

    for (uint32_t i = 0; i < p->depth && i < OTP_PLACE_DEPTH; i++) {
        if (i > 0) {
            put(&t, ".", 1);
        }
        put(&t, p->step[i].name, strlen(p->step[i].name));
        if (p->step[i].idx != OTP_PLACE_ONE) {
            put(&t, "[", 1);
            put(&t, digits, otp_fmt_u64(digits, p->step[i].idx));
            put(&t, "]", 1);
        }
    }
    out[t.len] = '\0';
}
