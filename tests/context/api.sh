#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# api.sh: a program with otelprof.h, in every way it may be compiled: without the library, with it, beside another
# preloaded library.
. "$(dirname "$0")/../common.sh"

trace=a1a200000000000000000000000000af
programs=$hosts/$suite_folder
mkdir -p "$programs"

# compile NAME COMMAND...: api.c into $programs/NAME
compile() {
    host=$programs/$1
    shift
    "$@" -D_GNU_SOURCE -Wall -Wextra -Werror -I"$top" -o "$host" "$here/api.c" -pthread > "$d/compiler" 2>&1 || {
        bad "does not compile: $* $(head -n 3 "$d/compiler")"
        return 1
    }
}

told() { # WHAT: judge's answer about the CPU profile
    # shellcheck disable=SC2046
    judge "$@" $(files) > "$d/told"
}

# took NAME LINE-END: the value of that line is what the program's own clock says of NAME, by sixty milliseconds
took() {
    ms=$(truth "$1")
    [ "${ms:-0}" -ge 200 ] || bad "the program does not say how long $1 took"
    milliseconds $((${ms:-0} - 60)) $((${ms:-0} + 60)) "$2"
}

milliseconds() { # LOW HIGH LINE-END: the value of that line of the last answer
    between "milliseconds of '$3'" "$1" "$2" \
        "$(awk -v want="$3" '{ v = $1; sub(/^[^ ]* /, ""); if ($0 == want) { print int(v / 1000000); n++ } } END { if (!n) print 0 }' "$d/told")"
}

all_of_it() {
    told links cpu
    took span "$trace b1000000000000bf"
    scope=$(truth scope) # of C++ alone
    milliseconds $((${scope:-0} * 8 / 10)) $((${scope:-0} * 12 / 10 + 20)) "$trace c1000000000000cf"
    told by route cpu
    took inner /inner
    took after /after
    took thread /thread
    took kernel-name /kernel-name
    milliseconds 0 0 /outer
    milliseconds 0 0 /no-room
    milliseconds 0 0 /no-room-above
    took below /below
    told by number cpu
    took inner -42
    told by "no value" cpu
    took inner ""
    told by long cpu
    took no-room "$(printf 'x%.0s' $(seq 255))"
    told by euros cpu
    took inner "a$(printf '\342\202\254%.0s' $(seq 84))"
    told by thread.name cpu
    took thread "by the program, longer than what fits"
    told dropped cpu
    between "dropped attributes" 50 5000 "$(cat "$d/told")"
    told note otelprof.dropped.labels
    between "labels lost" 2000 1000000 "$(cat "$d/told")"
    told id cpu
    equal "report of the program" "there 1 $(cat "$d/told")" "$(cat "$d/report" 2> /dev/null)"
}

one() { # NAME SCOPES COMMAND...: with 1 it has scopes of C++
    begin "$1: without the library, with it, beside another"
    scopes=$2
    # shellcheck disable=SC2086
    compile "$1" $3 || { end; return; }
    bare "$host" "$d/report"
    equal "exit status without the library" 0 "$bare_status"
    equal "output without the library" "done" "$(cat "$d/bare.out")"
    equal "report of the program" "absent 0 00000000000000000000000000000000" "$(cat "$d/report")"
    settings="OTELPROF_CPU_HZ=200 OTELPROF_INTERVAL=60m TRUTH=$d/truth" # one profile, one id
    prof "$host" "$d/report"
    same
    strict
    all_of_it
    equal "scopes of C++" "$scopes" "$(grep -c '^scope ' "$d/truth")"
    so=$programs/other.so
    [ -f "$so" ] || ${CC:-gcc} -O1 -fPIC -shared -o "$so" "$top/tests/preload/interloper.c" -ldl
    bare env LD_PRELOAD="$so" "$host" "$d/report"
    rm -f "$p"/* "$d/truth"
    equal "report beside another preload alone" "absent 0 00000000000000000000000000000000" "$(cat "$d/report")"
    equal "output beside another preload alone" "done" "$(cat "$d/bare.out")"
    run_to "$d/prof" env LD_PRELOAD="$so:$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings "$host" "$d/report"
    status=$?
    same
    all_of_it
    end
}

one c 0 "gcc -std=gnu11 -O2"
one c-fixed 0 "gcc -std=gnu11 -O0 -fno-pie -no-pie"
one clang-fixed 0 "clang -std=gnu11 -O2 -fno-pie -no-pie"
one cxx98 1 "g++ -x c++ -std=c++98 -pedantic -Wno-variadic-macros -O2"
one cxx20 1 "g++ -x c++ -std=c++20 -O2 -fno-pie -no-pie"

begin "a static program is as without the library"
compile static "gcc" -std=gnu11 -O2 -static
bare env LD_PRELOAD="$lib" "$host" "$d/report"
equal "output" "done" "$(cat "$d/bare.out")"
equal "report of the program" "absent 0 00000000000000000000000000000000" "$(cat "$d/report")"
end

begin "each profile states the labels that it has lost itself"
host losses -I"$top"
for what in cpu heap; do
    settings="OTELPROF_CPU_HZ=200 OTELPROF_HEAP_INTERVAL=1"
    rm -f "$p"/*
    bare "$host" "$what"
    prof "$host" "$what"
    same
    strict
    # 19 labels are lost of each sample; ticks may come while blocks are allocated.
    cpu=$(judge note-of cpu otelprof.dropped.labels $(files))
    heap=$(judge note-of alloc_space otelprof.dropped.labels $(files))
    if [ "$what" = cpu ]; then
        between "labels lost of 60 ticks" 380 3000 "$cpu"
        equal "labels lost of allocations without labels" "" "$heap"
    else
        between "labels lost of 500 blocks" 1 20000 "$heap"
        between "labels lost of ticks during those" 0 100 "${cpu:-0}"
    fi
done
end

begin "profiles are switched off: the calls do nothing"
host=$programs/c
for off in OTEL_SDK_DISABLED=true OTELPROF_SKIP_PROGRAMS=c; do
    settings=$off
    prof "$host" "$d/report"
    equal "output" "done" "$(cat "$d/prof.out")"
    equal "report with $off" "there 0 00000000000000000000000000000000" "$(cat "$d/report")"
    no_files
done
end
finish
