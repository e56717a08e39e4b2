#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# format.sh: what receivers of other projects have tripped over, looked for in what the library writes by a reader
# that shares no code with it.
. "$(dirname "$0")/../common.sh"

# conforms: every file in $p, and that there is something in them
conforms() {
    strict
    # shellcheck disable=SC2046
    judge conform $(find "$p" -type f) > "$d/conform"
    [ "$(wc -l < "$d/conform")" = 1 ] || bad "$(head -n 3 "$d/conform" | cut -c 1-300)"
    samples=$(sed -n 's/ samples$//p' "$d/conform")
    [ "${samples:-0}" -ge "$1" ] || bad "${samples:-no} samples looked at, at least $1 expected"
}

script='import threading, time
def work(n):
    end = time.thread_time() + 0.15
    kept = []
    while time.thread_time() < end:
        kept.append("x" * len(kept))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()'

begin "zero values, indices, strings, periods, windows: sums over several flushes"
settings="OTELPROF_INTERVAL=50ms OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU_HZ=500 OTELPROF_THREAD_ATTRIBUTES=id,name"
prof "$python" -c "$script"
equal "exit status" 0 "$status"
conforms 200
[ "$(files 'python*' | wc -l)" -ge 3 ] || bad "only $(files 'python*' | wc -l) flushes"
end

begin "the same for observations with their times"
settings="OTELPROF_INTERVAL=50ms OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU_HZ=500 OTELPROF_TIMESTAMPS=true"
prof "$python" -c "$script"
equal "exit status" 0 "$status"
conforms 200
end

begin "the same for children, and for a first flush of a moment"
settings="OTELPROF_INTERVAL=10ms OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"
prof sh -c 'for i in 1 2 3; do (echo $i) | cat; done; ls / > /dev/null'
equal "exit status" 0 "$status"
conforms 50
end
finish
