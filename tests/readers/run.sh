#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: what is written opens in readers that nobody here wrote, and what others wrote is read, with equal totals:
# go tool pprof, google/pprof's current module, google-pprof, the npm packages pprof-format and speedscope, the Collector's
# pdata; profiles of the Go runtime and of gperftools.
. "$(dirname "$0")/../common.sh"
suite=readers
judge="$python $top/tests/judge.py"
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/otelprof" "${build#"$top"/}/libotelprof.so" > "$work/make.out" 2>&1 || {
    tail -n 5 "$work/make.out"
    exit 1
}
# Node may be here from elsewhere, and then the distribution's packages of it do not go with it.
for package in chromium $(command -v npm > /dev/null || echo nodejs npm) google-perftools libgoogle-perftools4; do
    sh "$top/tools/dev/apt_packages.sh" $package > "$work/apt.out" 2>&1 || tail -n 2 "$work/apt.out"
done
mkdir -p "$build/tests/readers"
readers=$build/tests/readers/readers
packages=$build/tests/readers/node_modules
if command -v go > /dev/null; then
    (cd "$here/go" && go build -p 2 -trimpath -o "$readers" .) > "$work/go.log" 2>&1 || {
        tail -n 5 "$work/go.log"
        begin "the readers in Go build"
        bad "they do not"
        end
    }
fi
if command -v npm > /dev/null; then
    cp "$here/node/package.json" "$here/node/totals.js" "$build/tests/readers/"
    (cd "$build/tests/readers" && npm install --silent --no-audit --no-fund --no-package-lock) > "$work/npm.log" 2>&1 || tail -n 3 "$work/npm.log"
fi

# One program, both formats from the same flush.
${CC:-gcc} -O1 -o "$work/threads" "$top/tests/browser/threads.c" -pthread || exit 1
OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=1 OTELPROF_OUTPUT="file:$work/x.otlp,file:$work/x.pb" LD_PRELOAD=$lib "$work/threads"
$judge totals "$work/x.otlp" | sort > "$work/truth"
begin "the profile that all are asked about has values of each type"
between "types" 4 6 "$(awk '$2 != 0' "$work/truth" | wc -l)"
end
units() { awk '{ print $1, $3 }' | sort; } # of type, unit, total
flat() { $judge flat "$1" "$work/x.otlp" | sort; }

begin "google/pprof's module"
if need go; then
    equal "totals" "$(cat "$work/truth")" "$("$readers" pprof "$work/x.pb" | units)"
    for type in cpu alloc_space; do
        equal "functions by $type" "$(flat $type)" "$("$readers" flat $type "$work/x.pb" | sort)"
    done
    "$tool" convert -o y.pb.zst "$work/x.otlp" 2> err
    "$tool" convert -o y.pb y.pb.zst 2> err
    equal "totals after a conversion" "$(cat "$work/truth")" "$("$readers" pprof y.pb | units)"
    "$tool" symbolize -o z.pb "$work/x.otlp" 2> err
    equal "totals after symbolize" "$(cat "$work/truth")" "$("$readers" pprof z.pb | units)"
fi
end

