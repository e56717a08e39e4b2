/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel whether memory can be read, a page at a time, and remembers the answer for one
 * sample. */
#ifndef OTP_BASE_PROBE_H
#define OTP_BASE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/annot.h"
#include "core/base/sys.h"
#include "core/base/valgrind.h"

#define OTP_PAGE UINT64_C(4096)
#define OTP_PROBE_PAGES 4U

/* Pages found readable; zeroed: none yet. */
struct otp_probe {
    uintptr_t pages[OTP_PROBE_PAGES];
    uint32_t next;
};

/*
 * rt_sigprocmask copies the new mask in before it finds that `how` is invalid, so it answers EFAULT
 * or EINVAL and changes nothing. Every sandbox allows it. Valgrind writes a line about each; there
 * a timer that does not exist is set, which is found as late, but which some sandboxes refuse.
 * Context: hot.
 */
static inline bool otp_probe_page(uintptr_t page)
{
    if (OTP_UNLIKELY(otp_is_on_valgrind())) {
        /* No time at all is invalid, too. */
        return page != 0 && OTP_SYS4(SYS_timer_settime, -1L, 0, page, 0) == -22;
    }
    return OTP_SYS4(SYS_rt_sigprocmask, ~0L, page, 0, 8) == -22;
}

static inline bool otp_probe_knows(const struct otp_probe *p, uintptr_t page)
{
    return p->pages[0] == page || p->pages[1] == page || p->pages[2] == page || p->pages[3] == page;
}

/* True when [addr, addr + len) can be read. Context: hot. */
static inline bool otp_probe_is_readable(struct otp_probe *p, uintptr_t addr, size_t len)
{
    uintptr_t last = (addr + len - (len > 0)) & ~(OTP_PAGE - 1);
    /* No code and no data is in the first page, which an empty entry would seem to know. */
    if (addr < OTP_PAGE || addr + len < addr) {
        return false;
    }
    for (uintptr_t page = addr & ~(OTP_PAGE - 1); page <= last; page += OTP_PAGE) {
        if (OTP_LIKELY(otp_probe_knows(p, page))) {
            continue;
        }
        if (!otp_probe_page(page)) {
            return false;
        }
        p->pages[p->next++ % OTP_PROBE_PAGES] = page;
    }
    return true;
}

#endif
