#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# threads.sh: CPU time of threads, each counted once.
. "$(dirname "$0")/../common.sh"

begin "a thread that waits long for its first moment is counted once"
host late
settings="OTELPROF_CPU_HZ=1000 TRUTH=$d/truth"
bare "$host"
if [ "$bare_status" = 0 ]; then
    rm -f truth
    prof "$host"
    same
    strict
    burnt=$(truth late_burn)
    between "milliseconds in late_burn" $((burnt - 20)) $((burnt + 30)) "$(($(judge site cpu late_burn $(files late)) / 1000000))"
else
    skip "nothing can be traced here"
fi
end

begin "the same CPU time in every thread, at every rate"
host burn
for hz in 50 1000 5000; do
    settings="OTELPROF_CPU_HZ=$hz OTELPROF_HEAP=false TRUTH=$d/truth"
    rm -f "$p"/* truth
    prof "$host" 200 8
    equal "exit status" 0 "$status"
    strict
    # Nine threads of 200 ms; each is right to a period.
    burnt=$(truth burn_here)
    between "milliseconds at $hz Hz" $((burnt - 9000 / hz - 50)) $((burnt + 100 + 9000 / hz + 50)) \
        "$(($(judge totals $(files burn) | sed -n 's/^cpu //p') / 1000000))"
    has_function cpu burn_here $(files burn)
done
end

begin "time in system calls is counted once, also before there is an event for the thread"
host asks
settings="OTELPROF_CPU_HZ=1000 TRUTH=$d/truth"
bare "$host" 300 8
rm -f truth
prof "$host" 300 8
same
strict
burnt=$(truth ask)
between "milliseconds" $((burnt - 50)) $((burnt + 100)) "$(($(judge totals $(files asks) | sed -n 's/^cpu //p') / 1000000))"
end

host blocks
for hz in 100 1000 4000; do
    for which in SIGPROF all; do
        begin "time with blocked signals is counted once and leaves the time after it alone: $which, $hz"
        settings="OTELPROF_CPU_HZ=$hz OTELPROF_HEAP=false TRUTH=$d/truth"
        # shellcheck disable=SC2046
        prof "$host" $([ $which = SIGPROF ] || echo all)
        equal "exit status" 0 "$status"
        strict
        burnt=$(($(truth burn_open) + $(truth burn_blocked)))
        between "milliseconds" $((burnt - 25)) $((burnt + 35)) \
            "$(($(judge totals $(files blocks) | sed -n 's/^cpu //p') / 1000000))"
        burnt=$(truth burn_open)
        between "milliseconds in burn_open" $((burnt - 60)) $((burnt + 60)) \
            "$(($(judge site cpu burn_open $(files blocks)) / 1000000))"
        end
    done
done

host afterwards
for engine in "timer 100" "timer 1000" "perf 1000"; do
    begin "what runs when a thread has left its start routine: $engine"
    settings="OTELPROF_CPU_ENGINE=${engine% *} OTELPROF_CPU_HZ=${engine#* } TRUTH=$d/truth"
    bare "$host"
    rm -f truth
    prof "$host"
    same
    strict
    for function in burn_in_body burn_in_local burn_in_key burn_in_handler burn_in_main_key; do
        burnt=$(truth $function)
        between "milliseconds in $function" $((burnt - 30)) $((burnt + 30)) \
            "$(($(judge site cpu $function $(files afterwards)) / 1000000))"
    done
    end
done

host renamed
for type in cpu alloc_objects; do
    begin "a name that comes by a file is noticed within a second: $type"
    # Twelve flushes are more than two seconds of the worker's: it has looked in between.
    settings="OTELPROF_INTERVAL=200ms OTELPROF_CPU_HZ=500 OTELPROF_HEAP_INTERVAL=1"
    [ $type = cpu ] || settings="$settings OTELPROF_CPU=false"
    prof "$host" "$p" 12
    equal "exit status" 0 "$status"
    equal "standard output" renamed "$(cat "$d/prof.out")"
    strict
    # shellcheck disable=SC2046
    judge by thread.name $type $(files renamed) | cut -d ' ' -f 2 | sort > names
    for thread in renamed by-its-file main-by-file; do
        grep -qx "$thread" names || bad "no $type of $thread: $(tr '\n' ' ' < names)"
    done
    end
done

begin "sleeping threads have no CPU time"
script='import threading, time
for i in range(50): threading.Thread(target=time.sleep, args=(1.5,)).start()'
bare "$python" -c "$script"
prof "$python" -c "$script"
equal "exit status" 0 "$status"
cpu_time_is_right
end
finish
