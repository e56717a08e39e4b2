# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts here: a program that is told what to do while it runs.
#
#   play NAME=VALUE…     starts it under the library with these settings; $pid
#   act WORD…            one command; $answer is the last word of what it says
#   curtain              ends it and waits for it; $status
#   ctl WORD…            otelprof ctl $pid WORD…; $ctl_status, ctl.out, ctl.err
set -u
# shellcheck disable=SC2034,SC2086
wrap=''

play() {
    rm -f in out err
    mkfifo in
    : > out
    $wrap env LD_PRELOAD="$lib" OTELPROF_OUTPUT="${output:-file:$p/%e-%p.otlp}" OTELPROF_LOG=info OTELPROF_LOG_FILE="$d/log" "$@" \
        "$host" < in > out 2> err &
    actor=$!
    pids="$pids $actor"
    exec 3> in
    lines=0
    act pid
    pid=$answer
}

has_lines() {
    [ "$(wc -l < out)" -ge "$lines" ] || ! kill -0 "$actor" 2> /dev/null
}

act() {
    lines=$((lines + 1))
    echo "$*" >&3
    wait_for "$limit" has_lines
    answer=$(sed -n "${lines}p" out)
    [ -n "$answer" ] || bad "no answer to '$*': $(tail -n 2 err)"
    answer=${answer##* }
}

# does WORD…: and it succeeds
does() {
    act "$@"
    equal "$*" 1 "$answer"
}

curtain() {
    exec 3>&-
    wait "$actor"
    status=$?
    equal "exit status" 0 "$status"
}

ctl() {
    timeout -k 5 60 "$tool" ctl "$pid" "$@" > ctl.out 2> ctl.err
    ctl_status=$?
}

# ctl_ok WORD…
ctl_ok() {
    ctl "$@"
    [ "$ctl_status" = 0 ] || bad "ctl $*: exit status $ctl_status: $(cat ctl.err)"
}

# value GROUP NAME: of the last status
value() {
    awk -v g="$1" -v n="$2" '$1 == g && $2 == n { print $3 }' ctl.out
}

log_says() {
    grep -qF -- "$1" log
}
