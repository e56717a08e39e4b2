/* SPDX-License-Identifier: Apache-2.0 */
/* The few things that only assembly can do. Everything that knows the processor is here and in
 * arch_hot.c. */
#ifndef OTP_CAPTURE_ARCH_H
#define OTP_CAPTURE_ARCH_H

#include <stddef.h>
#include <stdint.h>

/* The registers that a caller still has at a call: what unwinding starts from. */
struct otp_regs {
    uint64_t r15;
    uint64_t r14;
    uint64_t r13;
    uint64_t r12;
    uint64_t rbx;
    uint64_t rbp;
    uint64_t
        return_address; /* into the caller; the caller's stack pointer is just behind this word */
};

/* The caller's stack pointer after the call returns. */
static inline uintptr_t otp_regs_sp(const struct otp_regs *regs)
{
    return (uintptr_t)(regs + 1);
}

/* Runs fn(arg) with the stack pointer at top (16-byte aligned). Context: hot. */
void otp_arch_call_on(void *top, void (*fn)(void *), void *arg);

/* Restorer for rt_sigaction: the code that debuggers and unwinders recognise as a signal frame. */
void otp_arch_sigreturn(void);

/* Address of the thread's control block, which glibc keeps at the upper end of a thread's stack. */
static inline uintptr_t otp_arch_thread_pointer(void)
{
    uintptr_t tp;
    __asm__("mov %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* The current stack pointer. */
static inline uintptr_t otp_arch_sp(void)
{
    uintptr_t sp;
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
    return sp;
}

/* Bytes that the kernel needs on a stack for one signal, from the processor's state. Context: init.
 */
size_t otp_arch_signal_frame_bytes(void);

/*
 * What a jmp_buf holds: where it goes and with which stack pointer, and how to send it elsewhere.
 * Source: glibc, sysdeps/x86_64/jmpbuf-offsets.h and sysdep.h (PTR_MANGLE). Context: hot.
 */
uintptr_t otp_arch_jump_pc(const long *words);
uintptr_t otp_arch_jump_sp(const long *words);
void otp_arch_set_jump_pc(long *words, uintptr_t pc);
/* Where a jump off an alternate stack arrives: calls otp_jump_landed and goes on where that says.
 */
void otp_arch_jump_landing(void);

/*
 * Starts a thread of this process: clone(2) with flags on a new stack, where fn(arg) runs and then
 * the thread ends (the thread only). Returns the thread id or -errno. Context: hot.
 */
long otp_arch_clone_thread(unsigned long flags, void *stack_top, int *tid_word, void *tls,
                           void (*fn)(void *), void *arg);

/*
 * Entries for allocator calls that are sampled: they keep the caller's registers and pass them on.
 * To be reached by a tail call, so that the caller of the interposed function is the caller here.
 */
void *otp_enter_malloc(size_t size);
void *otp_enter_calloc(size_t count, size_t size);
void *otp_enter_realloc(void *p, size_t size);
void *otp_enter_memalign(size_t alignment, size_t size);
void *otp_enter_aligned_alloc(size_t alignment, size_t size);
int otp_enter_posix_memalign(void **out, size_t alignment, size_t size);
void *otp_enter_valloc(size_t size);
void *otp_enter_pvalloc(size_t size);

/* Entry of the same kind to otp_sampled_last_tick: see tick.h. */
void otp_enter_last_tick(void);

#endif
