/* SPDX-License-Identifier: Apache-2.0 */
#include "core/capture/context.h"

#include <stddef.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/base/counters.h"
#include "core/base/hotmem.h"
#include "core/base/map.h"
#include "core/capture/capture.h"

#define CHUNK_CONTEXTS 128U
#define MAX_CHUNKS 512U
#define MAX_CONTEXTS (CHUNK_CONTEXTS * MAX_CHUNKS)
#define HASH_SLOTS 4096U

struct entry {
    struct otp_context context;
    uint32_t older;
};

static struct entry *chunks[MAX_CHUNKS];
static uint32_t slots[HASH_SLOTS];
static uint32_t next_number = 1;

static struct entry *entry_of(uint32_t number)
{
    if (number == 0 || number >= MAX_CONTEXTS) {
        return NULL;
    }
    struct entry *c = otp_load_acquire(&chunks[number / CHUNK_CONTEXTS]);
    return c == NULL ? NULL : &c[number % CHUNK_CONTEXTS];
}

static struct entry *claim(uint32_t *out_number)
{
    uint32_t number = otp_add_relaxed(&next_number, 1);
    if (number >= MAX_CONTEXTS) {
        otp_store_relaxed(&next_number, MAX_CONTEXTS);
        return NULL;
    }
    struct entry **slot = &chunks[number / CHUNK_CONTEXTS];
    if (otp_hotmem_share((otp_hotmem_slot *)slot, CHUNK_CONTEXTS * sizeof(**slot)) == NULL) {
        return NULL;
    }
    *out_number = number;
    return entry_of(number);
}

uint32_t otp_context_number(const char *name, int32_t thread_id)
{
    struct otp_context wanted;
    memset(&wanted, 0, sizeof(wanted));
    if (name != NULL && otp_settings.has_thread_name) {
        memcpy(wanted.thread_name, name, strnlen(name, OTP_CONTEXT_NAME_MAX - 1));
    }
    wanted.thread_id = otp_settings.has_thread_id ? thread_id : 0;
    if (wanted.thread_name[0] == '\0' && wanted.thread_id == 0) {
        return 0;
    }
    uint32_t *slot = &slots[otp_hash_bytes(&wanted, sizeof(wanted), 0) & (HASH_SLOTS - 1)];
    uint32_t newest = otp_load_acquire(slot); /* pairs: CONTEXT-PUBLISH */
    for (uint32_t n = newest; n != 0; n = entry_of(n)->older) {
        if (memcmp(&entry_of(n)->context, &wanted, sizeof(wanted)) == 0) {
            return n;
        }
    }
    uint32_t number;
    struct entry *e = claim(&number);
    if (e == NULL) {
        otp_count(OTP_COUNT_CONTEXTS_FULL, OTP_OF_BOTH, 1);
        return 0;
    }
    e->context = wanted;
    do {
        e->older = newest;
    } while (!otp_cas_acq_rel(slot, &newest, number)); /* pairs: CONTEXT-PUBLISH */
    return number;
}

const struct otp_context *otp_context_get(uint32_t number)
{
    struct entry *e = entry_of(number);
    return e == NULL ? NULL : &e->context;
}
