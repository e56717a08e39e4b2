/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof.h: what a program may tell the profiler that is preloaded into it.
 *
 * Include it and link nothing. Without libotelprof.so each call is a test of a pointer and does
 * nothing; a call that returns something then returns 0 or "". C99, C++ and later, gcc and clang.
 *
 * All functions may be called in any thread at any time. None of them waits, allocates from the
 * program or changes errno, unless it says so. "In signal handlers" means: there as well.
 * docs/API.md has complete examples.
 */
#ifndef OTELPROF_H
#define OTELPROF_H

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when functions are added; none is ever taken away. */
#define OTELPROF_API 1

typedef __INT64_TYPE__ otelprof_number;

/* What the library exports. Programs use the functions below, which look whether it is there. */
#define OTELPROF_WEAK_ __attribute__((weak))
extern const char *otelprof_v1_version(void) OTELPROF_WEAK_;
extern void otelprof_v1_span_set(const void *trace_id, const void *span_id) OTELPROF_WEAK_;
extern void otelprof_v1_span_clear(void) OTELPROF_WEAK_;
extern int otelprof_v1_span_get(void *trace_id, void *span_id) OTELPROF_WEAK_;
extern void otelprof_v1_label_push(const char *key, const char *value) OTELPROF_WEAK_;
extern void otelprof_v1_label_push_int(const char *key, otelprof_number value) OTELPROF_WEAK_;
extern void otelprof_v1_label_pop(void) OTELPROF_WEAK_;
extern void otelprof_v1_thread_name(const char *name) OTELPROF_WEAK_;
extern int otelprof_v1_profile_id(const char *type, void *id) OTELPROF_WEAK_;
extern int otelprof_v1_start(void) OTELPROF_WEAK_;
extern int otelprof_v1_stop(void) OTELPROF_WEAK_;
extern int otelprof_v1_flush(void) OTELPROF_WEAK_;

/*
 * The address of an exported function; NULL without the library. In code that is not position
 * independent the linker would fix it as NULL; what stands in the global offset table is the
 * loader's answer.
 */
