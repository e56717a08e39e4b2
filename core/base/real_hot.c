/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dl_phdr_info */
#include "core/base/real.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/dynsym.h"

/*
 * First calls, before anything was looked up. They are reached only until otp_real_init has run,
 * since it replaces the pointers to them.
 */
static void *first_malloc(size_t size)
{
    otp_real_init();
    return otp_real.malloc(size);
}

static void first_free(void *p)
{
    otp_real_init();
    otp_real.free(p);
}

static void *first_calloc(size_t count, size_t size)
{
    otp_real_init();
    return otp_real.calloc(count, size);
}

static void *first_realloc(void *p, size_t size)
{
    otp_real_init();
    return otp_real.realloc(p, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
    otp_real_init();
    return otp_real.memalign(alignment, size);
}

static int first_posix_memalign(void **out, size_t alignment, size_t size)
{
    otp_real_init();
    return otp_real.posix_memalign(out, alignment, size);
}

static size_t first_malloc_usable_size(void *p)
{
    otp_real_init();
    return otp_real.malloc_usable_size(p);
}

struct otp_real otp_real OTP_ALIGNED(64) = {
    .malloc = first_malloc,
    .free = first_free,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .memalign = first_memalign,
    .posix_memalign = first_posix_memalign,
    .malloc_usable_size = first_malloc_usable_size,
};

/* Name, member and whether the first found wins over what the member holds now. */
struct wanted {
    const char *name;
    size_t member;
};

#define WANT(symbol, field)                                                                        \
    {                                                                                              \
        symbol, offsetof(struct otp_real, field)                                                   \
    }

static const struct wanted wanted[] = {
    WANT("calloc", calloc),
    WANT("realloc", realloc),
    WANT("memalign", memalign),
    WANT("posix_memalign", posix_memalign),
    WANT("aligned_alloc", aligned_alloc),
    WANT("valloc", valloc),
    WANT("pvalloc", pvalloc),
    WANT("malloc_usable_size", malloc_usable_size),
    WANT("clone", clone),
    WANT("pthread_create", pthread_create),
    WANT("pthread_exit", pthread_exit),
    WANT("pthread_setname_np", pthread_setname_np),
    WANT("pthread_attr_getstacksize", pthread_attr_getstacksize),
    WANT("pthread_key_create", pthread_key_create),
    WANT("pthread_setspecific", pthread_setspecific),
    WANT("thrd_create", thrd_create),
    WANT("prctl", prctl),
    WANT("dlclose", dlclose),
    WANT("_exit", exit_now),
    WANT("_Exit", exit_std),
    WANT("abort", abort),
    WANT("__assert_fail", assert_fail),
    WANT("daemon", daemon),
    WANT("_Fork", fork_alone),
    WANT("chroot", chroot),
    WANT("unshare", unshare),
    WANT("setns", setns),
    WANT("syscall", syscall),
    WANT("execve", execve),
    WANT("execv", execv),
    WANT("execvp", execvp),
    WANT("execvpe", execvpe),
    WANT("fexecve", fexecve),
    WANT("execveat", execveat),
    WANT("sigaction", sigaction),
    WANT("signal", signal),
    WANT("sysv_signal", sysv_signal),
    WANT("sigset", sigset),
    WANT("setitimer", setitimer),
    WANT("timer_create", timer_create),
    WANT("sigwait", sigwait),
    WANT("sigwaitinfo", sigwaitinfo),
    WANT("sigtimedwait", sigtimedwait),
    WANT("signalfd", signalfd),
    WANT("sigpending", sigpending),
    WANT("ppoll", ppoll),
    WANT("__ppoll_chk", ppoll_chk),
    WANT("pselect", pselect),
    WANT("epoll_pwait", epoll_pwait),
    WANT("epoll_pwait2", epoll_pwait2),
    WANT("sigsuspend", sigsuspend),
    WANT("sigaltstack", sigaltstack),
    WANT("munmap", munmap),
    WANT("mremap", mremap),
    WANT("mprotect", mprotect),
    WANT("mmap", mmap),
    WANT("siginterrupt", siginterrupt),
    WANT("sigprocmask", sigprocmask),
    WANT("pthread_sigmask", pthread_sigmask),
    WANT("siglongjmp", longjmp),
    WANT("__longjmp_chk", longjmp_chk),
    WANT("sigignore", sigignore),
    WANT("__monstartup", monstartup),
    WANT("profil", profil),
    WANT("_dl_find_object", find_object),
    WANT("__cxa_at_quick_exit", at_quick_exit),
    WANT("dl_iterate_phdr", iterate_objects),
    WANT("free", free),
    /* Last: as long as malloc leads here, another thread repeats the look-up rather than use a
       half. */
    WANT("malloc", malloc),
};

static void set_member(size_t offset, void *value)
{
    void **member = (void **)(void *)((char *)&otp_real + offset);
    otp_store_release(member, value);
}

void otp_real_init(void)
{
    if (otp_load_acquire(&otp_real.malloc) != first_malloc) {
        return;
    }
    struct otp_dynsym memalign = otp_dynsym_find("memalign", _DYNAMIC);
    struct otp_dynsym aligned = otp_dynsym_find("aligned_alloc", _DYNAMIC);
    struct otp_dynsym release = otp_dynsym_find("free", _DYNAMIC);
    struct otp_dynsym take = otp_dynsym_find("malloc", _DYNAMIC);
    /* An allocator may define malloc and free but leave memalign to libc: the two must not be
     * mixed. */
    if (take.object == release.object) {
        struct otp_dynsym own = memalign.object == release.object  ? memalign
                                : aligned.object == release.object ? aligned
                                                                   : (struct otp_dynsym){0};
        set_member(offsetof(struct otp_real, tag_memalign), own.addr);
    }
    for (size_t i = 0; i < OTP_ARRAY_LEN(wanted); i++) {
        struct otp_dynsym found = otp_dynsym_find(wanted[i].name, _DYNAMIC);
        if (found.addr != NULL) {
            set_member(wanted[i].member, found.addr);
        }
    }
}

/* A look at the objects that the loader has now, in its order. */
struct late {
    const char *name;
    bool is_behind_us;
    bool stays; /* what was found can be kept */
    void *addr;
};

static int visit_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct late *late = arg;
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        const void *dynamic = (const void *)(info->dlpi_addr + ph->p_vaddr);
        if (ph->p_type != PT_DYNAMIC) {
            continue;
        }
        if (dynamic == (const void *)_DYNAMIC) {
            late->is_behind_us = true;
        } else if (late->is_behind_us && strncmp(info->dlpi_name, "linux-vdso", 10) != 0) {
            late->addr = otp_dynsym_find_in(info->dlpi_addr, dynamic, late->name, &late->stays);
        }
    }
    return late->addr != NULL;
}

otp_any_function otp_real_late(size_t member)
{
    struct late late = {0};
    for (size_t i = 0; i < OTP_ARRAY_LEN(wanted) && late.name == NULL; i++) {
        late.name = wanted[i].member == member ? wanted[i].name : NULL;
    }
    if (late.name == NULL || otp_real.iterate_objects == NULL) {
        return NULL;
    }
    (void)otp_real.iterate_objects(visit_object, &late);
    if (late.addr != NULL && late.stays) {
        set_member(member, late.addr);
    }
    otp_any_function function;
    memcpy(&function, &late.addr, sizeof(function));
    return function;
}
