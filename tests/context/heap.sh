#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# heap.sh: memory keeps the span and the labels of its allocation; spans without number stay within the memory limit.
. "$(dirname "$0")/../common.sh"

# sums TYPE: span and bytes of the blocks, one a line
sums() {
    # shellcheck disable=SC2046
    judge span-sites "$1" make_block $(files) | sort
}

exact() {
    equal "exit status" 0 "$status"
    awk '{ print $1 "0000000000", $2 }' "$d/prof.out" | sort > "$d/made"
    awk '{ print $1 "0000000000", $3 }' "$d/prof.out" | sort > "$d/kept"
    equal "spans that the program had" 2000 "$(wc -l < "$d/made")"
    sums alloc_space > "$d/alloc"
    sums inuse_space > "$d/inuse"
    same_file "$d/made" "$d/alloc" "allocated bytes by span"
    same_file "$d/kept" "$d/inuse" "live bytes by span"
    # shellcheck disable=SC2046
    judge by class inuse_objects $(files) | grep -v -- ' -$' | sort > "$d/classes"
    same_file "$d/classes" "$d/wanted" "live objects by label"
    # shellcheck disable=SC2046
    equal "links lost" "" "$(judge note otelprof.dropped.links $(files))"
}

printf '1000 even\n1000 odd\n' > "$work/wanted"

for how in "one flush" "many flushes" "many flushes with times" "spans that are over are taken back"; do
    begin "memory by span, to the byte: $how"
    host heap -I"$top"
    cp "$work/wanted" "$d/wanted"
    settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"
    wait_ms=''
    case $how in
    many*times) settings="$settings OTELPROF_INTERVAL=50ms OTELPROF_TIMESTAMPS=true" ;;
    many*) settings="$settings OTELPROF_INTERVAL=50ms" ;;
    spans*) wait_ms=3500 ;;
    esac
    # shellcheck disable=SC2086
    prof "$host" $wait_ms
    strict
    exact
    end
done

begin "labels hold in what a thread runs at its end"
host last_words -I"$top"
settings="OTELPROF_HEAP_INTERVAL=1"
prof "$host"
equal "exit status" 0 "$status"
strict
for end in local:20000 key:40000 handler:30000; do
    # shellcheck disable=SC2046
    equal "bytes of ${end%:*}" "${end#*:}" "$(judge by end alloc_space $(files) | awk -v want="${end%:*}" '$2 == want { n += $1 } END { print n + 0 }')"
done
# A block of each destructor in ten threads.
# shellcheck disable=SC2046
equal "bytes with the label that stayed" 30000 \
    "$(judge by kept alloc_space $(files) | awk '$2 == "yes" { n += $1 } END { print n + 0 }')"
# shellcheck disable=SC2046
equal "labels lost" "" "$(judge note otelprof.dropped.labels $(files))"
end

begin "what is live keeps span and labels in a flush that cannot tell all that went"
host starve -I"$top"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false"
bare "$host"
prof "$host"
same
strict
# shellcheck disable=SC2046
equal "live blocks with a link" 500 "$(judge links inuse_objects $(files) | awk '$2 != "-" { n += $1 } END { print n + 0 }')"
# shellcheck disable=SC2046
equal "live blocks with a label" 500 "$(judge by route inuse_objects $(files) | awk '$2 == "/x" { n += $1 } END { print n + 0 }')"
# shellcheck disable=SC2046
equal "bytes in make_block" $((60500 * 64)) "$(judge site alloc_space make_block $(files))"
# shellcheck disable=SC2046
[ "$(judge note otelprof.dropped.links $(files))" -gt 1000 ] || bad "there was room for all of it"
end

begin "a million spans stay within the memory limit"
host many -I"$top"
bare "$host" 1000000
for ceiling in 16m 64m; do
    rm -f "$p"/*
    settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_INTERVAL=5s OTELPROF_MEMORY_LIMIT=$ceiling"
    prof "$host" 1000000
    equal "exit status" 0 "$status"
    strict
    # shellcheck disable=SC2046
    equal "bytes in make_block with $ceiling" "$(cut -d ' ' -f 1 "$d/prof.out")" "$(judge site alloc_space make_block $(files))"
    # shellcheck disable=SC2046
    equal "live bytes in make_block" 0 "$(judge site inuse_space make_block $(files))"
    between "KiB more than without the library" 0 $((${ceiling%m} * 1024)) \
        $(($(cut -d ' ' -f 2 "$d/prof.out") - $(cut -d ' ' -f 2 "$d/bare.out")))
    # shellcheck disable=SC2046
    between "spans in the profile" 1000 1000000 "$(judge links alloc_space $(files) | grep -vc -- ' - -$')"
    # shellcheck disable=SC2046
    between "values of a label, in all flushes" 900 $((1000 * $(files | wc -l))) \
        "$(judge by user alloc_space $(files) | grep -vc -- ' -$')"
    # shellcheck disable=SC2046
    # Two allocations for each span, each with two labels.
    between "attributes dropped" 1000 4000000 "$(judge dropped alloc_space $(files))"
    # shellcheck disable=SC2046
    [ -n "$(judge note otelprof.dropped.labels $(files))" ] || bad "no count of dropped labels"
    # shellcheck disable=SC2046
    [ -z "$(judge note otelprof.dropped.memory_limit $(files))" ] || bad "a flush was lost"
done
end

begin "OTELPROF_MAX_LABELS is the number of values of a key in a flush"
for max in 0 1 7; do
    rm -f "$p"/*
    settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_MAX_LABELS=$max"
    prof "$host" 50
    # shellcheck disable=SC2046
    equal "values of user with $max" "$max" "$(judge by user alloc_space $(files) | grep -vc -- ' -$')"
    # shellcheck disable=SC2046
    equal "values of kind with $max" "$((max < 2 ? max : 2))" "$(judge by kind alloc_space $(files) | grep -vc -- ' -$')"
    # shellcheck disable=SC2046
    equal "spans with $max" 50 "$(judge links alloc_space $(files) | grep -vc -- ' - -$')"
done
end
finish
