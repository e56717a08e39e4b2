#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_words.sh: committed text speaks of the project and of nothing around its making: no build hosts'
# folders, no trackers, no mirrors. (Each pattern has a bracket so that it does not match itself.)
set -eu

words='[/]work/|[/]tmp/team|by a [s]ession|[h]elper session|[i]ssues? #?[0-9]+|interface[.]md|feasibility[.]md
spec-facts[.]md|[a]rtifactory|artifact[-]registry|pypi[.]org|npmjs[.]|crates[.]io|rubygems[.]|proxy[.]golang
deb[.]debian[.]org|[c]hatgpt|[c]laude|[a]nthropic|[o]penai|language [m]odel|as an [A]I'
pattern=$(echo "$words" | tr '\n' '|' | sed 's/|$//')
unfinished='(^|[^X])X[X]X([^X]|$)|F[I]XME|T[O]DO'
list=$(mktemp)
trap 'rm -f "$list" "$list.bad"' EXIT
{ git ls-files --cached --others --exclude-standard 2> /dev/null || find . -path ./.git -prune -o -path ./build -prune \
    -o -type f -print; } | sort -u > "$list"
while read -r f; do
    [ -f "$f" ] || continue
    grep -nHIiE "$pattern" "$f" || true
    grep -nHIE "$unfinished" "$f" || true
    echo "$f" | grep -iE "$pattern" || true
done < "$list" > "$list.bad"
cat "$list.bad"
n=$(wc -l < "$list")
bad=$(wc -l < "$list.bad")
[ "$n" -gt 0 ] || bad=1
echo "check-words: $n files looked at, $bad lines failed"
[ "$bad" = 0 ]