#if defined(__x86_64__) && !defined(__PIC__) && !defined(__PIE__)
#define OTELPROF_AT_(name)                                                                         \
    __extension__({                                                                                \
        __typeof__(&otelprof_v1_##name) otelprof_at_;                                              \
        __asm__(".weak otelprof_v1_" #name "\n\t"                                                  \
                "movq otelprof_v1_" #name "@GOTPCREL(%%rip), %0"                                   \
                : "=r"(otelprof_at_));                                                             \
        otelprof_at_;                                                                              \
    })
#else
#define OTELPROF_AT_(name) (&otelprof_v1_##name)
#endif

/* "1.2.3" of the library that is loaded, "" without one. */
static inline const char *otelprof_version(void)
{
    const char *(*f)(void) = OTELPROF_AT_(version);
    return f != 0 ? f() : "";
}

/*
 * Makes a span the current one of the calling thread: samples taken here carry its link from now
 * on, and memory allocated here as long as it lives. trace_id: 16 bytes, span_id: 8 bytes, as in
 * W3C Trace Context; both are copied. NULL or all zeros in either is otelprof_span_clear().
 *
 * A span set here wins over one that an SDK publishes in the thread context of OpenTelemetry
 * (otel_thread_ctx_v1), until it is cleared. A few nanoseconds. In signal handlers, if the handler
 * puts back what otelprof_span_get() gave it.
 */
static inline void otelprof_span_set(const void *trace_id, const void *span_id)
{
    void (*f)(const void *, const void *) = OTELPROF_AT_(span_set);
    if (f != 0) {
        f(trace_id, span_id);
    }
}

/* No span is current in the calling thread. In signal handlers, as otelprof_span_set(). */
static inline void otelprof_span_clear(void)
{
    void (*f)(void) = OTELPROF_AT_(span_clear);
    if (f != 0) {
        f();
    }
}

/*
 * Copies the span that otelprof_span_set() made current in the calling thread. 1: there is one; 0:
 * there is none, and both ids are filled with zeros, so that they can be given to
 * otelprof_span_set() again in any case. NULL: that id is not wanted. In signal handlers.
 */
static inline int otelprof_span_get(void *trace_id, void *span_id)
{
    int (*f)(void *, void *) = OTELPROF_AT_(span_get);
    if (f != 0) {
        return f(trace_id, span_id);
    }
    if (trace_id != 0) {
        __builtin_memset(trace_id, 0, 16);
    }
    if (span_id != 0) {
        __builtin_memset(span_id, 0, 8);
    }
    return 0;
}

/*
 * Adds a label to the calling thread: samples carry it as an attribute until otelprof_label_pop()
 * takes it away. Labels are a stack; of equal keys the last one counts. Key and value are copied:
 * keys up to 127 bytes, values up to 255, cut where they are longer. What does not fit (about 500
 * bytes a thread) is not told and counted in the profile, and still has to be popped. NULL or an
 * empty key: no label, but one to be popped. Not in signal handlers that interrupt a push or pop.
 */
static inline void otelprof_label_push(const char *key, const char *value)
{
    void (*f)(const char *, const char *) = OTELPROF_AT_(label_push);
    if (f != 0) {
        f(key, value);
    }
}

/* The same with a number as value. */
static inline void otelprof_label_push_int(const char *key, otelprof_number value)
{
    void (*f)(const char *, otelprof_number) = OTELPROF_AT_(label_push_int);
    if (f != 0) {
        f(key, value);
    }
}

/* Takes the label away that was pushed last in the calling thread; nothing when there is none. */
static inline void otelprof_label_pop(void)
{
    void (*f)(void) = OTELPROF_AT_(label_pop);
    if (f != 0) {
        f();
    }
}

/*
 * The name by which profiles know the calling thread, up to 47 bytes, copied. The kernel's name of
 * the thread stays as it is. NULL or "": the kernel's name again. Not in signal handlers.
 */
static inline void otelprof_thread_name(const char *name)
{
    void (*f)(const char *) = OTELPROF_AT_(thread_name);
    if (f != 0) {
        f(name);
    }
}

/*
 * The id (16 bytes) of the profile that is being collected, for the profile_id of log records.
 * type: "samples", "cpu", "alloc_objects", "alloc_space", "inuse_objects" or "inuse_space"; NULL is
 * "cpu". 1: id was filled, unless it is NULL; 0: nothing is being profiled, or no such type. The
 * next flush takes the id along, if it has samples of that type. In signal handlers.
 */
static inline int otelprof_profile_id(const char *type, void *id)
{
    int (*f)(const char *, void *) = OTELPROF_AT_(profile_id);
    return f != 0 ? f(type, id) : 0;
}

/*
 * Begins to take samples in a process that was started dormant (OTELPROF_START=false) or that was
 * stopped; nothing changes in one that is sampled. Asks the profiler's own thread and waits until
 * that has done it, for a tenth of a second at the most. 1: samples are taken; 0: not, or not yet.
 * In signal handlers.
 */
static inline int otelprof_start(void)
{
    int (*f)(void) = OTELPROF_AT_(start);
    return f != 0 ? f() : 0;
}

/*
 * Takes no more samples, and has what there is written, which may happen after the return. Waits as
 * otelprof_start() does. 1: no samples are taken, and can be again; 0: they are, or the profiling
 * has ended or never was possible. In signal handlers.
 */
static inline int otelprof_stop(void)
{
    int (*f)(void) = OTELPROF_AT_(stop);
    return f != 0 ? f() : 0;
}

/*
 * Asks for what was sampled so far to be written now; does not wait for it. 1: asked; 0: no samples
 * are taken. In signal handlers.
 */
static inline int otelprof_flush(void)
{
    int (*f)(void) = OTELPROF_AT_(flush);
    return f != 0 ? f() : 0;
}

#ifdef __cplusplus
}

/* The same for blocks: what the constructor did the destructor undoes. */
namespace otelprof
{
class span
{
  public:
    span(const void *trace_id, const void *span_id)
    {
        otelprof_span_get(trace_, span_);
        otelprof_span_set(trace_id, span_id);
    }
    ~span()
    {
        otelprof_span_set(trace_, span_);
    }

  private:
    span(const span &);
    span &operator=(const span &);
    unsigned char trace_[16];
    unsigned char span_[8];
};

class label
{
  public:
    label(const char *key, const char *value)
    {
        otelprof_label_push(key, value);
    }
    label(const char *key, int value)
    {
        otelprof_label_push_int(key, value);
    }
    label(const char *key, unsigned value)
    {
        otelprof_label_push_int(key, value);
    }
    label(const char *key, long value)
    {
        otelprof_label_push_int(key, value);
    }
    label(const char *key, unsigned long value)
    {
        otelprof_label_push_int(key, static_cast<otelprof_number>(value));
    }
#if __cplusplus >= 201103L
    label(const char *key, long long value)
    {
        otelprof_label_push_int(key, static_cast<otelprof_number>(value));
    }
    label(const char *key, unsigned long long value)
    {
        otelprof_label_push_int(key, static_cast<otelprof_number>(value));
    }
#endif
    ~label()
    {
        otelprof_label_pop();
    }

  private:
    label(const label &);
    label &operator=(const label &);
};
} /* namespace otelprof */
#endif

#endif
