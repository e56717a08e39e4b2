#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: what is written opens in readers that nobody here wrote, and what others wrote is read, with equal totals:
# go tool pprof, google/pprof's current module, google-pprof, the npm packages pprof-format and speedscope, the Collector's
# pdata; profiles of the Go runtime, of gperftools, jemalloc and async-profiler, the test data of google/pprof.
. "$(dirname "$0")/../common.sh"
suite=readers
judge="$python $top/tests/judge.py"
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/otelprof" "${build#"$top"/}/libotelprof.so" > "$work/make.out" 2>&1 || {
    tail -n 5 "$work/make.out"
    exit 1
}
# Node may be here from elsewhere, and then the distribution's packages of it do not go with it.
for package in chromium graphviz $(command -v npm > /dev/null || echo nodejs npm) google-perftools libgoogle-perftools4 libjemalloc2 libjemalloc-dev; do
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
    # What the command `web` shows: a picture, and, as it is today, pages.
    if need dot; then
        go tool pprof -svg -output=out.svg -sample_index=cpu "$work/x.pb" > out 2> err || bad "-svg: $(tail -n 1 err)"
        grep -q '>burn<' out.svg || bad "burn is not in the picture: $(grep -m 3 '<text' out.svg)"
    fi
    "$python" "$here/pages.py" cpu burn "$work/x.pb" > out 2>&1 || bad "-http: $(tail -n 1 out)"
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
    # The file itself says the same.
    equal "samples of the file itself" "$said" "$("$tool" convert -o d.otlp cpu.prof 2> err; $judge totals d.otlp | sed -n 's/^samples //p')"
    equal "its totals" "$($judge totals c.otlp | sort)" "$($judge totals d.otlp | sort)"
    "$tool" symbolize -o named.otlp cpu.prof 2> err || bad "symbolize: $(head -n 1 err)"
    $judge flat cpu named.otlp | grep -q ' burn$' || bad "burn is not in it: $($judge flat cpu named.otlp | head -n 3)"
    HEAPPROFILE=$d/heap LD_PRELOAD=$heap "$python" -c 'x = [bytes(1000 + i % 9) for i in range(60000)]' 2> err
    first=$(ls heap.*.heap 2> /dev/null | head -n 1)
    [ -n "$first" ] || bad "no heap profile: $(tail -n 2 err)"
    "$readers" proto "$first" heap.pb || bad "google/pprof does not read the heap profile"
    reads "gperftools' heap profile" heap.pb
    "$tool" convert -o e.otlp heap.pb 2> err
    "$tool" convert -o f.otlp "$first" 2> err || bad "the heap profile itself: $(head -n 1 err)"
    equal "totals of the heap profile itself" "$($judge totals e.otlp | sort)" "$($judge totals f.otlp | sort)"
fi
end

# perl OPTIONS FILE: functions by flat value as google-pprof has them, and its total, of the program in $program.
perl_flat() {
    # shellcheck disable=SC2086
    google-pprof --text $1 "$program" "$2" 2> perl.err | awk '/^Total:/ { next } $1 > 0 { print $1, $6 }' | sort
}
perl_total() {
    # shellcheck disable=SC2086
    google-pprof --text $1 "$program" "$2" 2> perl.err | sed -n 's/^Total: \([0-9]*\) .*/\1/p'
}

