# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# Sourced by run.sh: debuggers, tracers and checkers on top, and programs built with a sanitizer.
source=$here/worker.cc
host worker -I"$here"
worker=$host
cat > "$work/small.c" << 'SOURCE'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static __thread void *volatile kept;
__attribute__((noinline)) void *burns_and_allocates(void *arg)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 10; clock() < end;) {
        kept = malloc(100);
        memset(kept, 1, 100);
        free(kept);
    }
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, burns_and_allocates, NULL);
    burns_and_allocates(NULL);
    pthread_join(t, NULL);
    puts("done");
    return 5;
}
SOURCE
${CC:-gcc} -O1 -g -pthread -o "$work/small" "$work/small.c"
all="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"

begin "gdb on top: a breakpoint, a backtrace, a call, a step"
if need gdb; then
    cat > script << SCRIPT
set pagination off
set confirm off
handle SIGPROF nostop noprint pass
break burns_and_allocates
run
info symbol \$pc
delete
call (void *) malloc(77)
next
bt 2
continue
SCRIPT
    for l in "" "$lib"; do
        stem=$d/gdb$([ -z "$l" ] && echo bare || echo prof)
        timeout -k 5 "$limit" gdb -q -batch -iex "set exec-wrapper env LD_PRELOAD=$l OTELPROF_OUTPUT=file:$p/%e-%p.otlp.gz $all" \
            -x script --args "$work/small" > "$stem.raw" 2>&1
        grep -x done "$stem.raw" > "$stem.program"
        grep -E 'exited with code|burns_and_allocates' "$stem.raw" | grep -v '^Breakpoint\|^#\|hit Breakpoint' |
            sed 's/0x[0-9a-f]*//g; s/process [0-9]*//; s/(.*)//' > "$stem.seen"
    done
    same_file gdbbare.seen gdbprof.seen "what gdb sees"
    same_file gdbbare.program gdbprof.program "the program's output"
    grep -q 'exited with code 05' gdbprof.raw || bad "it did not end with 5: $(tail -n 3 gdbprof.raw)"
    grep -q 'is 0x\|\$1 = (void \*) 0x' gdbprof.raw || bad "no call of malloc"
    strict
    has_function alloc_objects burns_and_allocates $(find "$p" -type f)
fi
end

begin "gdb attaches and detaches"
if need gdb; then
    settings=$all
    prof sh -c "'$worker' argument & child=\$!
        gdb -q -batch -p \$child -ex 'thread apply all bt 3' -ex detach > gdb.out 2>&1
        wait \$child"
    equal "exit status" 0 "$status"
    strict
    has_function cpu work_in_thread $(files worker)
fi
end

begin "strace on top"
if need strace; then
    settings=$all
    prof strace -f -o trace -E LD_PRELOAD="$lib" "$work/small"
    equal "exit status" 5 "$status"
    equal "output" done "$(cat prof.out)"
    strict
    has_function cpu burns_and_allocates $(files small)
    # Only the worker opens, writes and closes for us; host threads do not.
    main_thread=$(awk '/ execve\(/ && /\/small"/ { print $1; exit }' trace)
    [ -n "$main_thread" ] || bad "the trace does not show where the program starts"
    if grep "^$main_thread .*otlp" trace | grep -v execve; then
        bad "a file was opened in the program's own thread"
    fi
fi
end

begin "valgrind on top: its own allocator, then ours"
if need valgrind; then
    for options in "" "--soname-synonyms=somalloc=nouserintercepts"; do
        settings=$all
        bare valgrind -q --error-exitcode=77 $options "$work/small"
        run_to "$d/prof" env OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings \
            valgrind -q --error-exitcode=77 $options --trace-children=no env true
        settings="$all LD_PRELOAD=$lib OTELPROF_OUTPUT=file:$p/%e-%p.otlp.gz"
        run_to "$d/prof" sh -c "export $settings; exec valgrind -q --error-exitcode=77 $options '$work/small'"
        status=$?
        same_status
        same_file bare.out prof.out "standard output"
        same_file bare.err prof.err "what valgrind says"
    done
    has_function alloc_objects burns_and_allocates $(files 'small')
fi
end

for compiler in gcc clang; do
    for what in address thread undefined leak; do
        begin "a program built with $compiler -fsanitize=$what"
        settings=$all
        if ! command -v $compiler > /dev/null || ! $compiler -O1 -g -fsanitize=$what -pthread -o checked "$work/small.c" 2> cc.err; then
            skip "$compiler cannot build it"
            end
            continue
        fi
        bare ./checked
        # gcc's address sanitizer wants to be first, and says so; then nothing of ours has run either.
        prof ./checked
        if grep -q 'ASan runtime does not come first' prof.err; then
            equal "exit status after the sanitizer's refusal" 1 "$status"
            prof env ASAN_OPTIONS=verify_asan_link_order=0 ./checked
        fi
        same
        end
    done
done
