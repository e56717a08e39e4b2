#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SUITE...]: test suites of software that others wrote, run without the library and then under it, with its
# defaults and at stressful settings. Each case must end as it does without. Without arguments: all suites.
#
#   QUICK=1            a part of each suite, and not all of them; so does CI=true, unless QUICK=0
#   PARITY_STORE=DIR   sources, built once, and logs (build/parity)
#   KEEP=1             keeps the work folder with outputs and profiles
#
# A suite is suites/NAME.sh with these words:
#   packages=…   from apt          programs=…    whose profiles must be there       quick_too=no   not in the quick run
#   least=N      so many cases must succeed without the library                      limit=SECONDS  for one pass
#   unstable=…   expression for cases that are known to differ from themselves, each with its reason in a comment
#   prepare      makes ready in $src, once, without the library
#   cases        runs in the empty folder $scratch; commands behind `under` are in the environment of the pass; prints
#                NAME<tab>RESULT for each case, where a RESULT that begins with ok is a success
# A case that differs between runs without the library is unstable: listed, and counted as skipped. Where there are
# differences, up to two more runs without the library follow; one in any case unless QUICK=1.
# Last line: `parity: N passed, M failed, K skipped`, in cases.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/parity/lib.sh"

# Nothing that the caller has set may change what is tested.
for v in $(env | sed -n 's/^\(OTEL[A-Z_]*\)=.*/\1/p'); do
    unset "$v"
done
unset LD_PRELOAD MAKEFLAGS MAKELEVEL MFLAGS MAKE_TERMOUT MAKE_TERMERR BUILD_MODE
export LC_ALL=C.UTF-8 TZ=UTC DEBIAN_FRONTEND=noninteractive
passed=0 failed=0 skipped=0 suites=0
mkdir -p "$store/logs" || exit 1
store=$(cd "$store" && pwd)
PARITY_STORE=$store
export PARITY_STORE QUICK="${quick:-0}"
work=$(mktemp -d "${TMPDIR:-/tmp}/otelprof-parity.XXXXXX")
chmod 755 "$work"

clean_up() {
    end_rest
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $work"
    else
        chmod -R u+rwX "$work" 2> /dev/null
        rm -rf "$work"
    fi
}
trap clean_up EXIT
trap 'exit 129' HUP INT TERM

# Processes that a pass has left behind: those with its mark in the environment that they were started with.
rest() {
    grep -lzxF "PARITY_RUN=$work" /proc/[0-9]*/environ 2> /dev/null | cut -d / -f 3
}

end_rest() {
    for signal in TERM KILL; do
        n=0
        for pid in $(rest); do
            kill -s $signal "$pid" 2> /dev/null
        done
        while [ -n "$(rest)" ] && [ $n -lt 50 ]; do
            sleep 0.1
            n=$((n + 1))
        done
    done
}

fail() { # one failure that is not a case
    failed=$((failed + 1))
    echo "FAIL  parity: $suite: $*"
}

# A copy that programs of any user can read, as an installed one.
[ -f "$lib" ] && [ -x "$tool" ] || { suite=build fail "$lib and $tool are not there"; echo "parity: 0 passed, 1 failed, 0 skipped"; exit 1; }
cp "$lib" "$work/libotelprof.so" && chmod 755 "$work/libotelprof.so"