begin "google-pprof opens what is written: totals and functions are ours, found by itself in the program"
if need google-pprof go; then
    ${CC:-gcc} -O1 -o blocks "$here/blocks.c" || bad "it does not compile"
    program=$d/blocks
    OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=1 OTELPROF_OUTPUT="file:$d/b.otlp" LD_PRELOAD=$lib "$program"
    "$tool" convert -o b.prof b.otlp 2> err || bad "convert: $(head -n 1 err)"
    "$tool" convert -o b.heap b.otlp 2> err || bad "convert: $(head -n 1 err)"
    $judge totals b.otlp | sort > sums
    sum() { sed -n "s/^$1 //p" sums; }
    period=$("$python" -c 'import struct; print(struct.unpack("<5Q", open("b.prof", "rb").read(40))[3])')
    equal "CPU time in ns, to a microsecond" "$((($(sum cpu) + 500) / 1000))" "$(($(perl_total "" b.prof) * period))"
    for type in alloc_space inuse_space alloc_objects inuse_objects; do
        bytes=--show_bytes
        equal "$type" "$(sum $type)" "$(perl_total "$bytes --$type" b.heap)"
        grep -q Adjusting perl.err && bad "$type is scaled: $(cat perl.err)"
    done
    # Of the program's own functions: what is known of the C library's is not the same everywhere.
    for type in alloc_space inuse_space; do
        $judge flat $type b.otlp | grep -E ' (keep|pass|grow)$' | sort > mine
        perl_flat "--show_bytes --$type" b.heap | grep -E ' (keep|pass|grow)$' > theirs
        same_file mine theirs "functions by $type"
        [ "$(wc -l < mine)" -ge 2 ] || bad "functions by $type: $(cat mine)"
    done
    $judge flat cpu b.otlp | awk '$2 ~ /^(first|second)$/ { printf "%d %s\n", $1 / 1000000, $2 }' | sort > mine
    perl_flat "" b.prof | grep -E ' (first|second)$' | awk -v p="$period" '{ printf "%d %s\n", $1 * p / 1000, $2 }' | sort > theirs
    same_file mine theirs "functions by cpu, in ms"
    equal "functions of the program that used CPU time" 2 "$(wc -l < mine)"
    google-pprof --text --lines --cum "$program" b.prof 2> err | grep -q ' [0-9]* *[0-9.]*% main' || bad "main is in no stack"
    # The program may lie elsewhere, and then has its names.
    cp blocks moved
    program=$d/moved
    perl_flat "" b.prof | grep -E ' (first|second)$' | awk -v p="$period" '{ printf "%d %s\n", $1 * p / 1000, $2 }' | sort > theirs
    same_file mine theirs "functions, with a copy of the program"
    # Both are read by Go's tool as well.
    "$readers" proto b.prof b.cpu.pb && "$readers" proto b.heap b.heap.pb || bad "google/pprof reads them not"
    equal "google/pprof's total of CPU time" "$((($(sum cpu) + 500) / 1000 * 1000))" "$("$readers" pprof b.cpu.pb | sed -n 's|^cpu.* \([0-9]*\)$|\1|p')"
    for type in alloc_space inuse_space alloc_objects inuse_objects; do
        equal "google/pprof's $type" "$(sum $type)" "$("$readers" pprof b.heap.pb | sed -n "s|^$type.* \([0-9]*\)\$|\1|p")"
    done
    go tool pprof -top -sample_index=cpu "$program" b.prof > out 2> err || bad "go tool pprof: $(tail -n 1 err)"
    grep -q '^Showing nodes accounting for [1-9]' out || bad "go tool pprof: $(head -n 4 out)"
fi
end

begin "a heap profile of jemalloc, which took samples of it, has the totals that jeprof finds"
jemalloc=$(find /usr/lib -name libjemalloc.so.2 2> /dev/null | head -n 1)
if [ -z "$jemalloc" ]; then
    skip "jemalloc is not installed"
elif need jeprof perl; then
    MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:$d/je LD_PRELOAD=$jemalloc \
        perl -e 'my @x = map { "a" x $_ } 1 .. 3000; my %h; $h{$_} = [$_] for 1 .. 20000;' 2> err
    given=$(ls je.*.heap 2> /dev/null | head -n 1)
    [ -n "$given" ] || bad "no heap profile: $(tail -n 2 err)"
    "$tool" convert -o je.otlp "$given" 2> err || bad "it is not read: $(head -n 1 err)"
    for type in inuse_objects inuse_space; do # of sums of fractions jeprof shows the whole part
        said=$(jeprof --text --show_bytes --$type "$(command -v perl)" "$given" 2> /dev/null | sed -n 's/^Total: \([0-9]*\) .*/\1/p')
        [ "${said:-0}" -gt 500 ] || bad "jeprof sees ${said:-no} $type"
        between "$type" "$said" $((said + 1)) "$($judge totals je.otlp | sed -n "s/^$type //p")"
    done
    "$tool" check je.otlp > out || bad "check: $(head -n 2 out)"
fi
end

# identical FILE: pprof, by way of OTLP and of OTEP-0239, is what it was, as another program shows it.
identical() {
    "$python" "$top/tests/tool/pprof_text.py" show "$1" > before
    [ -s before ] || bad "$1 has no content"
    for way in otlp jsonl otep239; do
        rm -f way.* after.pb
        "$tool" convert -o way.$way "$1" 2> err && "$tool" convert -o after.pb way.$way 2> err || bad "$1 by $way: $(head -n 1 err)"
        "$python" "$top/tests/tool/pprof_text.py" show after.pb > after
        cmp -s before after || bad "$1 by $way is something else: $(diff before after | head -n 3 | cut -c 1-200)"
    done
}

