#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_style.sh: the rules of docs/CONTRIBUTING.md that a machine can judge: sizes and complexity (pmccabe),
# nesting, comments, line length, tabs, licence line. The lexing is done by style.awk.
set -eu

max_function=100 max_file=1000 max_complexity=15
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find core preload tools tests -name '*.[ch]' | sort > "$work/c"
find . \( -path ./build -o -path ./.git \) -prune -o -type f \
    \( -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name '*.map' -o -name '*.def' -o -name '*.proto' \
    -o -name Makefile -o -path ./.ci/run \) -print | sed 's|^\./||' | sort > "$work/other"

xargs awk -f tools/dev/style.awk -v max_file=$max_file < "$work/c" > "$work/bad"
while read -r f; do
    head -n 2 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f:1: no SPDX licence line on top"
done < "$work/other" >> "$work/bad"

command -v pmccabe > /dev/null || {
    echo "check-style: pmccabe is missing (make test-deps)"
    exit 1
}
# Columns: complexity with a switch counted once, McCabe's own, statements, first line, lines, file(line): name.
xargs pmccabe < "$work/c" > "$work/sizes" 2> "$work/unread"
awk -F '\t' -v f=$max_function -v c=$max_complexity '
    $5 > f { print $6 ": " $5 " lines, at most " f }
    $1 > c { print $6 ": complexity " $1 ", at most " c }' "$work/sizes" >> "$work/bad"

# What it cannot make out, it has not looked at.
sed 's/^/pmccabe: /' "$work/unread" >> "$work/bad"

cat "$work/bad"
files=$(($(wc -l < "$work/c") + $(wc -l < "$work/other")))
functions=$(wc -l < "$work/sizes")
bad=$(wc -l < "$work/bad")
[ "$functions" -gt 0 ] || bad=$((bad + 1))
awk -F '\t' '$5 > 35 { n++ } END { printf "check-style: %d of %d functions are over 35 lines\n", n, NR }' "$work/sizes"
echo "check-style: $files files and $functions functions looked at, $bad failed"
[ "$bad" = 0 ]
