/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/dynamic.h"

#include <elf.h>
#include <string.h>

#include "core/base/reader.h"

#define DYN_BYTES ((uint64_t)16)
#define DYNS_MAX ((uint64_t)4096)
#define BUCKETS_MAX ((uint64_t)1 << 22)
#define CHAIN_MAX ((uint64_t)1 << 16)
#define CHUNK_WORDS 256

/* Addresses from the dynamic section; 0: not there. */
struct tags {
    uint64_t symbols;
    uint64_t names;
    uint64_t names_len;
    uint64_t hash;
    uint64_t gnu_hash;
};

static void take_tag(struct tags *t, uint64_t tag, uint64_t value)
{
    switch (tag) {
    case DT_SYMTAB:
        t->symbols = value;
        break;
    case DT_STRTAB:
        t->names = value;
        break;
    case DT_STRSZ:
        t->names_len = value;
        break;
    case DT_HASH:
        t->hash = value;
        break;
    case DT_GNU_HASH:
        t->gnu_hash = value;
        break;
    default:
        break;
    }
}

static enum otp_status read_tags(const struct otp_elf *elf, struct tags *t)
{
    unsigned char raw[DYN_BYTES];
    struct otp_reader r;
    uint64_t count = elf->dynamic_size / DYN_BYTES;

    memset(t, 0, sizeof(*t));
    count = count > DYNS_MAX ? DYNS_MAX : count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t off;
        if (__builtin_add_overflow(elf->dynamic_offset, i * DYN_BYTES, &off)) {
            return OTP_MALFORMED;
        }
        OTP_TRY(otp_elf_read(&elf->bytes, off, raw, sizeof(raw)));
        otp_reader_init(&r, raw, sizeof(raw));
        uint64_t tag = otp_reader_u64_le(&r);
        if (tag == DT_NULL) {
            break;
        }
        take_tag(t, tag, otp_reader_u64_le(&r));
    }
    return OTP_OK;
}

/* count words from the file, which is not aligned for them. */
static enum otp_status read_words(const struct otp_elf *elf, uint64_t off, uint32_t *words,
                                  uint64_t count)
{
    return otp_elf_read(&elf->bytes, off, words, count * sizeof(words[0]));
}

/* The second word of DT_HASH is the number of chain links, one for each symbol. */
static enum otp_status count_by_hash(const struct otp_elf *elf, uint64_t off, uint64_t *out_count)
{
    uint32_t words[2];

    OTP_TRY(read_words(elf, off, words, 2));
    *out_count = words[1];
    return OTP_OK;
}

static enum otp_status highest_bucket(const struct otp_elf *elf, uint64_t off, uint64_t count,
                                      uint64_t *out_symbol)
{
    uint32_t words[CHUNK_WORDS];

    *out_symbol = 0;
    for (uint64_t done = 0; done < count;) {
        uint64_t n = count - done > CHUNK_WORDS ? CHUNK_WORDS : count - done;
        OTP_TRY(read_words(elf, off + done * sizeof(words[0]), words, n));
        for (uint64_t i = 0; i < n; i++) {
            *out_symbol = words[i] > *out_symbol ? words[i] : *out_symbol;
        }
        done += n;
    }
    return OTP_OK;
}

/* The last symbol is the end of the chain that the highest bucket starts; its link has bit 0 set.
 */
static enum otp_status count_by_gnu_hash(const struct otp_elf *elf, uint64_t off,
                                         uint64_t *out_count)
{
    uint32_t head[4]; /* buckets, first hashed symbol, bloom words, bloom shift */
    uint32_t link = 0;
    uint64_t symbol;

    OTP_TRY(read_words(elf, off, head, OTP_ARRAY_LEN(head)));
    if (head[0] > BUCKETS_MAX) {
        return OTP_TOO_LARGE;
    }
    uint64_t buckets = off + sizeof(head) + (uint64_t)head[2] * 8;
    OTP_TRY(highest_bucket(elf, buckets, head[0], &symbol));
    if (symbol < head[1]) {
        *out_count = head[1];
        return OTP_OK;
    }
    uint64_t links = buckets + (uint64_t)head[0] * 4;
    for (uint64_t steps = 0; (link & 1) == 0; steps++, symbol++) {
        if (steps == CHAIN_MAX) {
            return OTP_MALFORMED;
        }
        OTP_TRY(read_words(elf, links + (symbol - head[1]) * 4, &link, 1));
    }
    *out_count = symbol;
    return OTP_OK;
}

enum otp_status otp_dynamic_find(const struct otp_elf *elf, struct otp_dynamic_symbols *out)
{
    struct tags t;
    uint64_t off;

    OTP_TRY(read_tags(elf, &t));
    if (!otp_elf_offset_of(elf, t.symbols, &out->offset) ||
        !otp_elf_offset_of(elf, t.names, &out->names_offset) || t.symbols == 0 || t.names == 0) {
        return OTP_NOT_FOUND;
    }
    out->names_len = t.names_len;
    if (t.hash != 0 && otp_elf_offset_of(elf, t.hash, &off)) {
        return count_by_hash(elf, off, &out->count);
    }
    if (t.gnu_hash != 0 && otp_elf_offset_of(elf, t.gnu_hash, &off)) {
        return count_by_gnu_hash(elf, off, &out->count);
    }
    return OTP_NOT_FOUND;
}
