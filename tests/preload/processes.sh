#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# processes.sh: each process, however it was made, gets its own profile, of what it did itself.
. "$(dirname "$0")/../common.sh"
host forks

# one HOW PARENTS CHILDREN [ARGUMENT]: profiles of so many processes that ran main, and of forked children.
one() {
    bare "$host" "$1" ${4:-}
    prof "$host" "$1" ${4:-}
    same
    strict
    equal "profiles" "$(($2 + $3))" "$(files forks | wc -l)"
    # shellcheck disable=SC2046
    equal "objects of parents" "$(($2 * 100))" "$(judge site alloc_objects parent_allocates $(files forks))"
    # shellcheck disable=SC2046
    equal "bytes of children" "$(($3 * 100000))" "$(judge site alloc_space child_allocates $(files forks))"
}

while read -r how parents children argument what; do
    begin "$how $argument: $what"
    settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"
    one "$how" "$parents" "$children" "$argument"
    end
done << LIST
none 1 0 1 one process
fork 1 1 1 a forked child
fork 1 30 30 thirty children
threads 1 10 10 children of a process with threads
later 1 1 1 a child that makes threads
grandchild 1 2 1 child and grandchild
vfork 2 0 1 exec after vfork
vfork-exit 1 0 1 a child of vfork that only ends
spawn 2 0 1 posix_spawn
LIST

begin "system: a shell and a program"
settings="OTELPROF_HEAP_INTERVAL=1"
one system 2 0
end

begin "clone without fork: the parent is unharmed"
settings="OTELPROF_HEAP_INTERVAL=1"
bare "$host" clone
prof "$host" clone
same
strict
equal "objects of parents" 100 "$(judge site alloc_objects parent_allocates $(files forks))"
end

begin "daemon: the child writes although the parent is gone and all is closed"
settings="OTELPROF_HEAP_INTERVAL=1"
bare "$host" daemon
prof "$host" daemon
same
both_there() {
    [ "$(files forks | wc -l)" = 2 ]
}
wait_for 20 both_there || bad "$(files forks | wc -l) profiles, 2 expected"
strict
equal "bytes of children" 100000 "$(judge site alloc_space child_allocates $(files forks))"
end

begin "OTELPROF_FOLLOW_FORK=false leaves forked children out, but not new programs"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_FOLLOW_FORK=false"
one fork 1 0 3
rm -f "$p"/*
one spawn 2 0
end

begin "what lives in the child is its own and what it kept of its parent's"
settings="OTELPROF_HEAP_INTERVAL=1"
prof "$host" fork 1
for f in $(files forks); do
    case $(judge site alloc_space child_allocates "$f") in
    0) equal "live blocks of the parent" 100 "$(judge site inuse_objects parent_allocates "$f")" ;;
    *)
        equal "live blocks of the child, from the parent" 50 "$(judge site inuse_objects parent_allocates "$f")"
        equal "live blocks of the child" 50 "$(judge site inuse_objects child_allocates "$f")"
        equal "what the child allocated in its parent's function" 0 "$(judge site alloc_objects parent_allocates "$f")"
        ;;
    esac
done
end

begin "the names of children have their own process number"
settings="OTELPROF_HEAP_INTERVAL=1"
prof "$host" fork 5
for f in $(files forks); do
    equal "process.pid" "$(echo "$f" | sed 's/.*-\([0-9]*\)\.otlp.*/\1/')" "$(judge attr process.pid "$f")"
done
equal "instances" 6 "$(for f in $(files forks); do judge attr service.instance.id "$f"; done | sort -u | wc -l)"
end

begin "the samples of a child have its own thread.id, and the name of the thread that forked"
host fork_own
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 OTELPROF_THREAD_ATTRIBUTES=id,name"
bare "$host" ids
prof "$host" ids
same
strict
equal "profiles" 3 "$(files fork_own | wc -l)"
parents=0
for f in $(files fork_own); do
    pid=$(judge attr process.pid "$f")
    judge by thread.name alloc_objects "$f" > "$d/names"
    if grep -q fork_own "$d/names"; then # its main thread
        parents=$((parents + 1))
        continue
    fi
    for type in cpu samples alloc_objects alloc_space; do
        equal "threads of $type" "$pid" "$(judge by thread.id "$type" "$f" | cut -d ' ' -f 2)"
        equal "names of $type" forker "$(judge by thread.name "$type" "$f" | cut -d ' ' -f 2)"
    done
done
equal "parents" 1 "$parents"
end

begin "children are sampled at moments of their own, not at those of their parent"
settings="OTELPROF_HEAP=false OTELPROF_CPU_HZ=10"
prof "$host" phases
equal "standard output" "phases: 0" "$(cat "$d/prof.out")"
# Half a period in each of 60: 30 samples on average, with a standard deviation of 4.
# shellcheck disable=SC2046
between "samples" 10 50 "$(judge totals $(files fork_own) | sed -n 's/^samples //p')"
settings="OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=64k"
rm -f "$p"/*
prof "$host" gaps
equal "standard output" "gaps: 0" "$(cat "$d/prof.out")"
for f in $(files fork_own); do
    judge totals "$f" | sed -n 's/^alloc_objects //p'
done > "$d/totals"
between "different totals of 12 children" 6 13 "$(sort -u "$d/totals" | wc -l)"
end

begin "a shell pipeline: each program has a profile"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false"
bare sh -c 'seq 1 3000 | sort -rn | head -n 3 | tr 1 x; exit 6'
prof sh -c 'seq 1 3000 | sort -rn | head -n 3 | tr 1 x; exit 6'
same
strict
has_files sort
has_files seq
has_files sh
end

begin "a static program takes no notice"
if echo 'int main(void) { return 9; }' > s.c && ${CC:-gcc} -static -o static s.c 2> /dev/null; then
    bare ./static
    prof ./static
    same
    equal "exit status" 9 "$status"
    no_files
else
    skip "no static libc"
fi
end
finish
