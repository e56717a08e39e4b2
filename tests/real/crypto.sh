#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# crypto.sh: openssl's functions in assembly, whose frames are found by expressions.
. "$(dirname "$0")/../common.sh"

for algorithm in sha512 rsa2048; do
    begin "openssl speed $algorithm: stacks lead to where the program began"
    if need openssl; then
        settings=OTELPROF_CPU_HZ=500
        # It ends after a second of the clock; on a busy machine that is little time of its own, and one run has few samples.
        all=0 runs=0
        while [ "$all" -le 400 ] && [ $runs -lt 20 ]; do
            runs=$((runs + 1))
            prof openssl speed -seconds 1 -bytes 1024 $algorithm
            equal "exit status" 0 "$status"
            # shellcheck disable=SC2046
            judge stacks samples $(files openssl) | awk '
                { n = $1; all += n; if ($NF == "_start" || $0 ~ /__libc_start_main/) whole += n }
                END { print all + 0, whole + 0 }' > counts
            read -r all whole < counts
        done
        strict
        [ "$all" -gt 100 ] || bad "only $all samples"
        [ $((whole * 100)) -ge $((all * 99)) ] || bad "$whole of $all stacks lead to the start"
    fi
    end
done
finish