begin "go tool pprof"
if need go; then
    while read -r type sum; do
        raw=$(go tool pprof -sample_index="$type" -raw "$work/x.pb" 2> err | awk -v type="$type" '
            /^[a-z_]+\/[a-z]+( |$|\[)/ { for (i = 1; i <= NF; i++) if ($i ~ "^" type "/") at = i }
            /^ *-?[0-9]/ && at && !done { split($0, half, ":"); split(half[1], v, " "); sum += v[at] }
            /^Locations/ { done = 1 }
            END { printf "%.0f", sum }')
        equal "-raw of $type" "$sum" "$raw"
    done < "$work/truth"
    for report in top tree traces dot "peek=burn" "list=burn" proto; do
        go tool pprof -"$report" -sample_index=cpu "$work/x.pb" > "out" 2> err || bad "-$report: $(tail -n 1 err)"
        [ -s out ] || bad "-$report prints nothing"
    done
    go tool pprof -top -sample_index=cpu "$work/x.pb" > top 2> /dev/null
    grep -q ' burn' top || bad "burn is not in: $(head -n 8 top)"
    go tool pprof -top -diff_base "$work/x.pb" -sample_index=cpu "$work/x.pb" > out 2> err || bad "-diff_base: $(tail -n 1 err)"
    grep -q 'Showing nodes accounting for 0' out || bad "a difference to itself: $(head -n 4 out)"
    go tool pprof -tags "$work/x.pb" > out 2> err
    grep -q lefty out || bad "no thread names in -tags: $(head -n 5 out)"
fi
end

begin "the Collector's pdata"
if need go; then
    equal "totals" "$(cat "$work/truth")" "$("$readers" otlp "$work/x.otlp" | units)"
    "$tool" convert -o x.jsonl "$work/x.otlp"
    equal "totals of JSON" "$(cat "$work/truth")" "$("$readers" otlp x.jsonl | units)"
    "$tool" convert -o from.otlp "$work/x.pb" 2> err
    equal "totals from pprof" "$(cat "$work/truth")" "$("$readers" otlp from.otlp | units)"
fi
end

begin "pprof-format of npm"
if need node npm; then
    if [ -d "$packages/pprof-format" ]; then
        equal "totals" "$(cat "$work/truth")" "$(node "$build/tests/readers/totals.js" "$work/x.pb" | units)"
    else
        bad "npm could not install it"
    fi
fi
end

begin "speedscope in a browser"
if need chromium npm; then
    if [ -d "$packages/speedscope" ]; then
        cp "$work/x.pb" shown.pb
        "$python" "$here/speedscope.py" "$packages/speedscope" shown.pb > out 2>&1 || bad "it shows: $(tail -n 2 out)"
    else
        bad "npm could not install it"
    fi
fi
end

# reads NAME FILE: our totals of somebody's file are those of google/pprof.
reads() {
    "$tool" convert -o ours.otlp "$2" 2> err || bad "$1: exit status $? $(head -n 1 err)"
    "$readers" pprof "$2" | units | awk '$2 != 0' > theirs
    $judge totals ours.otlp | sort | awk '$2 != 0' > mine
    equal "totals of $1" "$(cat theirs)" "$(cat mine)"
    [ -s theirs ] || bad "$1 is empty"
    rm -f ours.otlp
}

begin "profiles of the Go runtime"
if need go; then
    "$readers" write . || bad "exit status $?"
    for kind in cpu heap allocs goroutine block mutex; do
        reads "$kind" go-$kind.pb.gz
        "$tool" top --json go-$kind.pb.gz > top || bad "top of $kind: exit status $?"
    done
    equal "functions of cpu" "$("$readers" flat cpu go-cpu.pb.gz | sort)" \
        "$("$tool" convert -o c.otlp go-cpu.pb.gz 2> /dev/null; $judge flat cpu c.otlp | sort)"
    [ "$($judge by worker cpu c.otlp | grep -c '^[1-9][0-9]* [0-3]$')" = 4 ] || bad "labels: $($judge by worker cpu c.otlp)"
    "$tool" convert -o back.pb go-cpu.pb.gz
    equal "and back" "$("$readers" pprof go-cpu.pb.gz)" "$("$readers" pprof back.pb)"
fi
end

begin "profiles of gperftools, by way of google/pprof; google-pprof's own totals"
libs=$(find /usr/lib -name 'libprofiler.so.0' -o -name 'libtcmalloc.so.4' 2> /dev/null | sort)
if [ "$(echo "$libs" | wc -l)" != 2 ]; then
    skip "the libraries of gperftools are not installed"
elif need go google-pprof; then
    profiler=$(echo "$libs" | grep profiler)
    heap=$(echo "$libs" | grep tcmalloc)
    CPUPROFILE=$d/cpu.prof CPUPROFILE_FREQUENCY=1000 LD_PRELOAD=$profiler "$work/threads" 2> err
    "$readers" proto cpu.prof cpu.pb || bad "google/pprof does not read the CPU profile"
    reads "gperftools' CPU profile" cpu.pb
    said=$(google-pprof --text "$work/threads" cpu.prof 2> /dev/null | sed -n 's/^Total: \([0-9]*\) samples/\1/p')
    [ "${said:-0}" -gt 10 ] || bad "google-pprof sees ${said:-no} samples"
    equal "google-pprof's samples" "$said" "$("$tool" convert -o c.otlp cpu.pb 2> /dev/null; $judge totals c.otlp | sed -n 's/^samples //p')"
    "$tool" info cpu.prof > out 2> err
    equal "exit status for the older format itself" 3 $?
    one_line err gperftools
    HEAPPROFILE=$d/heap LD_PRELOAD=$heap "$python" -c 'x = [bytes(1000 + i % 9) for i in range(60000)]' 2> err
    first=$(ls heap.*.heap 2> /dev/null | head -n 1)
    [ -n "$first" ] || bad "no heap profile: $(tail -n 2 err)"
    "$readers" proto "$first" heap.pb || bad "google/pprof does not read the heap profile"
    reads "gperftools' heap profile" heap.pb
fi
end
finish
