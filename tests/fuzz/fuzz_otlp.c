/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a file of profiles. What is accepted is walked through from end to end,
 * as the tool's commands do.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seen; /* so that reading is not optimised away */

static void touch(struct otp_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        seen += (unsigned char)text.data[i];
    }
}

static void walk_stack(const struct otp_profiles *m, int32_t index)
{
    const struct otp_slice *stack = otp_profiles_stack(m, index);
    const int32_t *frames = otp_profiles_frames(m, stack);

    for (uint32_t i = 0; i < stack->count; i++) {
        const struct otp_location *l = otp_profiles_location(m, frames[i]);
        touch(otp_profiles_string(m, otp_profiles_mapping(m, l->mapping)->filename));
        for (uint32_t k = 0; k < l->lines.count; k++) {
            const struct otp_source_line *line = otp_profiles_line(m, l->lines.first + k);
            touch(otp_profiles_string(m, otp_profiles_function(m, line->function)->name));
        }
    }
}

static void walk_message(const struct otp_profiles *m)
{
    char place[64];

    for (uint32_t i = 0; i < m->samples.count; i++) {
        const struct otp_sample *s = otp_profiles_sample(m, i);
        seen += (uint64_t)otp_profiles_sample_total(m, s);
        seen += otp_profiles_find_attr(m, s->attrs, "thread.name") != NULL;
        touch(otp_profiles_text(m, otp_profiles_link(m, s->link)->trace_id));
        walk_stack(m, s->stack);
    }
    for (uint32_t i = 0; i < m->keyvalues.count; i++) {
        const struct otp_keyvalue *kv = otp_profiles_keyvalue(m, i);
        touch(otp_profiles_key(m, kv));
        touch(otp_profiles_value_text(m, &kv->value));
    }
    for (uint32_t i = 0; i < m->notes.count; i++) {
        otp_place_format(&OTP_ITEM(otp_note, m->notes, i)->place, place, sizeof(place));
        touch(otp_text_of(place));
    }
}

static void run(const uint8_t *data, size_t size, bool with_notes)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;
    struct otp_input in = {.name = "input",
                           .bytes = malloc(size + 1),
                           .size = size,
                           .with_notes = with_notes,
                           .with_verify = true};

    if (in.bytes == NULL) {
        return;
    }
    memcpy(in.bytes, data, size);
    otp_profile_set_init(&set);
    if (otp_profile_set_add(&set, &in, &fault) == OTP_OK) {
        for (size_t i = 0; i < set.message_count; i++) {
            walk_message(set.messages[i]);
        }
    } else if (fault.reason[0] == '\0' || (!fault.in_unpacked && fault.off > size)) {
        abort(); /* a refusal says why, and where in the file */
    }
    otp_profile_set_fini(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run(data, size, false);
    run(data, size, true);
    return 0;
}
