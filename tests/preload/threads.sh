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
    settings="OTELPROF_CPU_HZ=$hz OTELPROF_HEAP=false"
    rm -f "$p"/*
    prof "$host" 200 8
    equal "exit status" 0 "$status"
    strict
    # Nine threads of 200 ms; each is right to a period.
    between "milliseconds at $hz Hz" $((1800 - 9000 / hz - 50)) $((1900 + 9000 / hz + 50)) \
        "$(($(judge totals $(files burn) | sed -n 's/^cpu //p') / 1000000))"
    has_function cpu burn_here $(files burn)
done
end

begin "sleeping threads have no CPU time"
script='import threading, time
for i in range(50): threading.Thread(target=time.sleep, args=(1.5,)).start()'
bare "$python" -c "$script"
prof "$python" -c "$script"
equal "exit status" 0 "$status"
cpu_time_is_right
end
finish
