#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_units.sh PROGRAM...: runs Check programs and adds their counts up. A program that ends badly, or that
# reports no check at all, counts as one failure. Last line: `unit: N passed, M failed, K skipped`.
set -eu

# Generous: a loaded machine or a sanitizer must not look like a hang.
CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-60}
export CK_DEFAULT_TIMEOUT
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program; do
    name=${program##*/}
    status=0
    timeout -k 5 "${UNIT_TIMEOUT:-900}" "$program" > "$log" 2>&1 || status=$?
    # Several suites may report: one line "NN%: Checks: C, Failures: F, Errors: E" each.
    counts=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" |
        awk '{ c += $1; f += $2 + $3 } END { print c + 0, f + 0 }')
    checks=${counts% *} bad=${counts#* }
    if [ "$checks" = 0 ] || { [ "$status" != 0 ] && [ "$bad" = 0 ]; }; then
        echo "unit: $name: exit status $status after $checks checks"
        bad=$((bad + 1)) checks=$((checks + 1))
    fi
    [ "$bad" = 0 ] || sed 's/^/    /' "$log"
    printf 'unit: %-28s %4d checks, %d failed\n' "$name" "$checks" "$bad"
    passed=$((passed + checks - bad)) failed=$((failed + bad))
done
[ $# -gt 0 ] || { echo "unit: no test programs"; failed=1; }
echo "unit: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
