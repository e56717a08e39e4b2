/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the gperftools builder: where the mappings of a dictionary are in the one address space
 * of a file. Made for each message and thrown away after it.
 */
#ifndef OTP_ENCODE_GPERFTOOLS_MAPS_H
#define OTP_ENCODE_GPERFTOOLS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/encode/dict.h"

/* What keeps its place is below the first, what was given one below the second; from there on are
 * the addresses that stand for none. */
#define OTP_GPERFTOOLS_MOVED ((uint64_t)1 << 47)
#define OTP_GPERFTOOLS_MADE_UP ((uint64_t)1 << 52)

/* The place of a mapping; the range is empty when it has none. */
struct otp_gperftools_place {
    uint64_t start; /* as told; of a mapping without a range, that of its locations */
    uint64_t limit;
    uint64_t file_offset; /* of start */
    uint64_t moved;       /* what is added to an address, modulo 2 to the 64 */
    bool is_kept;         /* it is where it was told */
};

struct otp_gperftools_maps {
    const struct otp_dict *dict;
    struct otp_buf places; /* struct otp_gperftools_place for each mapping */
    struct otp_buf kept;   /* uint32_t: mappings that are where they were told, by start */
    uint32_t main_file;    /* string; 0: none */
};

/* main_file: string, 0: the first mapping of what may be a program. OTP_NO_MEMORY.
 * otp_gperftools_maps_fini() is called in any case. Context: worker. */
enum otp_status otp_gperftools_maps_init(struct otp_gperftools_maps *m, const struct otp_dict *d,
                                         uint32_t main_file);
void otp_gperftools_maps_fini(struct otp_gperftools_maps *m);
/* Where the code of a location is; an address from OTP_GPERFTOOLS_MADE_UP on when it has none that
 * could be told. */
uint64_t otp_gperftools_maps_address(const struct otp_gperftools_maps *m, uint32_t location);
/* Appends the lines, the main program's first. */
void otp_gperftools_maps_write(const struct otp_gperftools_maps *m, struct otp_buf *out);

#endif
