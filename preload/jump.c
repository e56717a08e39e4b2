/* SPDX-License-Identifier: Apache-2.0 */
/* Names by which the host jumps back, perhaps out of a handler and off its alternate stack. */
#include <setjmp.h>
#include <stddef.h>

#include "core/base/annot.h"
#include "core/base/real.h"
#include "core/capture/altstack.h"

OTP_EXPORT void longjmp(jmp_buf env, int value)
{
    struct __jmp_buf_tag copy;
    otp_real_init();
    otp_real.longjmp(otp_altstack_jump(env, &copy), value);
    __builtin_unreachable();
}

OTP_EXPORT void _longjmp(jmp_buf env, int value)
{
    struct __jmp_buf_tag copy;
    otp_real_init();
    otp_real.longjmp(otp_altstack_jump(env, &copy), value);
    __builtin_unreachable();
}

OTP_EXPORT void siglongjmp(sigjmp_buf env, int value)
{
    struct __jmp_buf_tag copy;
    otp_real_init();
    otp_real.longjmp(otp_altstack_jump(env, &copy), value);
    __builtin_unreachable();
}

OTP_EXPORT void __longjmp_chk(jmp_buf env, int value) __attribute__((noreturn));
void __longjmp_chk(jmp_buf env, int value)
{
    struct __jmp_buf_tag copy;
    otp_real_init();
    otp_real.longjmp_chk(otp_altstack_jump(env, &copy), value);
    __builtin_unreachable();
}
