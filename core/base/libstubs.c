/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the linked-in libraries (libunwind, zstd, zlib, protobuf-c, the demangler) get in place of
 * the C library. Private copies of their archives have each outside name X renamed to otp_stub_X,
 * so inside a foreign process they cannot allocate, lock, open, print or make a system call behind
 * our back. A name that nobody defines here fails the link.
 *
 * I1 A stand-in changes nothing outside its arguments and never waits.
 * I2 Allocation fails: every library is handed an allocator of ours, or must do without.
 * I3 errno reads as EBADF: libunwind repeats calls while it reads EINTR or EAGAIN.
 * Context: hot.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/annot.h"
#include "core/base/fmt.h"

/* One line per stand-in: prototype and definition, because no header has a use for these names. */
#define OTP_STUB(type, name, params)                                                               \
    type otp_stub_##name params;                                                                   \
    type otp_stub_##name params

/* Arguments are not named in the one-liners below: none of them is looked at. */
#define OTP_STUB_INT(name, value)                                                                  \
    OTP_STUB(int, name, (void))                                                                    \
    {                                                                                              \
        return (value);                                                                            \
    }
#define OTP_STUB_LONG(name, value)                                                                 \
    OTP_STUB(long, name, (void))                                                                   \
    {                                                                                              \
        return (value);                                                                            \
    }
#define OTP_STUB_NULL(name)                                                                        \
    OTP_STUB(void *, name, (void))                                                                 \
    {                                                                                              \
        return NULL;                                                                               \
    }

/* Memory. */
OTP_STUB_NULL(malloc)
OTP_STUB_NULL(calloc)
OTP_STUB_NULL(realloc)
OTP_STUB(void, free, (void *p))
{
    (void)p;
}
OTP_STUB(void *, mmap, (void))
{
    return (void *)-1; /* MAP_FAILED */
}
OTP_STUB_INT(munmap, 0)
OTP_STUB_INT(mincore, -1)
OTP_STUB_INT(msync, -1)

/* Files and the system. */
OTP_STUB_INT(open, -1)
OTP_STUB_INT(close, -1)
OTP_STUB_INT(stat, -1)
OTP_STUB_INT(fstat, -1)
OTP_STUB_INT(pipe, -1)
OTP_STUB_INT(pipe2, -1)
OTP_STUB_LONG(read, -1)
OTP_STUB_LONG(write, -1)
OTP_STUB_LONG(syscall, -1)
OTP_STUB_LONG(sysconf, 4096) /* asked for the page size only */
OTP_STUB_INT(getpagesize, 4096)
OTP_STUB_INT(getpid, 0)
OTP_STUB_INT(sigfillset, 0)
OTP_STUB_INT(sigprocmask, 0)
OTP_STUB_LONG(clock, 0)
OTP_STUB_NULL(getenv)

/* Threads: the callers are single-threaded here, or guarded by us. */
OTP_STUB_INT(pthread_mutex_init, 0)
OTP_STUB_INT(pthread_mutex_destroy, 0)
OTP_STUB_INT(pthread_mutex_lock, 0)
OTP_STUB_INT(pthread_mutex_unlock, 0)
OTP_STUB_INT(pthread_cond_init, 0)
OTP_STUB_INT(pthread_cond_destroy, 0)
OTP_STUB_INT(pthread_cond_wait, 0)
OTP_STUB_INT(pthread_cond_signal, 0)
OTP_STUB_INT(pthread_cond_broadcast, 0)
OTP_STUB_INT(pthread_key_create, EAGAIN)
OTP_STUB_INT(pthread_setspecific, EINVAL)
OTP_STUB_INT(pthread_once, EINVAL)
OTP_STUB_INT(pthread_create, EAGAIN)
OTP_STUB_INT(pthread_join, EINVAL)

/* zstd's trace points: an answer of 0 says that nobody is listening. */
OTP_STUB(unsigned long long, ZSTD_trace_compress_begin, (const void *ctx))
{
    (void)ctx;
    return 0;
}
OTP_STUB(unsigned long long, ZSTD_trace_decompress_begin, (const void *ctx))
{
    (void)ctx;
    return 0;
}
OTP_STUB(void, ZSTD_trace_compress_end, (void))
{
}
OTP_STUB(void, ZSTD_trace_decompress_end, (void))
{
}

OTP_STUB(int *, __errno_location, (void))
{
    static int number;
    number = EBADF;
    return &number;
}

OTP_STUB(const char *, strerror, (int number))
{
    (void)number;
    return "error";
}

OTP_STUB(char *, strcpy, (char *to, const char *from))
{
    memcpy(to, from, strlen(from) + 1);
    return to;
}

OTP_STUB(char *, stpcpy, (char *to, const char *from))
{
    size_t len = strlen(from);
    memcpy(to, from, len + 1);
    return to + len;
}