begin "the test data of google/pprof and the Go compiler's own profile: equal totals, and the same by way of each format"
if need go; then
    data=$(cd "$here/go" && go list -m -f '{{.Dir}}' github.com/google/pprof)
    looked=0
    for file in "$data"/profile/testdata/* "$data"/internal/driver/testdata/cppbench* "$data"/internal/driver/testdata/go.* \
        "$(go env GOROOT)/src/cmd/compile/default.pgo" "$(go env GOROOT)"/src/cmd/compile/internal/test/testdata/pgo/*/*.pprof; do
        case $file in *.string) continue ;; esac
        rm -f given.pb
        "$readers" proto "$file" given.pb 2> err || continue # a map of threads, for the tests of google/pprof
        reads "$file" given.pb
        identical given.pb
        looked=$((looked + 1))
    done
    [ $looked -ge 20 ] || bad "only $looked files"
fi
end

begin "files that other projects keep for their tests"
others=${OTHER_PROFILES:-$top/../shared/profiles}
if [ ! -d "$others" ]; then
    skip "they are not here: OTHER_PROFILES names their folder"
elif need go; then
    looked=0
    for file in "$others"/*.pb "$others"/*.pb.gz; do
        [ -f "$file" ] || continue
        reads "$file" "$file"
        identical "$file"
        looked=$((looked + 1))
    done
    [ $looked -ge 5 ] || bad "only $looked files"
    "$tool" convert -o old.otlp "$others/sig-profiling.profile.otlp" || bad "OTLP of an earlier wire: exit status $?"
    equal "observations in OTLP of proto 1.8" 189 "$($judge totals old.otlp | awk '$1 == "samples" { n += $2 } END { print n }')"
fi
end

# Versions of it wrote OTLP of proto 1.7 and of 1.9, with lists that are not packed.
begin "async-profiler: what it writes as OTLP is what it writes as text, stack by stack"
if need java javac mvn; then
    jars=$build/tests/readers/java
    mkdir -p "$jars"
    looked=0
    for version in 4.1 4.2 4.4; do
        jar=$jars/async-profiler-$version.jar
        [ -f "$jar" ] || (cd "$d" && mvn -q -B dependency:copy -Dartifact=tools.profiler:async-profiler:$version:jar \
            -DoutputDirectory="$jars") > mvn.out 2>&1 || bad "Maven: $(grep -m 1 ERROR mvn.out)"
        "$python" -m zipfile -e "$jar" $version && javac -cp "$jar" -d $version "$here/java/Burn.java" 2> err || bad "$(head -n 2 err)"
        for what in event=itimer,interval=1ms event=itimer,interval=1ms,threads event=alloc,alloc=10k; do
            rm -f out.*
            java -cp "$jar:$version" Burn "$d/$version/linux-x64/libasyncProfiler.so" $what out 2>&1 | head -n 3 > said
            [ -s out.otlp ] && [ -s out.collapsed ] || { bad "$version, $what: $(tail -n 1 said)"; continue; }
            case $version,$what in
            4.1,* | 4.2,*,threads) # its string table begins with a name; its stacks are said to be one frame longer than they are
                "$tool" info out.otlp > info 2> err
                equal "exit status for what $version writes" 3 $?
                one_line err "proto 1.7"
                continue
                ;;
            esac
            # The thread is the first name of a line, or an attribute.
            sed 's/^\[[^];]* tid=[0-9]*\];//' out.collapsed | awk '{ n = $NF; $NF = ""; sum[$0] += n } END { for (s in sum) print s sum[s] }' |
                sort > want
            "$tool" flame -t "$("$tool" info out.otlp | sed -n 's|^ *\[0\] \([^/]*\)/.*|\1|p')" -o out.folded out.otlp 2> err || bad "$(head -n 1 err)"
            sort out.folded > have
            cmp -s want have || bad "$version, $what: $(diff want have | head -n 4 | cut -c 1-300)"
            [ -s want ] || bad "$version, $what: nothing was seen"
            case $what in
            *threads)
                "$tool" convert -o new.otlp out.otlp
                sed -n 's/^\(\[[^];]* tid=[0-9]*\]\);.* \([0-9]*\)$/\2 \1/p' out.collapsed |
                    awk '{ n = $1; $1 = ""; sum[$0] += n } END { for (s in sum) print sum[s] s }' | sort > want
                $judge by thread.name itimer new.otlp | sort > have
                same_file want have "threads of $version"
                grep -q '\[lefty tid=' have || bad "threads: $(cat have)"
                ;;
            esac
            looked=$((looked + 1))
        done
    done
    [ $looked = 5 ] || bad "$looked files were read"
fi
end
finish
