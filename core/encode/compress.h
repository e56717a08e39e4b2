/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression of a finished message, in one go, with all working memory from the given heap.
 * Never threads, never the host's malloc.
 */
#ifndef OTP_ENCODE_COMPRESS_H
#define OTP_ENCODE_COMPRESS_H

#include <stddef.h>

#include "core/base/annot.h"
#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"

#define OTP_GZIP_LEVEL 6
#define OTP_ZSTD_LEVEL 3

/*
 * Appends in as one gzip member (RFC 1952; no name, time 0) to out. level: 1 fast to 9 small,
 * others are moved into that range. Works in about 270 KiB of heap, or in less and not as well.
 * OTP_NO_MEMORY, OTP_TOO_LARGE (max of out); then out is as before. Context: worker.
 */
enum otp_status otp_gzip(struct otp_heap *heap, const void *in, size_t len, int level,
                         struct otp_buf *out) OTP_MUST_CHECK;
/*
 * Appends in as one zstd frame (RFC 8878; with size and checksum) to out. level: 1 to 9, others are
 * moved into that range. Works in less than 4 MiB of heap, or in less and not as well. Errors as
 * otp_gzip. Context: worker.
 */
enum otp_status otp_zstd(struct otp_heap *heap, const void *in, size_t len, int level,
                         struct otp_buf *out) OTP_MUST_CHECK;

#endif
