#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# options_table.sh [FILE...]: what core/conf/options.def says. Without a file: the README's table, as Markdown.
# A .md file: its table between the two marker lines must be that table. Another file: its lines "NAME DEFAULT"
# must be all variables with their defaults, so that a change of either is seen in a review.
#
# The list is C, so the C compiler reads it: each entry becomes a line of a small program's output.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/table.c" << 'END'
#include <stdio.h>
#include <string.h>
#define OTP_OPTION(kind, field, name, standard, low, high, allowed, meaning) \
    row(name, standard, allowed, meaning);
static int is_plain;
static void row(const char *name, const char *standard, const char *allowed, const char *meaning)
{
    int has_default = standard != NULL && *standard != '\0';
    const char *tick = has_default ? "`" : "";
    const char *text = standard == NULL ? "as for all signals" : has_default ? standard : "unset";
    if (is_plain) {
        printf("%s %s\n", name, text);
    } else {
        printf("| `%s` | %s%s%s | %s | %s |\n", name, tick, text, tick, allowed, meaning);
    }
}
int main(int argc, char **argv)
{
    is_plain = argc > 1;
    if (!is_plain) {
        puts("| variable | default | allowed | meaning |\n|---|---|---|---|");
    }
#include "core/conf/options.def"
    return argv == NULL;
}
END
"${CC:-cc}" -I. -o "$work/table" "$work/table.c"
"$work/table" > "$work/table.md"
"$work/table" plain > "$work/plain"
if [ $# -eq 0 ]; then
    cat "$work/table.md"
    exit 0
fi

bad=0
for file; do
    case $file in
    *.md)
        sed -n '/^<!-- options: begin -->$/,/^<!-- options: end -->$/p' "$file" | sed '1d;$d' > "$work/have"
        diff "$work/have" "$work/table.md" || bad=$((bad + 1))
        ;;
    *)
        sed '/^#/d' "$file" > "$work/have"
        diff "$work/have" "$work/plain" || bad=$((bad + 1))
        ;;
    esac
done
n=$(wc -l < "$work/plain")
[ "$n" -gt 0 ] || bad=1
echo "check-options: $n variables looked at in $# files, $bad failed"
[ "$bad" = 0 ]
