#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh: the programs in docs/API.md, as they stand there, compiled and run without and with the library.
. "$(dirname "$0")/../common.sh"

# example NUMBER FILE: the code block of that number
example() {
    awk -v want="$1" '/^```c(pp)?$/ { n++; inside = n == want; next } /^```$/ { inside = 0 } inside' "$top/docs/API.md" > "$2"
    [ -s "$2" ] || bad "there is no code block $1"
}

equal_count() {
    equal "code blocks in docs/API.md" 3 "$(grep -cE '^```c(pp)?$' "$top/docs/API.md")"
}

both() { # PROGRAM
    bare "$1"
    equal "exit status without the library" 0 "$bare_status"
    settings="OTELPROF_CPU_HZ=200"
    prof "$1"
    equal "exit status with it" 0 "$status"
    strict
}

begin "a server in C"
equal_count
example 1 server.c
gcc -std=c99 -pedantic -Wall -Wextra -Werror -O2 -D_GNU_SOURCE -I"$top/core/api" -o server server.c -pthread 2> errors || bad "$(head -n 3 errors)"
both ./server
# shellcheck disable=SC2046
judge links cpu $(files) | sed 's/^[0-9]* //' | grep -v '^-' | sort > seen
for i in 1 2 3 4; do echo "010${i}0000000000000000000000000000 020${i}000000000000"; done > wanted
same_file wanted seen "spans"
# shellcheck disable=SC2046
equal "route" "/items/{id}" "$(judge sample-attr http.route $(files))"
# shellcheck disable=SC2046
equal "tenants" "1 2 3 4 " "$(judge sample-attr tenant $(files) | tr '\n' ' ')"
# shellcheck disable=SC2046
equal "threads" 2 "$(judge sample-attr thread.name $(files) | grep -c '^request worker [01]$')"
end

begin "coroutines in C++"
example 2 tasks.cc
g++ -std=c++20 -fcoroutines -pedantic -Wall -Wextra -Werror -O2 -I"$top/core/api" -o tasks tasks.cc -pthread 2> errors || bad "$(head -n 3 errors)"
both ./tasks
# shellcheck disable=SC2046
equal "spans" "01 02 " "$(judge links cpu $(files) | awk '$2 != "-" { print substr($3, 1, 2) }' | sort | tr '\n' ' ')"
# shellcheck disable=SC2046
equal "pieces" "0 1 " "$(judge sample-attr piece $(files) | tr '\n' ' ')"
end

begin "log records with the profile's id"
example 3 logs.c
gcc -std=c99 -pedantic -Wall -Wextra -Werror -O2 -D_GNU_SOURCE -I"$top/core/api" -o logs logs.c 2> errors || bad "$(head -n 3 errors)"
both ./logs
equal "line without the library" "busy" "$(cat bare.out)"
# shellcheck disable=SC2046
equal "line with it" "busy profile_id=$(judge id cpu $(files))" "$(cat prof.out)"
end
finish
