#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_hot.sh OUT OBJECT...: what the objects of the *_hot.c files, linked together into OUT, still want
# from outside is in tests/contract/hot_allowed.txt, with a reason.
set -eu

out=$1
allow=tests/contract/hot_allowed.txt
shift
[ $# -gt 0 ] || {
    echo "check-hot: 0 objects looked at, 1 failed"
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
ld -r -o "$out" "$@"
nm -u "$out" > "$work/undefined"
awk '$2 != "_GLOBAL_OFFSET_TABLE_" { print $2 }' "$work/undefined" | sort -u > "$work/need"
awk '!/^#/ && NF == 1 { print "no reason given: " $1 }' "$allow" > "$work/bad"
awk '!/^#/ && NF { print $1 }' "$allow" | sort -u > "$work/allowed"
comm -23 "$work/need" "$work/allowed" > "$work/extra"
while read -r name; do
    echo "not allowed in hot code: $name, wanted by" $(for o; do
        nm -u "$o" | grep -qw "$name" && echo "${o#*/*/}"
    done)
done < "$work/extra" >> "$work/bad"
cat "$work/bad"
comm -13 "$work/need" "$work/allowed" | tr '\n' ' ' | sed 's/^\(..*\)$/listed but not used here: \1\n/'
bad=$(wc -l < "$work/bad")
echo "check-hot: $# objects and $(wc -l < "$work/need") outside names looked at, $bad failed"
[ "$bad" = 0 ]
