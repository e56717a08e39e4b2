/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens object files for a moment and knows them again later: between two readings the host may
 * have replaced the file. Never waits on a pipe or a device, never leaves a descriptor behind.
 */
#ifndef OTP_SYMBOL_OBJFILE_H
#define OTP_SYMBOL_OBJFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/symbol/elf.h"

/* Two equal ids are one unchanged file. */
struct otp_objfile_id {
    uint64_t dev;
    uint64_t inode;
    uint64_t size;
    int64_t mtime_s;
    int64_t mtime_ns;
};

/* Opens a regular file; the caller closes bytes->fd. NOT_FOUND: it cannot be opened or is no
 * regular file. Context: worker. */
enum otp_status otp_objfile_open(const char *path, struct otp_elf_bytes *bytes,
                                 struct otp_objfile_id *id);
/* As otp_objfile_open, NOT_FOUND also when it is not the file of that id any more. */
enum otp_status otp_objfile_reopen(const char *path, const struct otp_objfile_id *id,
                                   struct otp_elf_bytes *bytes);
/* CRC-32 of .gnu_debuglink over a whole file; TOO_LARGE above 256 MiB. Context: worker. */
enum otp_status otp_objfile_crc32(const struct otp_elf_bytes *bytes, uint32_t *out_crc);

#endif
