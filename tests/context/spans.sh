#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spans.sh: a server with a pool of threads and coroutines that wander between them: each sample has the span that was
# current in its thread, and the CPU time of classes of spans is what the program's own clocks say.
. "$(dirname "$0")/../common.sh"
programs=$hosts/$suite_folder
mkdir -p "$programs"
gcc -std=gnu11 -O1 -c -o "$programs/sdk.o" "$here/sdk.c"
g++ -std=c++20 -O1 -fcoroutines -Wall -Wextra -Werror -I"$top" -I"$here" -rdynamic -o "$programs/spans" \
    "$here/spans.cc" "$programs/sdk.o" -pthread || exit 1

compare() { # VERB WHAT
    # shellcheck disable=SC2046
    "$python" "$here/spans.py" "$1" "$2" $(files) > "$d/compared" || {
        bad "$1: $(tail -n 1 "$d/compared")"
        head -n 5 "$d/compared" | sed 's/^/        /'
    }
}

begin "CPU time by class of spans is that of the program's clocks"
settings="OTELPROF_CPU_HZ=200 OTELPROF_HEAP=false"
prof "$programs/spans" 12
equal "exit status" 0 "$status"
strict
compare classes "$d/prof.out"
[ -z "${VERBOSE:-}" ] || cat "$d/compared" "$d/prof.out"
end

begin "no sample carries a span that was not current"
settings="OTELPROF_CPU_HZ=1000 OTELPROF_TIMESTAMPS=true OTELPROF_THREAD_ATTRIBUTES=id OTELPROF_HEAP_INTERVAL=4k"
prof "$programs/spans" 5 "$d/log"
equal "exit status" 0 "$status"
strict
compare log "$d/log"
[ -z "${VERBOSE:-}" ] || cat "$d/compared"
end
finish
