/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/<pid>/maps line by line, with bounded memory. Source of the format: proc(5). */
#ifndef OTP_SYMBOL_MAPS_H
#define OTP_SYMBOL_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/base/text.h"

enum otp_maps_perm {
    OTP_MAPS_READ = 1,
    OTP_MAPS_WRITE = 2,
    OTP_MAPS_EXEC = 4,
    OTP_MAPS_SHARED = 8,
};

struct otp_maps_entry {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file, bytes */
    uint64_t inode;
    uint32_t dev_major;
    uint32_t dev_minor;
    unsigned perms;       /* of enum otp_maps_perm */
    struct otp_text name; /* as the kernel writes it (newline is \012); empty: anonymous. Borrowed
                             for the call of the visitor */
};

/* Called for each line; false ends the reading. */
typedef bool (*otp_maps_visit)(void *arg, const struct otp_maps_entry *entry);

/* Parses one line without its newline; false when it is not a line of maps. Context: any. */
bool otp_maps_parse(struct otp_text line, struct otp_maps_entry *out);
/*
 * Calls visit for each line of path (NULL: /proc/self/maps). Lines that do not parse or that are
 * longer than 16 KiB are skipped. OTP_OK also when the visitor ended it. IO, NO_MEMORY.
 * The map changes while it is read; each line is right at its own time. Context: worker.
 */
enum otp_status otp_maps_read(struct otp_heap *heap, const char *path, otp_maps_visit visit,
                              void *arg);

#endif
