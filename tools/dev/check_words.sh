#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_words.sh: committed text speaks of the project and of nothing around its making: no build hosts'
# folders, no trackers, no mirrors, nothing of what its makers had or lacked. (Each pattern has a bracket so
# that it does not match itself.)
set -eu

words='[/]work/|[/]tmp/team|by a [s]ession|[h]elper session|interface[.]md|feasibility[.]md|spec-facts[.]md
[/]home/[a-z]+/|[i]ssues? #?[0-9]+|[a]rtifactory|artifact[-]registry|pypi[.]org|npmjs[.]|crates[.]io
rubygems[.]|proxy[.]golang|deb[.]debian[.]org|[c]hatgpt|[c]laude|[a]nthropic|[o]penai|language [m]odel|as an [A]I
(not|none|[a-z]+ is) served [h]ere|(engine|process|registry|network|internet) [h]ere'
pattern=$(echo "$words" | tr '\n' '|' | sed 's/|$//')
unfinished='(^|[^X])X[X]X([^X]|$)|F[I]XME|T[O]DO'
list=$(mktemp)
trap 'rm -f "$list" "$list.bad"' EXIT
{ git ls-files --cached --others --exclude-standard 2> /dev/null || find . -path ./.git -prune -o -path ./build -prune \
    -o -type f -print; } | sort -u > "$list"
# grep that finds nothing has done its work; one that cannot do it ends the gate.
look() {
    status=0
    grep "$@" || status=$?
    [ "$status" -le 1 ] || exit "$status"
}
while read -r f; do
    case $f in # what a run has left behind
    .ci/* | core/* | docs/* | preload/* | proto/* | tests/* | tools/*) ;;
    .clang-format | .editorconfig | .git* | Makefile | README.md) ;;
    *) echo "$f: not a name of this folder" ;;
    esac
    [ ! -L "$f" ] || echo "$f: a link"
    [ -f "$f" ] || continue
    look -nHIiE "$pattern" "$f"
    look -nHIE "$unfinished" "$f"
    echo "$f" | look -iE "$pattern"
done < "$list" > "$list.bad"
cat "$list.bad"
n=$(wc -l < "$list")
bad=$(wc -l < "$list.bad")
[ "$n" -gt 0 ] || bad=1
echo "check-words: $n files looked at, $bad lines failed"
[ "$bad" = 0 ]
