#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_headers.sh COMPILER_AND_FLAGS HEADER...: each header compiles alone and is guarded by its own name.
set -eu

compiler=$1
shift
bad=0
for h; do
    folder=$(basename "$(dirname "$h")")
    guard=$(echo "${folder}_$(basename "$h" .h)_H" | tr '[:lower:].-' '[:upper:]__')
    case $h in
    */otelprof.h) ;; # installed for others: its guard is its own
    *) grep -qE "^#ifndef OTP_([A-Z]+_)?$guard\$" "$h" || {
        echo "$h: guard is not OTP_$guard"
        bad=$((bad + 1))
    } ;;
    esac
    # shellcheck disable=SC2086
    printf '#include "%s"\nstruct otp_alone;\n' "$h" | $compiler -fsyntax-only -x c - || {
        echo "$h: does not compile alone"
        bad=$((bad + 1))
    }
done
[ $# -gt 0 ] || bad=1
echo "check-headers: $# headers looked at, $bad failed"
[ "$bad" = 0 ]
