#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME…]: what the library costs real programs: CPU time as a ratio to the same program without it, the start
# of a small program, resident memory, size of the profiles. Each figure is the median of alternating runs, with and
# without; the spread says how far to trust it. BENCH_RUNS sets how many (3), BENCH_SCALE how long they are (1: a
# few seconds each). NAME: measure only that (xz, zstd, sqlite3, python3, perl, gcc, start, memory).
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$top/$build ;; esac
mkdir -p "$build/tests/bench"
for host in tests/bench/spawn tests/preload/burn; do
    ${CC:-gcc} -std=gnu11 -O2 -o "$build/tests/bench/$(basename $host)" "$top/$host.c" -pthread
done
exec python3 "$top/tests/bench/bench.py" "$build" "$@"
