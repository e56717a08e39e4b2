#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SUITE…]: compares what the library reports with what the measured programs know of themselves, and prints a
# table (truth, measured, deviation, spread that chance allows). Suites: heap cpu stacks real peers; all without
# arguments. QUICK=1: a part that takes a minute and a half. Last line: `N passed, M failed, K skipped`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build}
case $build in /*) ;; *) build=$top/$build ;; esac
ACCURACY_LIB=${TEST_LIB:-$build/libotelprof.so}
ACCURACY_HOSTS=$build/tests/accuracy
export ACCURACY_LIB ACCURACY_HOSTS
mkdir -p "$ACCURACY_HOSTS"

broken() {
    echo "FAIL  $1"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
[ -f "$ACCURACY_LIB" ] || broken "$ACCURACY_LIB is not there"

# compile NAME SOURCE [flag…]: into $ACCURACY_HOSTS, when it is older than its source.
compile() {
    name=$1 source=$2
    shift 2
    target=$ACCURACY_HOSTS/$name
    [ "$target" -nt "$source" ] && [ "$target" -nt "$here/run.sh" ] && return
    case $source in
    *.cc) compiler="${CXX:-g++} -std=gnu++17 -Wno-alloc-size-larger-than" ;;
    *) compiler="${CC:-gcc} -std=gnu11" ;;
    esac
    # shellcheck disable=SC2086
    $compiler -O2 -g0 -fomit-frame-pointer -Wall -Wextra -Werror -o "$target.new" "$source" "$@" \
        -pthread && mv "$target.new" "$target" || broken "$source does not compile"
}

compile sites "$here/sites.c" -I"$top"
compile once "$here/once.c"
compile live "$here/live.c"
compile reuse "$here/reuse.c"
compile cpu "$here/cpu.c"
compile operators "$here/operators.cc"
compile throws "$here/throws.cc"
compile exact "$top/tests/preload/exact.c"
compile libplt.so "$here/plt.c" -shared -fPIC
for binding in lazy now; do
    compile "stacks_$binding" "$here/stacks.c" "$here/leaf.S" -fno-ipa-icf -fplt "-Wl,-z,$binding" \
        "$ACCURACY_HOSTS/libplt.so" "-Wl,-rpath,$ACCURACY_HOSTS"
done

# Stacks end in functions that the C library names in its debug files only.
sh "$top/tools/dev/apt_packages.sh" libc6-dbg || broken "libc6-dbg is not installed"

# The others are there for comparison only: what cannot be had is left out.
case " ${*:-${QUICK:-peers}} " in
*" peers "*)
    for package in google-perftools libgoogle-perftools4 libjemalloc2 heaptrack linux-perf; do
        sh "$top/tools/dev/apt_packages.sh" "$package" > /dev/null 2>&1
    done
    ;;
esac

python=$(command -v /usr/bin/python3 || command -v python3) || broken "python3 is not installed"
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/accuracy.py" "$@"
