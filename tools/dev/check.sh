#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh GATE...: what `make check` does once the packages are there: build, unit tests, gates, and the
# tests of tests/run.sh. Goes on after a failure, to report them all. A step that does not say how many
# things it looked at is a failure. Last line: `N passed, M failed, K skipped`.
set -u
# shellcheck disable=SC2086,SC2046

make="${MAKE:-make} --no-print-directory"
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a command, shows its output, keeps it in $log; the status is the command's.
shown() {
    { "$@" 2>&1; echo "status $?"; } | tee "$log" | grep -v '^status [0-9]*$'
    grep -qx 'status 0' "$log"
}

one() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
    fi
}

# A suite's own closing line counts; without one, or with zero tests, the suite has failed.
suite() {
    name=$1
    shift
    status=0
    shown "$@" || status=$?
    set -- $(sed -n 's/^\([a-z]*: \)\{0,1\}\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)\{0,1\}$/\2 \3 \5/p' "$log" |
        tail -n 1)
    if [ $# -lt 2 ] || [ $(($1 + $2)) = 0 ]; then
        one 1 "$name: no count of tests"
        return
    fi
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0}))
    [ "$2" != 0 ] || [ "$status" = 0 ] || one 1 "$name: exit status $status"
}

shown $make -k all
one $? "make all"
shown $make -k unit-programs
one $? "make unit-programs"
# shellcheck disable=SC2086
suite unit sh tools/dev/run_units.sh ${UNITS:-}
for gate; do
    status=0
    shown $make "$gate" || status=1
    grep -q "^$gate: [1-9][0-9]* .*looked at" "$log" || status=1
    one $status "$gate"
done
if [ -f tests/run.sh ]; then
    suite tests/run.sh sh tests/run.sh
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