OTP_STUB(char *, strncpy, (char *to, const char *from, size_t size))
{
    size_t len = strnlen(from, size);
    memcpy(to, from, len);
    memset(to + len, 0, size - len);
    return to;
}

/* What a fortified build of a library calls: the plain function, once the room is known to do. */
OTP_STUB(void *, __memcpy_chk, (void *to, const void *from, size_t len, size_t room))
{
    if (len > room) {
        __builtin_trap();
    }
    return memcpy(to, from, len);
}

OTP_STUB(void *, __memmove_chk, (void *to, const void *from, size_t len, size_t room))
{
    if (len > room) {
        __builtin_trap();
    }
    return memmove(to, from, len);
}

OTP_STUB(void *, __memset_chk, (void *to, int byte, size_t len, size_t room))
{
    if (len > room) {
        __builtin_trap();
    }
    return memset(to, byte, len);
}

/* The libraries meet a state that they hold to be impossible. Ending at once beats running on. */
OTP_STUB(_Noreturn void, __stack_chk_fail, (void))
{
    __builtin_trap();
}

OTP_STUB(_Noreturn void, __assert_fail, (const char *what))
{
    (void)what;
    __builtin_trap();
}

/*
 * libunwind's abort(), reached through malformed unwind tables. Weak: the unwinder's owner defines
 * the way out of the unwinding.
 */
_Noreturn void otp_unw_abort(void);
__attribute__((weak)) _Noreturn void otp_unw_abort(void)
{
    __builtin_trap();
}

/* Output under construction; like snprintf, `len` counts on when the room has ended. */
struct stub_out {
    char *text;
    size_t room; /* bytes, NUL included */
    size_t len;
};

static void stub_put(struct stub_out *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (out->len + 1 < out->room) {
            out->text[out->len] = text[i];
        }
        out->len++;
    }
}

/* The part of printf's conversions that demangler and zlib use: d u x s c, with l, ll and z. */
static void stub_convert(struct stub_out *out, char kind, bool is_long, va_list *args)
{
    char digits[OTP_FMT_NUMBER_MAX];
    char one;
    const char *text;

    switch (kind) {
    case 'd':
        stub_put(out, digits,
                 otp_fmt_i64(digits, is_long ? va_arg(*args, long) : va_arg(*args, int)));
        break;
    case 'u':
        stub_put(
            out, digits,
            otp_fmt_u64(digits, is_long ? va_arg(*args, unsigned long) : va_arg(*args, unsigned)));
        break;
    case 'x':
        stub_put(out, digits,
                 otp_fmt_hex(digits,
                             is_long ? va_arg(*args, unsigned long) : va_arg(*args, unsigned), 1));
        break;
    case 's':
        text = va_arg(*args, const char *);
        stub_put(out, text, strlen(text));
        break;
    case 'c':
        one = (char)va_arg(*args, int);
        stub_put(out, &one, 1);
        break;
    default:
        stub_put(out, &kind, 1);
        break;
    }
}

static int stub_format(char *text, size_t room, const char *format, va_list *args)
{
    struct stub_out out = {.text = text, .room = room, .len = 0};

    for (const char *p = format; *p != '\0'; p++) {
        bool is_long = false;
        if (*p != '%') {
            stub_put(&out, p, 1);
            continue;
        }
        p++;
        while (*p == 'l' || *p == 'z') {
            is_long = true;
            p++;
        }
        if (*p == '\0') {
            break;
        }
        stub_convert(&out, *p, is_long, args);
    }
    if (room > 0) {
        text[out.len < room ? out.len : room - 1] = '\0';
    }
    return (int)out.len;
}

/* With and without the checks that a fortified build of a library asks for. */
OTP_STUB(int, __sprintf_chk, (char *text, int flag, size_t room, const char *format, ...))
{
    va_list args;
    int len;

    (void)flag;
    va_start(args, format);
    len = stub_format(text, room, format, &args);
    va_end(args);
    return len;
}

OTP_STUB(int, sprintf, (char *text, const char *format, ...))
{
    va_list args;
    int len;

    va_start(args, format);
    len = stub_format(text, SIZE_MAX / 2, format, &args);
    va_end(args);
    return len;
}

OTP_STUB(int, __snprintf_chk,
         (char *text, size_t room, int flag, size_t known, const char *format, ...))
{
    va_list args;
    int len;

    (void)flag;
    (void)known;
    va_start(args, format);
    len = stub_format(text, room, format, &args);
    va_end(args);
    return len;
}

OTP_STUB(int, __vsnprintf_chk,
         (char *text, size_t room, int flag, size_t known, const char *format, va_list args))
{
    va_list own;
    int len;

    (void)flag;
    (void)known;
    va_copy(own, args);
    len = stub_format(text, room, format, &own);
    va_end(own);
    return len;
}

OTP_STUB(int, snprintf, (char *text, size_t room, const char *format, ...))
{
    va_list args;
    int len;

    va_start(args, format);
    len = stub_format(text, room, format, &args);
    va_end(args);
    return len;
}
