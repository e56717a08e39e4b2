#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rates that change while samples are taken, by request and by the budget: sums stay true, and each profile says with
# which period its samples were taken.
. "$(dirname "$0")/../common.sh"
. "$here/rig.sh"
host actor -I"$top"

# Every (type, period) of the profiles so far, each once.
periods() {
    # shellcheck disable=SC2046
    "$python" - "$1" $(files) << EOF
import sys
sys.path.insert(0, "$top/tests")
import judge
print(" ".join(str(n) for n in sorted({p.period for f in sys.argv[2:] for p in judge.File(f).profiles if p.type == sys.argv[1]})))
EOF
}

# samples times period is the value, in each profile by itself
consistent() {
    # shellcheck disable=SC2046
    "$python" - $(files) << EOF || bad "samples times period is not the CPU time in some profile"
import collections, sys
sys.path.insert(0, "$top/tests")
import judge
looked = 0
for f in sys.argv[1:]:
    both = collections.defaultdict(dict)
    for p in judge.File(f).profiles:
        if p.type in ("samples", "cpu"):
            both[p.period][p.type] = p.total()
    for period, totals in both.items():
        assert totals["samples"] * period == totals["cpu"], (period, totals)
        looked += 1
sys.exit(looked == 0)
EOF
}

# end_of_threads NS: ends the play; the profile has the time of its threads by their own clocks, to NS.
end_of_threads() {
    act join
    curtain
    strict
    consistent
    got=$(judge site cpu busy $(files))
    between "CPU time of the threads" $((answer - $1)) $((answer + $1)) "$got"
    echo "    CPU time: threads $answer, profile $got"
}

begin "CPU time over thirty changes of the period agrees with the threads' own clocks"
play OTELPROF_CONTROL=true OTELPROF_CPU_HZ=100 OTELPROF_HEAP=false
act threads 4
for round in 1 2 3 4 5; do
    for hz in 100 25 400 10 1000 50; do
        ctl_ok set cpu-hz=$hz
        act burn a 20
    done
done
# Each thread and each change round by chance, by at most half a period of 40 ms or 100 ms on the slow side: 4 sigma of
# four threads and ten such changes.
end_of_threads 900000000
equal "periods" "1000000 2500000 10000000 20000000 40000000 100000000" "$(periods cpu)"
end

begin "a hundred changes do not move the sum: fine periods, where chance is small"
play OTELPROF_CONTROL=true OTELPROF_CPU_HZ=1000 OTELPROF_HEAP=false
act threads 2
for round in 1 2 3 4 5 6 7 8 9 10; do
    for hz in 500 1000 700 900 600 1000 800 500 900 1000; do
        $python "$here/ask.py" say "$pid" "set cpu-hz=$hz" > said
        grep -q ok said || bad "set cpu-hz=$hz: $(cat said)"
    done
done
# A hundred roundings of at most 2 ms in each of two threads: 1 sigma is 0.6 ms a rounding, 8.5 ms in all.
end_of_threads 40000000
end

begin "bytes over changes of the heap interval agree with what was allocated"
play OTELPROF_CONTROL=true OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=512k
sum=0
for interval in 512k 4k 64k 1 1m 16k; do
    ctl_ok set heap-interval=$interval
    act alloc b 100000 1000; sum=$((sum + answer))
done
curtain
strict
# 1 sigma: sqrt(100 MB * interval) each; 1 MiB and 512 KiB give nearly all of it, 12.5 MB.
between "bytes" $((sum - 50000000)) $((sum + 50000000)) "$(judge site alloc_space alloc_b $(files))"
echo "    bytes: allocated $sum, profile $(judge site alloc_space alloc_b $(files))"
equal "what is exact among it" 1 "$(periods alloc_space | tr ' ' '\n' | grep -c '^1$')"
[ "$(periods alloc_space | wc -w)" -ge 5 ] || bad "periods: $(periods alloc_space)"
end

begin "gaps so long that they are walked in pieces"
play OTELPROF_CONTROL=true OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=16m
act alloc a 100000 100000; sum=$answer
ctl_ok set heap-interval=48m
act alloc a 100000 100000; sum=$((sum + answer))
curtain
strict
# 10 GB at 16 MiB and at 48 MiB: 1 sigma is 410 MB and 710 MB, 820 MB in all.
between "bytes" $((sum - 3280000000)) $((sum + 3280000000)) "$(judge site alloc_space alloc_a $(files))"
echo "    bytes: allocated $sum, profile $(judge site alloc_space alloc_a $(files))"
end

begin "live blocks stay live, and are freed, over a change of how samples are told"
cat > live.py << 'EOF'
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
kept = []
def more(n, size):
    for _ in range(n):
        kept.append(libc.malloc(size))
