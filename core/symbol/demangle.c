/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GNU libiberty does the work, kept in bounds from outside: names are data of the profiled program.
 *
 * I1 Its stack is a mapping of its own. It takes 72 bytes for each byte of the name, one frame
 *    for each level of nesting, and 16 bytes for each pair of a template and a reference to a
 *    template parameter; the limits below keep the sum under STACK_BYTES.
 * I2 Its result may grow exponentially with the length of the name, and its callback cannot say
 *    stop. So the callback leaves the library for good. Nothing is lost by that: with the callback
 *    interface it allocates nothing.
 * I3 Before it prints a pack expansion ("Dp") the library searches its pattern, without memory of
 *    what it has seen: exponential again, and no callback. A name that could make this long is
 *    first run with pointers ("P") in place of expansions; when that result is small, so is the
 *    pattern.
 */
#include "core/symbol/demangle.h"

#include <string.h>
#include <sys/mman.h>

#include <libiberty/demangle.h>

#include "core/base/annot.h"
#include "core/base/atomic.h"
#include "core/base/sys.h"
#include "core/symbol/stackcall.h"

#define NAME_MAX_BYTES ((size_t)4096)
#define RESULT_MAX_BYTES ((size_t)64 << 10)
#define STACK_BYTES ((size_t)4 << 20)
#define GUARD_BYTES ((size_t)4096)
#define KEPT_NAME_MAX ((size_t)512) /* after longer names the stack is given back */
#define REFERENCES_MAX 40           /* of fewer, no name is made that takes long to search */
#define PAIRS_MAX 16384             /* of templates and references: 64 bytes each at the worst */

struct job {
    struct otp_stackcall call;
    struct otp_buf *out;
    size_t start; /* of the result in out */
    const char *name;
    bool is_rust;
    bool ok;
};

/* The stack of the last call, so that a row of names costs one mapping. */
static char *kept_stack;

static char *take_stack(void)
{
    char *stack = otp_exchange_acq_rel(&kept_stack, NULL);

    if (stack != NULL) {
        return stack;
    }
    stack = otp_sys_map(STACK_BYTES);
    if (stack != NULL && OTP_SYS3(SYS_mprotect, stack, GUARD_BYTES, PROT_NONE) < 0) {
        otp_sys_unmap(stack, STACK_BYTES);
        return NULL;
    }
    return stack;
}

static void return_stack(char *stack, size_t name_len)
{
    if (name_len <= KEPT_NAME_MAX) {
        stack = otp_exchange_acq_rel(&kept_stack, stack);
    }
    if (stack != NULL) {
        otp_sys_unmap(stack, STACK_BYTES);
    }
}

static void take_piece(const char *piece, size_t len, void *arg)
{
    struct job *job = arg;

    if (job->out->len - job->start + len > RESULT_MAX_BYTES || !otp_buf_add(job->out, piece, len)) {
        otp_stackcall_leave(&job->call);
    }
}

static void demangle(void *arg)
{
    struct job *job = arg;
    int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;

    job->ok = (job->is_rust ? rust_demangle_callback(job->name, 0, take_piece, job)
                            : cplus_demangle_v3_callback(job->name, options, take_piece, job)) != 0;
}

static bool run(struct job *job, bool as_rust, char *top)
{
    job->out->len = job->start;
    job->is_rust = as_rust;
    job->ok = false;
    return otp_buf_ok(job->out) && otp_stackcall_run(&job->call, demangle, job, top) && job->ok;
}

/* The library makes room for each pair of a template "I" and a reference "R", "O" to a parameter
 * "T" or to a substitution "S" that may stand for one. */
static bool has_too_many_pairs(struct otp_text raw)
{
    size_t templates = 0;
    size_t references = 0;

    for (size_t i = 0; i + 1 < raw.len; i++) {
        char next = raw.data[i + 1];
        templates += raw.data[i] == 'I';
        references += (raw.data[i] == 'R' || raw.data[i] == 'O') && (next == 'T' || next == 'S');
    }
    return templates * references > PAIRS_MAX;
}

static bool starts_with(struct otp_text raw, const char *prefix)
{
    size_t len = strlen(prefix);
    return raw.len > len && memcmp(raw.data, prefix, len) == 0;
}

/* What of a name makes the library search. */
struct searches {
    bool packs; /* Dp: pack expansions */
    bool sizes; /* sZ, sP: sizes of packs */
};

/* Copies raw with P for each Dp. */
static struct searches copy_without_packs(char *to, struct otp_text raw)
{
    struct searches found = {false, false};
    size_t len = 0;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.data[i];
        char next = i + 1 < raw.len ? raw.data[i + 1] : '\0';
        found.sizes = found.sizes || (c == 's' && (next == 'Z' || next == 'P'));
        if (c == 'D' && next == 'p') {
            found.packs = true;
            c = 'P';
            i++;
        }
        to[len++] = c;
    }
    to[len] = '\0';
    return found;
}

/* Numbered substitutions: S_, S0_, SZ_ and so on. */
static size_t count_references(struct otp_text raw)
{
    size_t count = 0;

    for (size_t i = 0; i + 1 < raw.len; i++) {
        char next = raw.data[i + 1];
        count += raw.data[i] == 'S' &&
                 (next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z'));
    }
    return count;
}

/* See I3. Uses copy, which the stack grows down from. */
static bool is_harmless(struct job *job, struct otp_text raw, char *copy)
{
    if (count_references(raw) <= REFERENCES_MAX) {
        return true;
    }
    struct searches found = copy_without_packs(copy, raw);
    if (!found.packs || found.sizes) {
        return !found.sizes;
    }
    return run(job, false, copy);
}

/* Runs the library on a copy of raw that lies above the stack. */
static bool demangle_on(char *stack, struct job *job, struct otp_text raw, bool maybe_cplus)
{
    char *top = stack + STACK_BYTES - NAME_MAX_BYTES - 64;

    job->name = top;
    maybe_cplus = maybe_cplus && is_harmless(job, raw, top);
    memcpy(top, raw.data, raw.len);
    top[raw.len] = '\0';
    bool ok = run(job, true, top) || (maybe_cplus && run(job, false, top));
    return ok && job->out->len > job->start;
}

bool otp_demangle(struct otp_text raw, struct otp_buf *out)
{
    struct job job = {.out = out, .start = out->len};
    bool maybe_cplus = starts_with(raw, "_Z") || starts_with(raw, "_GLOBAL_");

    if ((!maybe_cplus && !starts_with(raw, "_R")) || raw.len > NAME_MAX_BYTES || !otp_buf_ok(out) ||
        has_too_many_pairs(raw) || memchr(raw.data, '\0', raw.len) != NULL) {
        return false;
    }
    char *stack = take_stack();
    if (stack == NULL) {
        return false;
    }
    bool ok = demangle_on(stack, &job, raw, maybe_cplus);
    if (!ok) {
        out->len = job.start;
        out->failed = false;
    }
    return_stack(stack, raw.len);
    return ok;
}
