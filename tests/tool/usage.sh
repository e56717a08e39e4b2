#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage.sh: help, version, and what is said of command lines that make no sense.
. "$(dirname "$0")/../common.sh"

begin "help lists the commands, and each has help of its own"
"$tool" help > out || bad "exit status $?"
commands=$(sed -n 's/^  \([a-z]*\) .*/\1/p' out)
between "commands" 8 30 "$(echo "$commands" | wc -l)"
for command in $commands; do
    "$tool" help "$command" > text 2> err || bad "help $command: exit status $?"
    grep -q "^usage: otelprof $command" text || bad "help $command says $(head -n 1 text)"
    "$tool" "$command" --help > text2 2> err || bad "$command --help: exit status $?"
    same_file text text2 "$command --help"
done
"$tool" --help > out2
same_file out out2 "--help"
end

begin "version"
"$tool" version > out || bad "exit status $?"
grep -q '^otelprof [0-9][0-9.]*' out || bad "$(cat out)"
"$tool" --version > out2
same_file out out2 "--version"
end

begin "wrong command lines: status 2 and one line"
for words in "nothing" "help nothing" "version x" "info" "top" "check" "flame" "run" "receive" "info --nothing x" \
    "top -n" "top -n x y" "top --json=1 y" "top -x y" "check --lines -1 y" "doctor a b"; do
    # shellcheck disable=SC2086
    "$tool" $words > out 2> err
    equal "exit status of '$words'" 2 $?
    equal "output of '$words'" "" "$(cat out)"
    one_line err otelprof
done
"$tool" > out 2> err
equal "exit status without a command" 2 $?
end

begin "options anywhere, joined or apart; -- ends them"
"$python" "$here/otlp_gen.py" good a.otlp
cp a.otlp -- -n
"$tool" top -n 2 -t cpu a.otlp > first
for words in "-n2 -tcpu a.otlp" "--number=2 --type=cpu a.otlp" "a.otlp --number 2 --type cpu" "-n 2 -t cpu -- a.otlp" "-t cpu -n2 -- -n"; do
    # shellcheck disable=SC2086
    "$tool" top $words > out 2> err || bad "'$words': exit status $?: $(cat err)"
    same_file first out "top $words"
done
end

begin "output that does not get out is not a success"
"$tool" info a.otlp > /dev/null 2>&1
"$python" "$here/otlp_gen.py" good a.otlp
"$tool" info a.otlp > /dev/full 2> err
equal "exit status at a full disk" 3 $?
one_line err "standard output"
end
finish
