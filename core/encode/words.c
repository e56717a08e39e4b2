/* SPDX-License-Identifier: Apache-2.0 */
#include "core/encode/words.h"

#include <string.h>

#include "core/encode/value.h"

enum otp_status otp_words_keys(struct otp_dict *d, uint32_t out_key[OTP_PPROF_KEYS])
{
    static const char *const names[OTP_PPROF_KEYS] = {
        [OTP_PPROF_BUILD_ID_GNU] = "process.executable.build_id.gnu",
        [OTP_PPROF_BUILD_ID_GO] = "process.executable.build_id.go",
        [OTP_PPROF_HAS_FUNCTIONS] = "pprof.mapping.has_functions",
        [OTP_PPROF_HAS_FILENAMES] = "pprof.mapping.has_filenames",
        [OTP_PPROF_HAS_LINE_NUMBERS] = "pprof.mapping.has_line_numbers",
        [OTP_PPROF_HAS_INLINE_FRAMES] = "pprof.mapping.has_inline_frames",
        [OTP_PPROF_IS_FOLDED] = "pprof.location.is_folded",
        [OTP_PPROF_FRAME_TYPE] = "profile.frame.type",
        [OTP_PPROF_COMMENT] = "pprof.profile.comment",
        [OTP_PPROF_DOC_URL] = "pprof.profile.doc_url",
        [OTP_PPROF_DROP_FRAMES] = "pprof.profile.drop_frames",
        [OTP_PPROF_KEEP_FRAMES] = "pprof.profile.keep_frames",
    };
    for (size_t i = 0; i < OTP_PPROF_KEYS; i++) {
        OTP_TRY(otp_dict_string(d, otp_text_of(names[i]), &out_key[i]));
    }
    return OTP_OK;
}

enum otp_status otp_words_init(struct otp_words *w, const struct otp_dict *d, const uint32_t *key)
{
    memset(w, 0, sizeof(*w));
    w->dict = d;
    w->key = key;
    otp_arena_init(&w->arena, d->heap);
    w->strings.heap = d->heap; /* so that it may be freed whatever comes */
    otp_map_init(&w->strings.map, d->heap);
    w->known = otp_heap_calloc(d->heap, d->strings.count, sizeof(w->known[0]));
    return w->known == NULL ? OTP_NO_MEMORY : otp_pool_init(&w->strings, d->heap, &w->arena, 0);
}

void otp_words_fini(struct otp_words *w)
{
    otp_pool_fini(&w->strings);
    otp_arena_fini(&w->arena);
    otp_heap_free(w->dict->heap, w->known);
    otp_heap_free(w->dict->heap, w->comments);
}

uint32_t otp_words_intern(struct otp_words *w, struct otp_text text)
{
    uint32_t id = 0;
    if (w->status == OTP_OK) {
        w->status = otp_pool_intern(&w->strings, NULL, text.data, text.len, &id);
    }
    return id;
}

uint32_t otp_words_string(struct otp_words *w, uint32_t string)
{
    if (string != 0 && w->known[string] == 0) {
        w->known[string] = otp_words_intern(w, otp_dict_text(w->dict, string));
    }
    return w->known[string];
}

const struct otp_dict_attr *otp_words_find(const struct otp_words *w, uint32_t list,
                                           enum otp_pprof_key key, struct otp_pool_tail *out_tail)
{
    struct otp_pool_tail ids = otp_pool_tail(&w->dict->lists, list);
    const uint32_t *id = ids.data;
    for (size_t i = 0; i < ids.len / sizeof(id[0]); i++) {
        const struct otp_dict_attr *head = otp_pool_head(&w->dict->attrs, id[i]);
        if (head->key == w->key[key]) {
            *out_tail = otp_pool_tail(&w->dict->attrs, id[i]);
            return head;
        }
    }
    return NULL;
}

uint32_t otp_words_text(const struct otp_words *w, uint32_t list, enum otp_pprof_key key)
{
    struct otp_pool_tail tail;
    const struct otp_dict_attr *a = otp_words_find(w, list, key, &tail);
    return a != NULL && a->kind == OTP_ATTR_STRING ? a->text : 0;
}

bool otp_words_is_true(const struct otp_words *w, uint32_t list, enum otp_pprof_key key)
{
    struct otp_pool_tail tail;
    const struct otp_dict_attr *a = otp_words_find(w, list, key, &tail);
    return a != NULL && a->kind == OTP_ATTR_BOOL && a->bits != 0;
}

static void add_comment(struct otp_words *w, uint32_t text)
{
    for (size_t i = 0; i < w->comment_count; i++) {
        if (w->comments[i] == (int64_t)text) {
            return;
        }
    }
    int64_t *to = otp_heap_realloc(w->dict->heap, w->comments,
                                   (w->comment_count + 1) * sizeof(w->comments[0]));
    if (to == NULL) {
        w->status = OTP_NO_MEMORY;
        return;
    }
    w->comments = to;
    w->comments[w->comment_count++] = text;
}

void otp_words_add_comment(struct otp_words *w, uint32_t string)
{
    add_comment(w, otp_words_string(w, string));
}

/* A list of texts, or one text. */
void otp_words_add_comments(struct otp_words *w, uint32_t list)
{
    struct otp_pool_tail tail;
    struct otp_attr item;
    size_t pos = 0;
    const struct otp_dict_attr *a = otp_words_find(w, list, OTP_PPROF_COMMENT, &tail);
    if (a == NULL) {
        return;
    }
    if (a->kind == OTP_ATTR_STRING) {
        add_comment(w, otp_words_string(w, a->text));
    }
    while (otp_value_next_item(tail.data, tail.len, &pos, &item) && w->status == OTP_OK) {
        if (item.kind == OTP_ATTR_STRING) {
            add_comment(w, otp_words_intern(w, item.string));
        }
    }
}
