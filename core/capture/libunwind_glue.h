/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions to which the build binds what libunwind would otherwise take from elsewhere. All
 * are called on a scratch stack only, whose base holds the unwinder they belong to.
 */
#ifndef OTP_CAPTURE_LIBUNWIND_GLUE_H
#define OTP_CAPTURE_LIBUNWIND_GLUE_H

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stddef.h>

struct dl_phdr_info;

/* In place of dl_iterate_phdr. Context: hot. */
int otp_unw_iterate_phdr(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
                         void *data);
/* In place of libunwind's own reading of memory. Context: hot. */
int otp_unw_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int write, void *arg);
/* In place of abort. Context: hot. */
void otp_unw_abort(void) __attribute__((noreturn));
/* Memory for one step of unwinding, or NULL. Context: hot. */
void *otp_unw_pool_alloc(size_t bytes);

#endif
