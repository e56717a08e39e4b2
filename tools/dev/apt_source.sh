#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# apt_source.sh DIR PACKAGE...: downloads source packages into DIR, not unpacked. Private copies of the machine's apt
# sources are used: signatures are checked, nothing of the machine's package state is changed.
#   APT_SOURCE_STATE   keeps the package lists for the next call (default: they are thrown away)
set -eu

out=${1:?usage: apt_source.sh DIR PACKAGE...}
shift

fail() {
    echo "apt_source: $*" >&2
    exit 1
}

for tool in apt-get tar gzip; do
    command -v "$tool" > /dev/null || fail "$tool is not installed"
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
state=${APT_SOURCE_STATE:-}
if [ -z "$state" ]; then
    state=$(mktemp -d)
    trap 'rm -rf "$state"' EXIT INT TERM
fi
mkdir -p "$state/parts" "$state/lists/partial" "$state/cache/archives/partial"
state=$(cd "$state" && pwd)

# Suites of the distribution itself only: other repositories need not offer sources.
private_sources() {
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$list" ] || sed -n -E "s/^deb(-src)?[[:space:]]+((\[[^]]*\][[:space:]]*)?[^[:space:]]+[[:space:]]+$codename(-updates|-security|\/updates)?[[:space:]].*)/deb-src \2/p" "$list"
    done | sort -u > "$state/parts/own.list"
    for list in /etc/apt/sources.list.d/*.sources; do
        [ -f "$list" ] || continue
        awk -v code="$codename" 'BEGIN { RS = ""; ORS = "\n\n" }
            $0 ~ "(^|\n)Suites:[^\n]*[ \t]" code "([ \t\n-]|$)" {
                gsub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src"); sub(/^\n/, ""); print }' "$list"
    done > "$state/parts/own.sources"
    cat "$state/parts/own.list" "$state/parts/own.sources" | grep -q . || fail "no apt source of '$codename' found"
}

apt() {
    program=$1
    shift
    "$program" -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$state/parts" \
        -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User= \
        -o Acquire::Languages=none "$@" 2>> "$state/log"
}

# A version that was replaced meanwhile may be listed and gone: then the one before.
fetch() {
    for version in $(apt apt-cache madison "$1" | awk -F ' *[|] *' '/Sources$/ && !seen[$2]++ { print $2 }'); do
        rm -f "$out/$1"_*
        if (cd "$out" && apt apt-get source --download-only --only-source "$1=$version" >> "$state/log"); then
            return
        fi
    done
    false
}

: > "$state/log"
private_sources
[ -e "$state/updated" ] || { apt apt-get update && touch "$state/updated"; } >> "$state/log" || {
    sed 's/^/  /' "$state/log" >&2
    fail "the package lists cannot be fetched"
}
for package; do
    fetch "$package" || {
        sed 's/^/  /' "$state/log" >&2
        fail "cannot fetch $package"
    }
done
