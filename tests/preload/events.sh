#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# events.sh: perf events where they cost too much. The worker has their descriptors, in a table of its own.
. "$(dirname "$0")/../common.sh"

host burn
host_burn=$host
host waits
host_waits=$host

events_are() { # exactly $1 in process $pid
    worker=$(grep -lx otelprof /proc/"$pid"/task/*/comm) || return 1
    [ "$(find "${worker%comm}fd" -lname '*perf_event*' | wc -l)" = "$1" ]
}

# Milliseconds of CPU time that all threads of $pid have used.
used_are() { # more than $1
    ticks=$(awk '{ n += $14 + $15 } END { print n }' /proc/"$pid"/task/*/stat)
    [ $((ticks * 1000 / $(getconf CLK_TCK))) -gt "$1" ]
}

begin "what a tick of a perf event costs decides, unless one is asked for"
settings="OTELPROF_CPU_HZ=1000 OTELPROF_HEAP=false OTELPROF_CPU_ENGINE=perf"
prof "$host_burn" 100
engine=$(judge note-of cpu otelprof.cpu.engine $(files burn))
equal "exit status" 0 "$status"
strict
if [ "$engine" = perf ]; then
    # 1 % of 1 ms is 10 us, for the kernel's part and the signal.
    for budget in 0.01% 1% 100%; do
        rm -f "$p"/*
        settings="OTELPROF_CPU_HZ=1000 OTELPROF_HEAP=false OTELPROF_CPU_BUDGET=$budget OTELPROF_LOG=info"
        prof "$host_burn" 100
        cost=$(sed -n 's/.*a tick of a perf event costs \([0-9]*\) ns.*/\1/p' "$d/prof.err")
        between "nanoseconds of a tick" 100 1000000 "$cost"
        case $budget in 0.01%) most=100 ;; 1%) most=10000 ;; *) most=1000000 ;; esac
        wanted=perf
        [ $((cost + 2300)) -le $most ] || wanted=timer
        grep -q "timers tick alone" "$d/prof.err" && said=timer || said=perf
        equal "engine that was said, at $budget and $cost ns" $wanted $said
        equal "engine" $wanted "$(judge note-of cpu otelprof.cpu.engine $(files burn))"
        strict
    done
else
    skip "no perf events here"
fi
end

begin "a thread that waits all the time has no event until it does not"
if [ "$engine" = perf ]; then
    mkfifo orders
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" OTELPROF_CPU_HZ=1000 OTELPROF_CPU_ENGINE=perf OTELPROF_HEAP=false \
        TRUTH="$d/truth" "$host_waits" < orders > out 2> err &
    pid=$!
    pids="$pids $pid"
    exec 9> orders
    wait_for 60 used_are 400 || bad "the threads do nothing"
    wait_for 60 events_are 1 || bad "threads that wait have events; the first thread alone should"
    echo burn >&9
    wait_for 60 events_are 3 || bad "threads that burn have no events"
    echo end >&9
    exec 9>&-
    wait "$pid"
    equal "exit status" 0 $?
    equal "standard output" ended "$(cat out)"
    strict
    for function in wait_in_turns burn_alone; do
        spent=$(truth $function)
        between "milliseconds in $function" $((spent - 30)) $((spent + 30)) "$(($(judge site cpu $function $(files waits)) / 1000000))"
    done
else
    skip "no perf events here"
fi
end

finish
