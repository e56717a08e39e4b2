/* SPDX-License-Identifier: Apache-2.0 */
/* A small SDK that publishes thread contexts as OTEP 4947 says; nothing of the profiler is in it.
 */
#ifndef TEST_SDK_H
#define TEST_SDK_H

#include <stdint.h>

/* As they lie in memory. */
struct sdk_record {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t valid;
    uint8_t trace_flags;
    uint16_t attr_bytes;
    uint8_t attrs[612];
};

/* Publishes the process context, or publishes it again: schema and names of the attributes. */
void sdk_publish(const char *schema, const char *const *names, unsigned count);
/* Makes a span current in the calling thread: its ids begin with number. value: of attribute 0,
 * NULL: none. */
void sdk_attach(uint8_t number, const char *value);
void sdk_detach(void);
/* The calling thread's slot. */
struct sdk_record **sdk_slot(void);

#endif
