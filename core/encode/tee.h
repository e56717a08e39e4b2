/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A visitor that passes one visit on to several visitors and translates the ids between them. Each
 * of them sees exactly the calls that it would see alone. One that fails is left out from then on;
 * the others do not notice.
 */
#ifndef OTP_ENCODE_TEE_H
#define OTP_ENCODE_TEE_H

#include <stddef.h>

#include "core/base/annot.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/visitor.h"

#define OTP_TEE_MAX 8

struct otp_tee;

/*
 * A tee for count (1 to OTP_TEE_MAX) visitors, which are borrowed and must outlive it. Its id
 * tables come from heap. OTP_INVALID, OTP_NO_MEMORY. Context: worker.
 */
enum otp_status otp_tee_create(struct otp_heap *heap, struct otp_visitor *const *visitors,
                               size_t count, struct otp_tee **out_tee) OTP_MUST_CHECK;
/* Frees t (may be NULL), not the visitors. */
void otp_tee_destroy(struct otp_tee *t);
/*
 * The visitor to tell to. Its calls fail only when every visitor behind it has failed, or the tee
 * itself has no memory left.
 */
struct otp_visitor *otp_tee_visitor(struct otp_tee *t);
/* How visitor number idx stands: OTP_OK, or why it was left out. */
enum otp_status otp_tee_status(const struct otp_tee *t, size_t idx);

#endif
