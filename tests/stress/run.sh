#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME...]: much of everything for a bounded time: forks, threads, allocations, loading and exceptions under
# fast ticks. Each program runs bare and with the library: same output and status, no hang, nothing grows (the
# program looks at its own mappings, memory, descriptors, timers), and each profile is clean.
#
# A program says in comments of the form `stress: WORD ...` what it wants:
#   set NAME=VALUE... settings of the library, OTELPROF_ left out; one run for each such line
#   sees TYPE FUNC    the profiles have this function          flags FLAG...  for the compiler
#   profiles N        at least so many of them
. "$(dirname "$0")/../common.sh"
suite=stress
libs=$hosts/$suite_folder
export STRESS_LIBS="$libs"
[ $# -gt 0 ] || set -- forks threads alloc storm spaces soak

mkdir -p "$libs"
${CC:-gcc} -std=gnu11 -O1 -g0 -fPIC -shared -o "$libs/plug.so.new" "$top/tests/hosts/libs/plug.c" &&
    mv "$libs/plug.so.new" "$libs/plug.so" || exit 1

asks() { # WORD: what the program says behind it
    sed -n "s|^/\* stress: $1 \{0,1\}\(.*\) \*/\$|\1|p" "$source"
}

bare() { # nothing in between
    run_to "$d/bare" env "$@"
    bare_status=$?
}

prof() {
    # shellcheck disable=SC2086
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings "$@"
    status=$?
}

most() { # profiles that have the most in them: those of a parent are few among those of its children
    find "$p" -type f -printf '%s %p\n' | sort -rn | head -n 400 | cut -d ' ' -f 2-
}

for wanted; do
    source=$here/$wanted.c
    [ -f "$source" ] || source=$here/$wanted.cc
    [ "$libs/$wanted" -nt "$here/growth.h" ] && [ "$libs/$wanted" -nt "$here/../worker.h" ] || rm -f "$libs/$wanted"
    # shellcheck disable=SC2046
    host "$wanted" -I"$here" $(asks flags)
    asks set > "$work/sets"
    asks sees > "$work/sees"
    while read -r set; do
        begin "$wanted: $set"
        settings=$(echo "$set" | sed 's/[A-Z_]*=/OTELPROF_&/g')
        bare "$host"
        prof "$host"
        same
        equal "exit status" 0 "$status"
        strict
        while read -r kind function; do
            # shellcheck disable=SC2046
            has_function "$kind" "$function" $(most)
        done < "$work/sees"
        for least in $(asks profiles); do
            has_files "$wanted" "$least"
        done
        echo "    $wanted: $(find "$p" -type f | wc -l) profiles"
        end
    done < "$work/sets"
done
finish
