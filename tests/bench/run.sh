#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [PART…]: what the library costs, beside other profilers on the same work in the same run; docs/PERFORMANCE.md is
# written anew from the results. PART: measure only that (micro, programs, worker, or a function of one: worker.flush).
# QUICK=1: shorter, less certain. NO_INSTALL=1: compare with what is here. ASYNC_PROFILER=FILE: its library, no package has it.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$top/$build ;; esac
cc=${CC:-gcc}
if [ -z "${NO_INSTALL:-}" ]; then
    for package in python3 g++ sqlite3 perl xz-utils redis-server redis-tools libjemalloc2 google-perftools heaptrack linux-perf; do
        sh "$top/tools/dev/apt_packages.sh" "$package" || echo "bench: goes on without $package"
    done
fi
mkdir -p "$build/bench"
for host in bench/pairs bench/stacks bench/objects bench/signals bench/spawn preload/burn; do
    "$cc" -std=gnu11 -O2 -fno-builtin-malloc -fno-builtin-free -fomit-frame-pointer -o "$build/bench/$(basename $host)" \
        "$top/tests/$host.c" -pthread -ldl
done
"$cc" -std=gnu11 -O2 -I"$top" -o "$build/bench/marks" "$top/tests/bench/marks.c"
for object in empty leaf; do
    "$cc" -std=gnu11 -O2 -fPIC -shared -fno-plt -fno-builtin-malloc -fno-builtin-free -o "$build/bench/$object.so" \
        "$top/tests/bench/$object.c" -ldl
done
"${CXX:-g++}" -std=gnu++17 -O2 -o "$build/bench/server" "$top/tests/bench/server.cc" -pthread
parts=$build/obj-release-$(basename "$cc")/tests/bench/parts
make -s -C "$top" BUILD="$build" CC="$cc" "$parts"
cp "$parts" "$build/bench/parts"
exec python3 "$top/tests/bench/bench.py" "$build" "$@"
