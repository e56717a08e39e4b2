#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# options_table.sh: prints the table of variables for the README, as Markdown, from core/conf/options.def.
# With a file as argument: compares it with the table between the file's two marker lines instead.
#
# The list is C, so the C compiler reads it: each entry becomes one printf of a small program.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/table.c" << 'END'
#include <stdio.h>
#include <string.h>
#define OTP_OPTION(kind, field, name, standard, low, high, allowed, meaning) \
    row(name, standard, allowed, meaning);
static void row(const char *name, const char *standard, const char *allowed, const char *meaning)
{
    int has_default = standard != NULL && *standard != '\0';
    const char *tick = has_default ? "`" : "";
    const char *text = standard == NULL ? "as for all signals" : has_default ? standard : "unset";
    printf("| `%s` | %s%s%s | %s | %s |\n", name, tick, text, tick, allowed, meaning);
}
int main(void)
{
    puts("| variable | default | allowed | meaning |\n|---|---|---|---|");
#include "core/conf/options.def"
    return 0;
}
END
"${CC:-cc}" -I. -o "$work/table" "$work/table.c"
"$work/table" > "$work/want"
if [ $# -eq 0 ]; then
    cat "$work/want"
    exit 0
fi

sed -n '/^<!-- options: begin -->$/,/^<!-- options: end -->$/p' "$1" | sed '1d;$d' > "$work/have"
rows=$(grep -c '^| `' "$work/want")
bad=0
diff "$work/have" "$work/want" || bad=1
echo "options-table: $rows variables looked at in $1, $bad failed"
[ "$rows" -gt 0 ] && [ "$bad" = 0 ]
