/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/capture/capture.h"
#include "core/capture/timer.h"

void otp_names_refresh(struct otp_thread *t)
{
    int32_t tid = otp_load_acquire(&t->tid); /* pairs: THREAD-TID */
    if (!otp_settings.has_thread_name || tid == 0 || otp_load_relaxed(&t->has_own_name) != 0) {
        return;
    }
    uint32_t before = otp_load_relaxed(&t->context);
    struct otp_line path = {0};
    otp_line_str(&path, "/proc/self/task/");
    otp_line_u64(&path, (uint64_t)tid);
    otp_line_bytes(&path, "/comm", 6); /* with its NUL */
    int fd = otp_sys_open(path.text, O_RDONLY, 0);
    if (fd < 0) {
        return; /* gone, or no /proc: what is known stays */
    }
    char name[OTP_THREAD_NAME_MAX + 1] = {0};
    long n = otp_sys_read_full(fd, name, OTP_THREAD_NAME_MAX);
    otp_sys_close(fd);
    if (n <= 0) {
        return;
    }
    if (name[n - 1] == '\n') {
        name[n - 1] = '\0';
    }
    /* Not when the thread has given itself a name meanwhile: what was read is older. */
    (void)otp_cas_acq_rel(&t->context, &before, otp_context_number(name, tid));
}

bool otp_names_is_gone(const struct otp_thread *t)
{
    int32_t tid = otp_load_acquire(&t->tid); /* pairs: THREAD-TID */
    /* Who gave it the number may still be starting its timer: the number came after that claim. */
    bool is_free = tid != 0 && otp_load_acquire(&t->has_timer) != OTP_TIMER_STARTING;
    bool is_gone = is_free && OTP_SYS3(SYS_tgkill, otp_sys_getpid(), tid, 0) == -ESRCH;
    (void)otp_load_acquire(&t->state); /* pairs: THREAD-END, so all that it ever wrote is seen */
    return is_gone;
}
