/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A string table of an object: small ones are kept in memory, large ones are read again from the
 * file for each name, so that a hundred megabytes of names cost none.
 */
#ifndef OTP_SYMBOL_STRTAB_H
#define OTP_SYMBOL_STRTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/symbol/objfile.h"

#define OTP_STRTAB_KEPT_MAX ((uint64_t)512 << 10) /* bytes of a table that is kept in memory */
#define OTP_STRTAB_NAME_MAX ((size_t)64 << 10)    /* longer names are not found */

/* Zeroed memory is a valid empty table. */
struct otp_strtab {
    const unsigned char *kept; /* NULL: in the file */
    unsigned char *owned;      /* what is to be freed of kept */
    uint64_t offset;           /* in the file */
    uint64_t len;
    const char *path; /* borrowed */
    struct otp_objfile_id id;
};

/* The table at [offset, offset + len) of bytes, which are the file path of that id (both not used
 * for an image, which must then outlive t). TRUNCATED, IO, NO_MEMORY. Context: worker. */
enum otp_status otp_strtab_open(struct otp_strtab *t, struct otp_heap *heap,
                                const struct otp_elf_bytes *bytes, uint64_t offset, uint64_t len);
/* Frees what is kept and empties t. */
void otp_strtab_close(struct otp_strtab *t, struct otp_heap *heap);
/*
 * The name at an offset of the table; false when there is none that ends inside the table. bytes:
 * the open file, NULL to open it for the call. The text is borrowed from t or from scratch (which
 * is cleared then). Context: worker; may read the file.
 */
bool otp_strtab_get(const struct otp_strtab *t, const struct otp_elf_bytes *bytes, uint64_t off,
                    struct otp_buf *scratch, struct otp_text *out);

#endif