# pass NAME SETTING...: results in $d/NAME.cases
pass() {
    pass=$1
    shift
    scratch=$work/$suite/scratch
    profiles=$work/$suite/profiles-$pass
    mkdir -p "$scratch" "$profiles"
    chmod 777 "$scratch" "$profiles"
    settings=$*
    [ $# = 0 ] || settings="LD_PRELOAD=$work/libotelprof.so OTELPROF_OUTPUT=file:$profiles/%e-%p.otlp.gz $*"
    began=$(date +%s)
    env PARITY_RUN="$work" PARITY_SETTINGS="$settings" src="$src" scratch="$scratch" TMPDIR="$scratch" \
        timeout -k 10 "$limit" sh "$here/pass.sh" "$suite" cases 3> "$d/$pass.cases" > "$d/$pass.out" 2>&1 < /dev/null
    status=$?
    end_rest
    seconds="$seconds, $pass $(($(date +%s) - began)) s"
    [ "$status" = 0 ] || fail "pass $pass ended with status $status; its output is in $store/logs/$suite.$pass.out"
    cp "$d/$pass.out" "$store/logs/$suite.$pass.out"
    if [ -n "${KEEP:-}" ]; then
        mv "$scratch" "$d/scratch-$pass"
    else
        { chmod -R u+rwX "$scratch"; rm -rf "$scratch"; } 2> /dev/null
    fi
}

# The library was there, in these programs, and what it wrote is sound.
proven() {
    find "$profiles" -type f ! -name '.*' -size +0 | sort > "$d/list"
    n=$(wc -l < "$d/list")
    set -f # a suite may name patterns, which are for find
    for program in $programs; do
        [ -n "$(find "$profiles" -name "$program-[0-9]*" | head -n 1)" ] || fail "pass $pass: no profile of $program"
    done
    set +f
    awk -v n="$n" -v want=60 'int((NR - 1) * want / n) != int(NR * want / n) || n <= want' "$d/list" > "$d/sample"
    checked=$(wc -l < "$d/sample")
    [ "$checked" -gt 0 ] || { fail "pass $pass: no profile"; return; }
    xargs "$tool" check --strict < "$d/sample" > "$d/check" 2>&1 || {
        fail "pass $pass: check --strict finds something"
        grep -v ': ok' "$d/check" | head -n 5 | cut -c 1-300 | sed 's/^/        /'
    }
    kinds=$(sed 's|.*/||; s/-[0-9].*//' "$d/list" | sort -u | wc -l)
    echo "    $pass: $n profiles of $kinds programs, $checked of them checked"
    [ -n "${KEEP:-}" ] || rm -rf "$profiles"
}

compare() { # those without the library so far in $agains, those under it in $passes
    # shellcheck disable=SC2046,SC2086
    "$python" "$here/compare.py" "$store/logs/$suite.differences" "$unstable" "$d/bare.cases" $(echo $agains | wc -w) \
        $(for name in $agains $passes; do echo "$d/$name.cases"; done) > "$d/counts"
    read -r cases good equal differ shaky < "$d/counts"
}

run_suite() {
    suite=$1 quick_too=yes limit=900 least=1 packages='' programs='' seconds='' unstable=''
    d=$work/$suite src=$store/$suite
    . "$here/suites/$suite.sh"
    [ -z "$quick" ] || [ "$quick_too" = yes ] || [ -n "$named" ] || return
    suites=$((suites + 1))
    mkdir -p "$d" "$src"
    began=$(date +%s)
    # shellcheck disable=SC2086
    sh "$top/tools/dev/apt_packages.sh" $packages > "$store/logs/$suite.prepare" 2>&1 &&
        env src="$src" sh "$here/pass.sh" "$suite" prepare >> "$store/logs/$suite.prepare" 2>&1 < /dev/null || {
        fail "cannot be prepared; see $store/logs/$suite.prepare"
        tail -n 10 "$store/logs/$suite.prepare" | cut -c 1-200 | sed 's/^/        /'
        return
    }
    seconds="made ready in $(($(date +%s) - began)) s"
    pass bare
    agains='' passes=''
    pass default OTELPROF_LOG=error
    passes=default
    proven
    pass stress OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=4k OTELPROF_INTERVAL=1s
    passes='default stress'
    proven
    # What differs may differ from itself: then it shows without the library as well.
    compare
    for again in again1 again2; do
        [ "$differ" -gt 0 ] || [ -z "$quick$agains" ] || break
        pass $again
        agains="$agains $again"
        compare
    done
    echo "$suite: $cases cases, $good of them succeed without the library: $equal equal, $differ differ, $shaky unstable"
    echo "    $seconds"
    [ "$((differ + shaky))" = 0 ] || {
        head -n 20 "$store/logs/$suite.differences" | cut -c 1-200 | sed 's/^/        /'
        echo "    all of them: $store/logs/$suite.differences"
    }
    [ "$good" -ge "$least" ] || fail "$good cases succeed without the library, at least $least expected"
    [ "$differ" = 0 ] || echo "FAIL  parity: $suite: $differ cases differ"
    passed=$((passed + equal)) failed=$((failed + differ)) skipped=$((skipped + shaky))
    [ -n "${KEEP:-}" ] || { chmod -R u+rwX "$d"; rm -rf "$d"; } 2> /dev/null
}

sh "$top/tools/dev/apt_packages.sh" python3 dpkg-dev gcc libc6-dev make patch xz-utils || exit 1
named=$*
[ $# -gt 0 ] || set -- $(cd "$here/suites" && ls ./*.sh | sed 's|^\./||; s/\.sh$//')
for suite; do
    run_suite "$suite"
done
echo "$suites suites"
echo "parity: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
