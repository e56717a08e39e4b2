/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiler's only allocator: size classes on mapped chunks, with a hard limit. Not thread-safe:
 * one owner (the worker, or a tool) at a time. Never the host's malloc.
 */
#ifndef OTP_BASE_HEAP_H
#define OTP_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#define OTP_HEAP_CLASSES 32

struct otp_heap_chunk;
struct otp_heap_free;

struct otp_heap {
    size_t limit_bytes;  /* most that may be mapped at once */
    size_t mapped_bytes; /* mapped now */
    size_t peak_bytes;   /* most that was ever mapped */
    size_t failures;     /* requests refused */
    bool wants_huge;     /* see otp_heap_prefer_huge */
    char *bump;          /* next free byte of the newest chunk */
    char *bump_end;
    struct otp_heap_chunk *chunks;
    struct otp_heap_chunk *large; /* blocks with a mapping of their own, doubly linked */
    struct otp_heap_free *free_lists[OTP_HEAP_CLASSES];
};

/* Makes h an empty heap that never maps more than limit_bytes. Context: any. */
void otp_heap_init(struct otp_heap *h, size_t limit_bytes);
/* Asks the system for huge pages in large blocks, which then take whole ones: for programs whose
 * tables are hundreds of megabytes, not for a library in another's process. Before first use. */
void otp_heap_prefer_huge(struct otp_heap *h);
/* Gives everything back to the system; h can be used again with the same limit. */
void otp_heap_reset(struct otp_heap *h);
/* size bytes, 16-byte aligned, not cleared; NULL at the limit. size 0 gives a unique pointer. */
void *otp_heap_alloc(struct otp_heap *h, size_t size);
/* As otp_heap_alloc for count * size bytes, cleared, overflow checked. */
void *otp_heap_calloc(struct otp_heap *h, size_t count, size_t size);
/* Grows or shrinks p (may be NULL); NULL at the limit, then p is unchanged. */
void *otp_heap_realloc(struct otp_heap *h, void *p, size_t size);
/* Returns p (may be NULL) to h. */
void otp_heap_free(struct otp_heap *h, void *p);
/* A NUL-terminated copy of len bytes; NULL at the limit. */
char *otp_heap_copy_string(struct otp_heap *h, const char *s, size_t len);
/* Whether the last request that failed, of any heap, was refused by the system and not at a limit
 * of ours. Context: any. */
bool otp_heap_was_refused(void);

#endif
