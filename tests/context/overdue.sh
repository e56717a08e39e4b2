#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# overdue.sh: time for which no tick could be booked is no span's that did not have it, and is told all the same.
. "$(dirname "$0")/../common.sh"

# run_overdue HOW...: $d/sums has span, microseconds by its own clock, and by the profile, one a line
run_overdue() {
    prof "$host" "$@"
    equal "exit status" 0 "$status"
    same_file /dev/null "$d/prof.err" "standard error"
    strict
    awk '{ s[$1] += $2 } END { for (k in s) print k, s[k] }' "$d/prof.out" | sort > "$d/own"
    # shellcheck disable=SC2046
    judge links cpu $(files) | awk '{ s[$3] += $1 / 1000 } END { for (k in s) print k, s[k] }' | sort > "$d/told"
    join -a 1 -e 0 -o 0,1.2,2.2 "$d/own" "$d/told" > "$d/sums"
    # shellcheck disable=SC2046
    all=$(($(judge totals $(files) | sed -n 's/^cpu //p') / 1000)) clock=$(awk '$1 == "all" { print $2 }' "$d/sums")
    between "microseconds in all" $((clock - 20000)) $((clock + 30000)) "$all"
    # The label of each span goes the same way.
    # shellcheck disable=SC2046
    equal "samples with one of span and label" "" "$(judge apart span cpu $(files))"
}

of() { # SPAN COLUMN
    awk -v span="$1" -v column="$2" '$1 ~ "^" span { n += $column } END { print n + 0 }' "$d/sums"
}

at_most() { # EXCESS: no span has more than that beyond its own time
    equal "spans with time of others" "" "$(awk -v more="$1" '$1 != "all" && $3 > $2 + more' "$d/sums")"
}

for engine in timer auto; do
    begin "time put off while the ring is full, $engine"
    host overdue -I"$top"
    settings="OTELPROF_CPU_HZ=1000 OTELPROF_CPU_ENGINE=$engine OTELPROF_TIMESTAMPS=true OTELPROF_FOLLOW_FORK=false"
    run_overdue full
    # shellcheck disable=SC2046
    [ "$(judge note-of cpu otelprof.dropped.ring_full $(files))" -gt 20 ] || bad "the ring was not full"
    equal "time of spans that had no room" 0 "$(of 2 3)"
    at_most 40000
    # shellcheck disable=SC2046
    between "samples whose span is not known" 1 20 "$(judge note-of cpu otelprof.dropped.links $(files))"
    end

    begin "time for which signals were blocked, $engine"
    settings="OTELPROF_CPU_HZ=1000 OTELPROF_CPU_ENGINE=$engine OTELPROF_FOLLOW_FORK=false"
    run_overdue blocked
    equal "time of spans that had no tick" 0 "$(of 2 3)"
    at_most 180000 # 8 ticks of a kernel that has 100 a second, twice
    # shellcheck disable=SC2046
    between "samples whose span is not known" 1 20 "$(judge note-of cpu otelprof.dropped.links $(files))"
    end

    for how in full blocked; do
        begin "a span that goes on through all of it keeps its time: $how, $engine"
        settings="OTELPROF_CPU_HZ=1000 OTELPROF_CPU_ENGINE=$engine OTELPROF_FOLLOW_FORK=false OTELPROF_TIMESTAMPS=true"
        run_overdue "$how" lasting
        between "microseconds of it" $(($(of 4 2) * 93 / 100)) $(($(of 4 2) * 107 / 100)) "$(of 4 3)"
        # shellcheck disable=SC2046
        equal "samples whose span is not known" "" "$(judge note-of cpu otelprof.dropped.links $(files))"
        end
    done
done

begin "allocations leave room for ticks"
settings="OTELPROF_CPU_HZ=200 OTELPROF_TIMESTAMPS=true OTELPROF_FOLLOW_FORK=false OTELPROF_HEAP_INTERVAL=1"
run_overdue loaded
# shellcheck disable=SC2046
equal "ticks put off" "" "$(judge note-of cpu otelprof.dropped.ring_full $(files))"
between "microseconds of spans while the ring was loaded" 40000 140000 "$(of 5 3)"
end
finish
