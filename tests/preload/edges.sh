#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# edges.sh: allocations at the edges of processes and threads, and among other libraries that wrap the allocator.
. "$(dirname "$0")/../common.sh"
host edges -fno-builtin
edges=$host

begin "allocations at the edges of process and threads are served, and counted"
settings="OTELPROF_HEAP_INTERVAL=1"
bare "$edges"
prof "$edges"
same
strict
judge heap edge_ $(files edges) > heap
# Before all constructors nothing is sampled yet; that it is served is what counts.
for edge in constructor static_object static_end thread_object thread_end key_end atexit main destructor; do
    line=$(grep "^edge_$edge " heap)
    equal "edge_$edge" "edge_$edge 10 10000 10 10000" "$line"
done
end

begin "blocks that lie where sampled ones do are told from them, at each interval"
host same_place -fno-builtin
for interval in 1 64k 512k; do
    rm -f "$p"/*
    settings="OTELPROF_HEAP_INTERVAL=$interval"
    prof "$host"
    equal "exit status" 0 "$status"
    equal "standard output" done "$(cat "$d/prof.out")"
    strict
    judge heap allocate_ $(files same_place) > heap
    for site in here there; do
        equal "objects of allocate_$site that are left, at $interval" 0 \
            "$(sed -n "s/^allocate_$site [1-9][0-9]* [1-9][0-9]* \([0-9]*\) [0-9]*$/\1/p" heap)"
    done
    read -r found stayed lost < "$d/prof.err"
    equal "reallocated blocks that have lost their contents, at $interval" 0 "$lost"
    if [ $interval = 512k ]; then
        between "sampled blocks that were reallocated" 20 100000 "$found"
        equal "of these, at the start of a page afterwards" 0 "$stayed"
    fi
done
end

host interloper -fPIC -shared -fno-builtin
other=$host
for order in "$other:$lib" "$lib:$other"; do
    begin "another wrapper of the allocator, $(case $order in "$lib"*) echo behind us ;; *) echo before us ;; esac)"
    run_to "$d/bare" env LD_PRELOAD="$other" INTERLOPER_TELL=1 "$edges"
    bare_status=$?
    run_to "$d/prof" env LD_PRELOAD="$order" INTERLOPER_TELL=1 OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 \
        OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" "$edges"
    status=$?
    same
    equal "exit status" 0 "$status"
    strict
    has_function alloc_objects edge_main $(files edges)
    end

    begin "the same with a large program, $(case $order in "$lib"*) echo behind us ;; *) echo before us ;; esac)"
    script='my %h; $h{$_ % 5000} .= "x" x ($_ % 100) for 1 .. 50000; print scalar(keys %h), "\n"'
    run_to "$d/bare" env LD_PRELOAD="$other" /usr/bin/perl -e "$script"
    bare_status=$?
    run_to "$d/prof" env LD_PRELOAD="$order" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" OTELPROF_HEAP_INTERVAL=64k \
        /usr/bin/perl -e "$script"
    status=$?
    same
    strict
    end
done
finish
