/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of a pprof-like message while it is written: numbers for strings as they are met, and
 * the attributes that such formats have fields for. For the builders of pprof and OTEP-0239.
 */
#ifndef OTP_ENCODE_WORDS_H
#define OTP_ENCODE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"
#include "core/encode/dict.h"
#include "core/encode/pool.h"

/* Keys of attributes that these formats have fields for. */
enum otp_pprof_key {
    OTP_PPROF_BUILD_ID_GNU,
    OTP_PPROF_BUILD_ID_GO,
    OTP_PPROF_HAS_FUNCTIONS,
    OTP_PPROF_HAS_FILENAMES,
    OTP_PPROF_HAS_LINE_NUMBERS,
    OTP_PPROF_HAS_INLINE_FRAMES,
    OTP_PPROF_IS_FOLDED,
    OTP_PPROF_FRAME_TYPE,
    OTP_PPROF_COMMENT,
    OTP_PPROF_DOC_URL,
    OTP_PPROF_DROP_FRAMES,
    OTP_PPROF_KEEP_FRAMES,
    OTP_PPROF_KEYS
};

/* Fills out_key with the strings of the keys. OTP_NO_MEMORY, OTP_FULL. Context: worker. */
enum otp_status otp_words_keys(struct otp_dict *d, uint32_t out_key[OTP_PPROF_KEYS]);

struct otp_words {
    const struct otp_dict *dict;
    const uint32_t *key;
    enum otp_status status; /* sticky */
    struct otp_arena arena;
    struct otp_pool strings; /* tail: the text; numbers are those of the message */
    uint32_t *known;         /* by string of the dictionary: its number, 0: none yet */
    int64_t *comments;       /* numbers of strings */
    size_t comment_count;
};

/* Nothing numbered yet but the empty string, which is 0. Both are borrowed. After an error
 * otp_words_fini may be called. Context: worker. */
enum otp_status otp_words_init(struct otp_words *w, const struct otp_dict *d, const uint32_t *key);
void otp_words_fini(struct otp_words *w);
/* The number of a text, and of a string of the dictionary; 0 after a failure. */
uint32_t otp_words_intern(struct otp_words *w, struct otp_text text);
uint32_t otp_words_string(struct otp_words *w, uint32_t string);
/* The attribute of that key in a list of the dictionary, or NULL. */
const struct otp_dict_attr *otp_words_find(const struct otp_words *w, uint32_t list,
                                           enum otp_pprof_key key, struct otp_pool_tail *out_tail);
/* The text of a string attribute, as a string of the dictionary; 0: there is none. */
uint32_t otp_words_text(const struct otp_words *w, uint32_t list, enum otp_pprof_key key);
/* Is there such a flag, and set? */
bool otp_words_is_true(const struct otp_words *w, uint32_t list, enum otp_pprof_key key);
/* Adds a comment, a string of the dictionary, unless it is there. */
void otp_words_add_comment(struct otp_words *w, uint32_t string);
/* Adds the comments of a list of attributes, each text once. */
void otp_words_add_comments(struct otp_words *w, uint32_t list);

#endif
