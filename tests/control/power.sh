#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dormant, started, stopped: by the program, by a signal; and that what comes out is what was on meanwhile.
. "$(dirname "$0")/../common.sh"
. "$here/rig.sh"
host actor -I"$top"

# near WHAT TRUTH ALLOWED MEASURED
near() {
    between "$1" $(($2 - $3)) $(($2 + $3)) "${4:-0}"
}

sum() { # TYPE FUNCTION: in all profiles so far
    # shellcheck disable=SC2046
    judge site "$1" "$2" $(files)
}

begin "dormant from the start: no thread, no timer, no file, nothing said"
play OTELPROF_START=false OTELPROF_LOG=error
act burn a 200
act alloc a 20000 1000
act tasks; equal "threads" 1 "$answer"
act timers; equal "timers" 0 "$answer"
curtain
no_files
[ ! -s log ] || bad "something is in the log: $(head -n 2 log)"
[ ! -s err ] || bad "something on standard error: $(head -n 2 err)"
end

begin "only what is done between start and stop is in the profile, and all of it"
play OTELPROF_START=false OTELPROF_CPU_HZ=200 OTELPROF_HEAP_INTERVAL=16k
act burn a 300
act alloc a 20000 1000
does start
does start
act burn b 2000; cpu=$answer
act alloc b 400000 1000; bytes=$answer
does stop
does stop
act burn c 300
act alloc c 20000 1000
curtain
strict
equal "files" 1 "$(files | wc -l)"
near "CPU time in b" "$cpu" 30000000 "$(sum cpu site_b)"
# 400,000 blocks of 1001 bytes at one sample in 16 KiB: 1 sigma is 0.65 %; 4 of them.
near "bytes in b" "$bytes" $((bytes / 38)) "$(sum alloc_space alloc_b)"
for site in a c; do
    equal "CPU time in $site" 0 "$(sum cpu site_$site)"
    equal "bytes in $site" 0 "$(sum alloc_space alloc_$site)"
done
log_says "dormant in actor" || bad "the log does not say how it began"
log_says "sampling begins" || bad "the log does not say that it began"
log_says "sampling ends" || bad "the log does not say that it ended"
end

begin "with every allocation sampled it is so to the byte, from the first after the start to the last before the stop"
play OTELPROF_START=false OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=1
for round in 1 2 3; do
    act alloc a 5000 100
    does start
    act alloc b 5000 100
    does stop
done
curtain
strict
equal "files" 3 "$(files | wc -l)"
equal "bytes in a" 0 "$(sum alloc_space alloc_a)"
equal "bytes in b" 1500000 "$(sum alloc_space alloc_b)"
end

begin "threads that began while dormant are sampled from the start on"
play OTELPROF_START=false
act threads 3
act burn a 200
does start
act burn b 1500
does stop
act join
curtain
strict
[ "$(sum cpu busy)" -gt 200000000 ] || bad "threads of before have $(sum cpu busy) ns"
end

begin "a thread with an alternate stack too small for a tick that was set up while dormant"
play OTELPROF_START=false OTELPROF_CPU_HZ=1000
act small-stack
act burn a 100
does start
act burn b 1500
act join
curtain
strict
has_function cpu site_b $(files)
end

begin "a file at each stop, another start, and the flush between: they add up"
play OTELPROF_START=false OTELPROF_CPU_HZ=200
total=0
for round in 1 2 3; do
    does start
    act burn b 400; total=$((total + answer))
    does flush
    act burn b 400; total=$((total + answer))
    does stop
    act flush; equal "flush while stopped" 0 "$answer"
done
curtain
strict
[ "$(files | wc -l)" -ge 4 ] || bad "$(files | wc -l) files"
near "CPU time in b" "$total" 90000000 "$(sum cpu site_b)"
end

begin "stopped and started 10,000 times with ticks pending in five threads"
output=none play OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=4k
output=''
act threads 4
act toggles 10000
[ "${answer:-0}" -ge 9000 ] || bad "only $answer of 10000 rounds came true in time"
act join
curtain
end

begin "a signal starts and stops; the program does not see it"
play OTELPROF_START=false OTELPROF_TOGGLE_SIGNAL=USR2 OTELPROF_CPU_HZ=200
act burn a 100
kill -USR2 "$pid"
wait_for 10 log_says "sampling begins" || bad "the signal does not start it"
act burn b 500
kill -USR2 "$pid"
wait_for 10 log_says "sampling ends" || bad "the signal does not stop it"
act burn c 100
curtain
strict
has_function cpu site_b $(files)
equal "CPU time in a" 0 "$(sum cpu site_a)"
equal "CPU time in c" 0 "$(sum cpu site_c)"
end

begin "the signal comes 10,000 times, into five threads that use CPU time"
output=none play OTELPROF_TOGGLE_SIGNAL=RTMIN+3 OTELPROF_CPU_HZ=1000
output=''
act threads 4
"$python" -c '
import os, signal, sys
for i in range(10000):
    os.kill(int(sys.argv[1]), signal.SIGRTMIN + 3)
' "$pid"
act burn a 200
act join
curtain
end

begin "the program wants the signal for itself: it gets it, and the log says so"
play OTELPROF_START=false OTELPROF_TOGGLE_SIGNAL=USR1
act catch 10
kill -USR1 "$pid"
act caught
equal "signals that the program got" 1 "$answer"
does start
wait_for 10 log_says "OTELPROF_TOGGLE_SIGNAL" || bad "the log does not say that the signal is gone"
curtain
no_files
end

begin "a child of fork is as its parent was, and can be started on its own"
play OTELPROF_START=false OTELPROF_CPU_HZ=200
act fork; child=$answer
act burn a 100
does start
act burn b 500
curtain
strict
equal "files" 1 "$(files | wc -l)"
has_function cpu site_b $(files)
equal "CPU time in a" 0 "$(sum cpu site_a)"
files | grep -q "actor-$child" || bad "the file is not the child's: $(files)"
end

begin "a parent that was started stays so beside a child that stops"
play OTELPROF_START=false OTELPROF_CPU_HZ=200
does start
act burn a 300
act fork
does stop
act burn b 300
curtain
strict
has_function cpu site_a $(files)
equal "CPU time in b" 0 "$(sum cpu site_b)"
end

begin "a program that was stopped and becomes another one: that begins as the settings say"
play OTELPROF_CPU_HZ=200
does stop
act burn a 200
echo exec >&3
act burn b 400
curtain
strict
equal "CPU time in a" 0 "$(sum cpu site_a)"
has_function cpu site_b $(files)
end

finish
