#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# private_archive.sh IN.a OUT.a [DROPPED_MEMBER | OLD=NEW]...: a copy of IN.a that cannot reach the C library.
#
# Every name that the archive wants from outside and that is not a pure memory or string function is
# renamed to otp_stub_NAME, which core/base/libstubs.c defines (the link fails for a name it lacks).
# OLD=NEW renames a chosen name instead; DROPPED_MEMBER leaves an object file out.
set -eu

in=$1
out=$2
shift 2
pure='memchr memcmp memcpy memmove memset strchr strcmp strlen strncmp strnlen strrchr'

[ -f "$in" ] || {
    echo "private_archive: $in not found (run 'make deps')" >&2
    exit 1
}
mkdir -p "$(dirname "$out")"
cp "$in" "$out.new"
chmod u+w "$out.new"
: > "$out.map"
for arg; do
    case $arg in
    *=*) echo "${arg%%=*} ${arg#*=}" >> "$out.map" ;;
    *) ar d "$out.new" "$arg" ;;
    esac
done
nm --defined-only "$out.new" 2> /dev/null | awk 'NF == 3 { print $3 }' | sort -u > "$out.own"
nm -u "$out.new" 2> /dev/null | awk 'NF == 2 { print $2 }' | sort -u |
    awk -v own="$out.own" -v map="$out.map" -v pure="$pure" '
        BEGIN {
            while ((getline < own) > 0) known[$1] = 1
            while ((getline < map) > 0) known[$1] = 1
            n = split(pure, p, " ")
            for (i = 1; i <= n; i++) known[p[i]] = 1
            known["_GLOBAL_OFFSET_TABLE_"] = 1
        }
        !($1 in known) { print $1, "otp_stub_" $1 }' > "$out.stubs"
cat "$out.stubs" >> "$out.map"
objcopy --redefine-syms="$out.map" "$out.new"
mv "$out.new" "$out"
rm -f "$out.own" "$out.stubs"
