#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_cases.sh FILE: each row of the table of cases in FILE names tests that exist, and each case that a program of
# tests/hosts says it stands for has a row that names it. A row is `| ID | what | TESTS |`; a test is a file, perhaps
# with `: ` and the name of one of its tests behind it, and several have `; ` between them.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^<!-- cases: begin -->$/,/^<!-- cases: end -->$/p' "$1" > "$work/part"
awk -F ' *[|] *' '$2 ~ /^[A-Z][0-9]+$/ {
    n = split($4, tests, "; ")
    if (n == 0) print $2 "\t"
    for (i = 1; i <= n; i++) print $2 "\t" tests[i]
}' "$work/part" > "$work/rows"

while IFS="	" read -r id test; do
    file=${test%%: *}
    name=${test#"$file"}
    name=${name#: }
    case $file in tools/*) ;; *) file=tests/$file ;; esac
    if [ ! -f "$file" ]; then
        echo "$id: there is no file $file"
    elif [ -n "$name" ] && ! grep -qF -e "begin \"$name" -e "START_TEST($name)" -e "def $name(" "$file"; then
        echo "$id: $file has no test '$name'"
    fi
done < "$work/rows" > "$work/bad"
cut -f 1 "$work/rows" | sort | uniq > "$work/ids"
sed -n 's/^| \([A-Z][0-9]*\) |.*/\1/p' "$work/part" | sort | uniq -d | sed 's/^/two rows for /' >> "$work/bad"

for f in tests/hosts/*.c tests/hosts/*.cc; do
    for id in $(sed -n 's|^/\* host: rows \(.*\) \*/$|\1|p' "$f"); do
        grep -q "^$id	hosts/${f##*/}" "$work/rows" || echo "$f stands for $id, and its row does not name it"
    done
done >> "$work/bad"
cat "$work/bad"
n=$(wc -l < "$work/ids")
bad=$(wc -l < "$work/bad")
[ "$n" -gt 0 ] || bad=1
echo "check-cases: $n cases with $(wc -l < "$work/rows") tests looked at, $bad failed"
[ "$bad" = 0 ]
