/* SPDX-License-Identifier: Apache-2.0 */
/* A block of another size for each value of a label that a text format could take for another. */
#include "core/api/otelprof.h"
#include "tests/context/block.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static const char *const values[] = {"",     "[no label]", "\"\"",    "a;b",           "a:b",
                                         "a\nb", "a?b",        "a\\x3bb", "\"[no label]\""};
    size_t count = sizeof(values) / sizeof(values[0]);
    for (size_t i = 0; i < count; i++) {
        otelprof_label_push("odd", values[i]);
        free(make_block((size_t)1 << i));
        otelprof_label_pop();
    }
    free(make_block((size_t)1 << count));
    printf("%zu\n", count);
    return 0;
}
