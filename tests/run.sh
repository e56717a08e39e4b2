#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SCRIPT…]: runs the test scripts (all of them without arguments) and adds up. A script
# that does not end with a count, or counts nothing, is a failure. Last line: `N passed, M failed, K skipped`.
# VERBOSE=1 names what passes, KEEP=1 keeps the work folders, TEST_LONG=1 makes the real programs' work ten times larger and
# more (100 MB for the compressors), TEST_LIB and TEST_TOOL test another library and tool.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- "$here"/preload/*.sh "$here"/real/*.sh "$here"/tool/*.sh "$here"/export/*.sh
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for script; do
    began=$(date +%s)
    timeout -k 10 "${SCRIPT_TIMEOUT:-300}" sh "$script" > "$log" 2>&1
    status=$?
    counts=$(sed -n 's/^[a-z_-]*: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
    # shellcheck disable=SC2086
    set -- ${counts:-0 0 0}
    if [ $(($1 + $2 + $3)) = 0 ] || { [ "$status" != 0 ] && [ "$2" = 0 ]; }; then
        echo "FAIL  $script: exit status $status, counts '$counts'"
        set -- "$1" $(($2 + 1)) "$3"
    fi
    cat "$log"
    echo "    ($(($(date +%s) - began)) s)"
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
done
if [ $((passed + failed + skipped)) = 0 ]; then
    echo "FAIL  nothing was counted"
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
