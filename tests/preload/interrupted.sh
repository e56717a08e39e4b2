#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# interrupted.sh: handlers of the program's own that come while an allocation is booked.
. "$(dirname "$0")/../common.sh"

host interrupted -fno-builtin
for run in "ends 1" "ends 256k" "forks 1" "forks 256k"; do
    how=${run% *}
    begin "a handler that comes while an allocation is booked: $run"
    settings="OTELPROF_HEAP_INTERVAL=${run#* } OTELPROF_CPU_HZ=1000 OTELPROF_FOLLOW_FORK=$([ $how = ends ] && echo true || echo false)"
    bare "$host" $how
    prof "$host" $how
    same
    equal "exit status" 0 "$status"
    strict
    judge heap allocate_ $(files interrupted) > heap
    for function in allocate_before allocate_after; do
        has_function alloc_objects $function $(files interrupted)
    done
    equal "blocks of allocate_after that are left" 0 "$(judge site inuse_objects allocate_after $(files interrupted))"
    equal "samples without a stack to run on" "" "$(judge note otelprof.dropped.scratch_stacks $(files interrupted))"
    end
done
finish
