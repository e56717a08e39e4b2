#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exits.sh: the profile is there however the process ends, and the end is the same as without us.
. "$(dirname "$0")/../common.sh"
host ends
bytes=$((64 * 256 * 1024))

# one WAY FILES TIMES: so many profiles, with so many times the allocations of ends_allocate.
one() {
    begin "the profile survives $1"
    settings="OTELPROF_HEAP_INTERVAL=1"
    bare "$host" "$1"
    prof "$host" "$1"
    same
    if grep -q 'is not there' bare.out; then
        skip "this kernel has no $1"
        end
        return
    fi
    strict
    equal "number of profiles" "$2" "$(files ends | wc -l)"
    equal "bytes allocated" "$((bytes * $3))" "$(judge site alloc_space ends_allocate $(files ends))"
    equal "objects allocated" "$((64 * $3))" "$(judge site alloc_objects ends_allocate $(files ends))"
    end
}

for way in return exit _exit _Exit quick_exit abort exit_group thread; do
    one $way 1 1
done
one main-leaves 1 2
for way in execve execv execvp execvpe execl execlp execle fexecve execveat kernel-execve kernel-execveat; do
    one $way 2 2
done
one failed-exec 2 2

begin "ten programs that are not there, and one that is: a profile each for this one and that one"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false" # a tick would be news
bare "$host" missing
prof "$host" missing
same
strict
equal "number of profiles" 2 "$(files ends | wc -l)"
# shellcheck disable=SC2046
equal "objects allocated" 128 "$(judge site alloc_objects ends_allocate $(files ends))"
end

begin "what is freed after an exec that failed is told before the next"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false OTELPROF_SKIP_PROGRAMS=true"
prof "$host" missing-news
equal "exit status" 0 "$status"
strict
equal "number of profiles" 2 "$(files ends | wc -l)"
# shellcheck disable=SC2046
equal "blocks in use at the end" 62 "$(judge site inuse_objects ends_allocate $(files ends))"
# shellcheck disable=SC2046
equal "blocks allocated" 64 "$(judge site alloc_objects ends_allocate $(files ends))"
end

# A signal that the program sends itself.
for way in TERM INT HUP PIPE ALRM USR1 USR2; do
    one $way 1 1
done
finish
