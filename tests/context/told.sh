#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# told.sh: an allocation in a span is told once: in one flush, of the process that made it, and never again.
. "$(dirname "$0")/../common.sh"

# blocks TYPE FILE: the spans or labels of the allocations in a file, one a line
blocks() {
    if [ "$how" = span ]; then
        judge links "$1" "$2" | awk '$1 != 0 && $3 != "-" { print $3 }'
    else
        judge by block "$1" "$2" | awk '$1 != 0 && $2 != "-" { print $2 }'
    fi
}

each_once() {
    parent=$(cat "$d/prof.out")
    for type in alloc_objects alloc_space; do
        : > "$d/parent"
        : > "$d/others"
        for f in $(files); do
            case $f in
            *-"$parent".*) blocks "$type" "$f" >> "$d/parent" ;;
            *) blocks "$type" "$f" >> "$d/others" ;;
            esac
        done
        equal "phases of the parent" "1 2 5 " "$(cut -c 1 "$d/parent" | sort -u | tr '\n' ' ')"
        equal "phases of the children" "3 4 " "$(cut -c 1 "$d/others" | sort -u | tr '\n' ' ')"
        equal "of $type: told more than once" 0 "$(sort "$d/parent" "$d/others" | uniq -d | wc -l)"
        between "allocations told" 9000 15000 "$(cat "$d/parent" "$d/others" | wc -l)"
    done
}

# 15,000 in all, with a standard deviation of 95, of which rounding adds 16.
objects_are_right() {
    # shellcheck disable=SC2046
    between "objects" 14500 15500 "$(judge site alloc_objects make_block $(files))"
}

for how in span label; do
    for settings_of in "" "OTELPROF_TIMESTAMPS=true" "OTELPROF_HEAP_INTERVAL=1"; do
        for wait_ms in 0 2500; do
            begin "$how: each allocation once, $wait_ms ms after a flush ${settings_of:-sampled}"
            host told -I"$top"
            settings="OTELPROF_HEAP_INTERVAL=4k OTELPROF_MAX_LABELS=100000 OTELPROF_CPU=false $settings_of"
            prof "$host" "$how" "$wait_ms"
            equal "exit status" 0 "$status"
            strict
            each_once
            objects_are_right
            # shellcheck disable=SC2046
            equal "links lost" "" "$(judge note otelprof.dropped.links $(files))"
            end
        done
    done
done
finish
