#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_imports.sh LIB: every name that LIB takes from the process is in tests/contract/imports.txt, with a
# reason, and none asks for a C library newer than the oldest that we promise to run on.
set -eu

lib=$1
oldest=2.17
allow=tests/contract/imports.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
readelf --dyn-syms -W "$lib" | awk '$7 == "UND" && NF >= 8 { print $8 }' | sort -u > "$work/all"
awk '!/^#/ && NF == 1 { print "no reason given: " $1 }' "$allow" > "$work/bad"
sed 's/@.*//' "$work/all" | sort -u > "$work/names"
awk '!/^#/ && NF { print $1 }' "$allow" | sort -u > "$work/allowed"
comm -23 "$work/names" "$work/allowed" | sed 's/^/not in the list: /' >> "$work/bad"
sed -n 's/^\(.*\)@*@GLIBC_\([0-9.]*\).*/\2 \1/p' "$work/all" | while read -r version name; do
    [ "$(printf '%s\n%s\n' "$version" "$oldest" | sort -V | tail -n 1)" = "$oldest" ] ||
        echo "needs glibc $version: $name"
done >> "$work/bad"
awk '/@/ && !/@GLIBC_[0-9]/ { print "not a public glibc version: " $0 }' "$work/all" >> "$work/bad"
cat "$work/bad"
comm -13 "$work/names" "$work/allowed" | tr '\n' ' ' | sed 's/^\(..*\)$/listed but not used here: \1\n/'
n=$(wc -l < "$work/names")
bad=$(wc -l < "$work/bad")
[ "$n" -gt 0 ] || bad=1
echo "check-imports: $n names looked at, $bad failed"
[ "$bad" = 0 ]
