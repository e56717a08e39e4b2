#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh LIB: the names that LIB gives to a process and the libraries that it needs are exactly
# those of tests/contract. A difference is a change of the interface: change the list with it, or not at all.
set -eu

lib=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
nm -D --defined-only "$lib" | awk '{ print $NF }' | sort > "$work/exports"
readelf -dW "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort > "$work/needed"
bad=0
for list in exports needed; do
    diff -u --label "tests/contract/$list.txt" --label "$lib" "tests/contract/$list.txt" "$work/$list" ||
        bad=$((bad + 1))
done
# What is taken from a program is there for a reason.
sed -n '/^## Interposed names/,/^## /p' docs/SIGNAL-SAFETY.md | sed -n 's/^| \([^|]*\) |.*/\1/p' > "$work/reasons"
for name in $(grep -v '^otelprof_' "$work/exports"); do
    grep -qw -e "$name" "$work/reasons" || { echo "docs/SIGNAL-SAFETY.md does not say why $name"; bad=$((bad + 1)); }
done
readelf -dW "$lib" | grep -q TEXTREL && { echo "$lib has text relocations"; bad=$((bad + 1)); }
n=$(wc -l < "$work/exports")
[ "$n" -gt 0 ] || bad=$((bad + 1))
echo "check-exports: $n names and $(wc -l < "$work/needed") needed libraries looked at, $bad lists failed"
[ "$bad" = 0 ]