print("ready", flush=True)
for line in sys.stdin:
    word = line.split()
    if word[0] == "more":
        more(int(word[1]), int(word[2]))
    else:
        for p in kept:
            libc.free(p)
        kept.clear()
    print("done", flush=True)
EOF
mkfifo in
env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%n.otlp" OTELPROF_CONTROL=true OTELPROF_CPU=false \
    "$python" -u live.py < in > out 2> err &
pid=$!
pids="$pids $pid"
exec 3> in
said() { [ "$(wc -l < out)" -ge "$1" ]; }
wait_for 60 said 1
echo "more 4000 10000" >&3
wait_for 60 said 2
ctl_ok set heap-interval=1
# Its present gap was drawn at 512 KiB and ends within 4 MiB; from there on each block is sampled.
echo "more 10000 1000" >&3
wait_for 60 said 3
ctl_ok status
samples=$(value heap live)
ctl_ok flush
equal "profiles of what is live, in one flush" 1 "$(judge profiles "$p/0.otlp" | grep -c inuse_space)"
[ "$(judge profiles "$p/0.otlp" | grep -c alloc_space)" -ge 2 ] || bad "what was allocated is told with one interval only"
[ "$samples" -gt 5000 ] || bad "only $samples live samples"
ctl_ok set heap-interval=512k
echo "free" >&3
wait_for 60 said 4
ctl_ok status
[ "$(value heap live)" -lt "$((samples - 5000))" ] || bad "live samples: $samples before, $(value heap live) after all was freed"
exec 3>&-
wait "$pid"
equal "exit status" 0 $?
strict
end

begin "seventeen intervals are one too many, and that is told"
play OTELPROF_CONTROL=true OTELPROF_CPU_BUDGET=100%
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    ctl_ok set heap-interval=$((i * 1000))
done
ctl set heap-interval=99999
equal "exit status" 3 "$ctl_status"
one_line ctl.err "16 different heap intervals"
ctl_ok set heap-interval=512k
ctl_ok status
equal "interval" 524288 "$(value heap interval_bytes)"
curtain
end

begin "over the budget the rates go down, and the profile says by how much"
play OTELPROF_CONTROL=true OTELPROF_CPU_HZ=100 OTELPROF_HEAP_INTERVAL=2k OTELPROF_CPU_BUDGET=0.5%
sum=0
lower() { ctl status && [ "$(value cost halvings)" -ge 3 ]; }
for i in $(seq 60); do # the budget is looked at now and then: on a fast machine after many of them
    act alloc a 400000 1000; sum=$((sum + answer))
    ! lower || break
done
act alloc a 400000 1000; sum=$((sum + answer)) # at the rates that it has now
lower || bad "halvings: $(value cost halvings), recent cost $(value cost recent_ppm) ppm"
[ "$(value cpu period_ns)" -ge 80000000 ] || bad "the period is $(value cpu period_ns) ns"
[ "$(value heap interval_bytes)" -ge 16384 ] || bad "the interval is $(value heap interval_bytes)"
equal "what was asked for" 100 "$(value cpu wanted_hz)"
wait_for 10 log_says "over the CPU budget" || bad "the log does not say so"
curtain
strict
consistent
[ "$(periods cpu | wc -w)" -ge 1 ] || bad "no CPU profile"
[ "$(periods alloc_space | wc -w)" -ge 2 ] || bad "one period only: $(periods alloc_space)"
between "bytes" $((sum - sum / 50)) $((sum + sum / 50)) "$(judge site alloc_space alloc_a $(files))"
end

begin "many short threads, each with its first samples, stay within the usual budget"
cp "$hosts/preload/burn" "$d/burn" 2> /dev/null || ${CC:-gcc} -O1 -o "$d/burn" "$top/tests/preload/burn.c" -pthread
for i in 1 2 3; do
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/burn-$i.otlp.gz" OTELPROF_CPU_BUDGET=1% OTELPROF_CPU_HZ=1000 \
        OTELPROF_INTERVAL=200ms "$d/burn" 4 64
    equal "exit status" 0 "$?"
done
strict
equal "period" 1000000 "$(periods cpu)"
end

begin "an interval of 1 is exact whatever it costs, and that does not lower the CPU rate"
play OTELPROF_CONTROL=true OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_BUDGET=20%
sum=0
for i in 1 2 3 4 5; do
    act alloc a 400000 10; sum=$((sum + answer))
done
ctl_ok status
equal "halvings" 0 "$(value cost halvings)"
equal "period" 10000000 "$(value cpu period_ns)"
[ "$(value cost allocations_ns)" -gt 100000000 ] || bad "allocations cost $(value cost allocations_ns) ns"
[ "$(value cost cpu_ns)" -lt "$(value cost process_cpu_ns)" ] || bad "it costs more than there was"
curtain
strict
equal "bytes" "$sum" "$(judge site alloc_space alloc_a $(files))"
equal "interval" 1 "$(periods alloc_space)"
end

finish
