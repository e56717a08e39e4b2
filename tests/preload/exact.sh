#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exact.sh: with an interval of one byte the heap profile equals the truth, to the byte, for each name of the family.
. "$(dirname "$0")/../common.sh"
host exact

# one WHAT ARGUMENT…: each site's four values.
one() {
    begin "the heap profile is exact $1"
    shift
    settings="$* OTELPROF_HEAP_INTERVAL=1"
    # shellcheck disable=SC2086
    bare "$host" $arguments
    # shellcheck disable=SC2086
    prof "$host" $arguments
    same
    strict
    equal "exit status" 0 "$status"
    [ -s "$d/prof.out" ] || bad "the program said nothing"
    sort "$d/prof.out" > "$d/truth"
    # shellcheck disable=SC2046
    judge heap site_ $(files exact) > "$d/measured"
    same_file "$d/truth" "$d/measured" "what the profile says of a site"
    equal "losses" 0 "$(judge note otelprof.dropped.live_table_full $(files exact) | sed 's/^$/0/')"
    end
}

arguments="1 3"
one "in one thread"
arguments="8 20"
one "in eight threads"
one "with CPU samples in between" OTELPROF_CPU_HZ=1000
one "over several flushes" OTELPROF_INTERVAL=50ms
finish
