#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# narrow.sh: under any memory limit a flush comes out, with what fits; the rest is counted.
. "$(dirname "$0")/../common.sh"

# told FILE…: clean profiles with allocations, that say what is missing, and not a word about it elsewhere
told() {
    [ $# -gt 0 ] || { bad "no profile"; return; }
    strict
    equal "standard error" "" "$(cat "$d/prof.err")"
    for f; do
        "$tool" info "$f" | grep -q 'alloc_space/bytes  *[1-9][0-9]* samples' || bad "$f: no allocations"
        "$tool" info "$f" | grep -q ' lost [a-z_]* [1-9]' || bad "$f: no losses"
    done
}

for limit_of in 1m 2m 4m 8m; do
    for times in false true; do
        for stacks in 1 1000 100000; do
            begin "$limit_of, $stacks stacks of 100 frames, a span for each allocation, timestamps: $times"
            host narrow -I"$top"
            settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_MEMORY_LIMIT=$limit_of OTELPROF_TIMESTAMPS=$times"
            prof "$host" 30000 "$stacks"
            equal "exit status" 0 "$status"
            equal "standard output" 30000 "$(cat "$d/prof.out")"
            # shellcheck disable=SC2046
            told $(files)
            # shellcheck disable=SC2046
            has_function alloc_space make_one $(files)
            end
        done
    done
    for times in false true; do
        begin "$limit_of, flushes every 20 ms, timestamps: $times: nothing is told twice"
        host narrow -I"$top"
        settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_MEMORY_LIMIT=$limit_of OTELPROF_TIMESTAMPS=$times
            OTELPROF_INTERVAL=20ms"
        prof "$host" 30000 1000
        equal "exit status" 0 "$status"
        equal "standard error" "" "$(cat "$d/prof.err")"
        strict
        has_files narrow 2
        # shellcheck disable=SC2046
        between "allocations told" 10 30000 "$(judge site alloc_objects make_one $(files))"
        # shellcheck disable=SC2046
        between "spans told" 10 30000 "$(judge links alloc_objects $(files) | grep -vc -- ' - -$')"
        # shellcheck disable=SC2046
        equal "spans told twice" 0 "$(judge links alloc_objects $(files) | grep -v -- ' - -$' | grep -vc '^1 ')"
        end
    done
    begin "$limit_of, three outputs, of which each has what fits"
    host narrow -I"$top"
    settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_MEMORY_LIMIT=$limit_of
        OTELPROF_OUTPUT=file:$p/%p.jsonl,file:$p/%p.otlp.zst,file:$p/%p.pprof.gz"
    prof "$host" 30000 1000
    equal "exit status" 0 "$status"
    equal "files" 3 "$(find "$p" -type f | wc -l)"
    # shellcheck disable=SC2046
    told $(find "$p" -type f | sort)
    end
    for interval in 1 256; do
        begin "$limit_of, Python with an interval of $interval"
        settings="OTELPROF_HEAP_INTERVAL=$interval OTELPROF_MEMORY_LIMIT=$limit_of PYTHONMALLOC=malloc"
        prof "$python" -c "import json; print(len(json.loads(json.dumps([{'a': [str(i)] * 10} for i in range(3000)]))))"
        equal "exit status" 0 "$status"
        equal "standard output" 3000 "$(cat "$d/prof.out")"
        # shellcheck disable=SC2046
        told $(files)
        end
    done
done
finish
