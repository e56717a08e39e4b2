# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# Sourced by run.sh: too little of everything. The program's result never changes; at most one line is written, and the
# profile is either whole or not there.
source=$here/worker.cc
host worker -I"$here"
worker=$host
all="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"

# short SHELL-CODE: runs the program after it, with and without us; one line may be said.
short() {
    # shellcheck disable=SC2086
    run_to "$d/bare" env $settings sh -c "$1 exec '$worker' argument"
    bare_status=$?
    # shellcheck disable=SC2086
    run_to "$d/prof" env $settings OTELPROF_OUTPUT="${output:-file:$p/%e-%p.otlp.gz}" sh -c "$1 export LD_PRELOAD='$lib'; exec '$worker' argument"
    status=$?
    same_status
    same_file "$d/bare.out" "$d/prof.out" "standard output"
    # What became of it in the end (behind the semicolon) may be told later, of the same trouble.
    sed 's/; [^;]*$//' prof.err | sort -u > troubles
    lines=$(grep -v "$(cat bare.err)" troubles | wc -l)
    [ -s bare.err ] || lines=$(wc -l < troubles)
    # The program and its child are two processes.
    between "lines on standard error" 0 2 "$lines"
    no_rest
    output=''
    find "$p" -type f > "$d/list"
    [ ! -s "$d/list" ] || strict
}

begin "a folder that may not be written to, one that is not there, a device"
settings=$all
mkdir closed
chmod 555 closed
if [ "$(id -u)" = 0 ]; then
    mount -t tmpfs -o ro,size=64k none closed 2> /dev/null && mounts="$mounts $d/closed"
fi
for where in closed/x.otlp nowhere/x.otlp /dev/full/x.otlp /proc/x.otlp; do
    output=file:$where
    short ""
    grep -q "$where" prof.err || bad "no word of $where: $(head -n 2 prof.err)"
done
umount closed 2> /dev/null
end

begin "a full disk, and another program takes over: a line, and nothing half is left"
if [ "$(id -u)" = 0 ] && mkdir -p short && mount -t tmpfs -o size=64k none short 2> /dev/null; then
    mounts="$mounts $d/short"
    head -c 65536 /dev/zero > short/filler
    for round in 1 2 3 4 5; do
        env LD_PRELOAD="$lib" OTELPROF_HEAP_INTERVAL=1 OTELPROF_OUTPUT="file:$d/short/%e-%p.otlp" \
            bash -c 'x=$(printf "%05000d" 1); exec sleep 0' 2> prof.err
        equal "exit status" 0 $?
        equal "lines of the shell" 1 "$(grep -c 'short/bash-.*no space.*lost unless the program goes on' prof.err)"
    done
    equal "files" filler "$(ls -A short)"
    umount short
else
    skip "no file system can be mounted"
fi
end

begin "standard error is closed and its number is a file of the program's own"
cat > own2.pl << 'SCRIPT'
close(STDIN); close(STDOUT); close(STDERR);
open(A, ">a.out"); open(B, ">b.out"); open(C, ">c.out");
syswrite(C, "one ".fileno(C)."\n");
select(undef, undef, undef, 1.5);
syswrite(C, "two\n");
SCRIPT
env LD_PRELOAD="$lib" OTELPROF_HEAP_INTERVAL=1 OTELPROF_INTERVAL=50ms OTELPROF_OUTPUT="file:/nonexistent/x.otlp" perl own2.pl 2> own2.err
equal "exit status" 0 $?
printf 'one 2\ntwo\n' > wanted
same_file wanted c.out "the program's own file"
end

begin "a disk that is full, then has room"
settings="$all OTELPROF_INTERVAL=50ms"
mkdir -p full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=8k none full 2> /dev/null; then
    mounts="$mounts $d/full"
    output=file:$d/full/%e-%p.otlp
    short ""
    grep -q 'no space' prof.err || bad "no word of the lack of space"
    rest=$(find full -name '.*tmp*')
    [ -z "$rest" ] || bad "temporary files are left: $rest"
    umount full
else
    skip "no file system can be mounted"
fi
end

begin "limits: size of files, descriptors, processes, memory, locked memory, signals, stack"
settings=$all
short "ulimit -f 1;"
short "ulimit -n 8;"
short "ulimit -v 300000;"
short "ulimit -l 0;"
short "ulimit -i 3;"
short "ulimit -i 0;"
short "ulimit -s 200;"
short "ulimit -s unlimited;"
short "ulimit -d 100000;"
short "ulimit -t 100;"
end

begin "the program takes all the address space there is: the one word is of the profile"
source=$here/used_up.c
host used_up -I"$here"
settings=''
for when in early late; do
    bare "$host" $when
    prof "$host" $when
    same_status
    same_file bare.out prof.out "standard output"
    equal "lines on standard error" 1 "$(wc -l < prof.err)"
    grep -q lost prof.err || bad "no word of the profile: $(cat prof.err)"
    ! grep -q limit prof.err || bad "a limit is blamed that was not reached: $(cat prof.err)"
    equal "files" 0 "$(find "$p" -type f | wc -l)"
done
end

begin "a limit on processes, as an ordinary user"
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
    settings=$all
    chmod 777 "$d" "$p"
    # The three threads, the first and the child: not one more.
    for n in 5 6 20; do
        uid=$((54300 + n))
        run_to "$d/bare" setpriv --reuid $uid --clear-groups sh -c "ulimit -u $n; exec '$worker' argument"
        bare_status=$?
        run_to "$d/prof" setpriv --reuid $uid --clear-groups env $settings OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" \
            sh -c "ulimit -u $n; export LD_PRELOAD='$lib'; exec '$worker' argument"
        status=$?
        same_status
        same_file bare.out prof.out "standard output with a limit of $n"
    done
else
    skip "needs root and setpriv"
fi
end

begin "no /proc, no /tmp, no /sys"
settings=$all
if [ "$(id -u)" = 0 ] && unshare -m true 2> /dev/null; then
    cat > without.sh << 'SCRIPT'
umount -l /proc 2> /dev/null || mount -t tmpfs none /proc
mount -t tmpfs none /sys
exec "$@"
SCRIPT
    run_to "$d/bare" unshare -m sh without.sh "$worker" argument
    bare_status=$?
    run_to "$d/prof" unshare -m sh without.sh env LD_PRELOAD="$lib" $settings OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" "$worker" argument
    status=$?
    same
    strict
    has_function cpu work_in_thread $(find "$p" -type f)
else
    skip "no name space for mounts"
fi
end

begin "another root, with nothing in it"
settings=$all
cat > root.c << 'SOURCE'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void *volatile kept;
__attribute__((noinline)) void in_the_cage(void)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 10; clock() < end;) {
        kept = malloc(1000);
        free(kept);
    }
}
int main(int argc, char **argv)
{
    if (argc > 2) {
        in_the_cage();
    }
    int r = chroot(argv[1]);
    r += chdir("/");
    in_the_cage();
    printf("%d\n", r);
    return 0;
}
SOURCE
gcc -O1 -o root root.c
mkdir -p empty
if [ "$(id -u)" = 0 ]; then
    for early in "" early; do
        bare ./root empty $early
        rm -f "$p"/*
        prof ./root empty $early
        same
        strict
        has_function cpu in_the_cage $(find "$p" -type f)
    done
else
    skip "needs root"
fi
end

begin "the current folder is gone, names are relative"
settings=$all
mkdir gone
run_to "$d/prof" sh -c "cd gone && rmdir ../gone && LD_PRELOAD='$lib' $all exec '$worker' argument"
equal "exit status" 0 "$?"
end

begin "a clock that jumps"
path=/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1
if [ -e "$path" ]; then
    settings="$all OTELPROF_INTERVAL=50ms FAKETIME=-1000000x1000000"
    for t in '-10d' '+1000d x100' '@1970-01-01 00:00:01'; do
        run_to "$d/bare" env LD_PRELOAD="$path" FAKETIME="$t" "$worker" argument
        bare_status=$?
        run_to "$d/prof" env LD_PRELOAD="$lib:$path" FAKETIME="$t" $all OTELPROF_INTERVAL=50ms \
            OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" "$worker" argument
        status=$?
        same
    done
    strict
else
    skip "libfaketime is not installed"
fi
end

begin "the real clock set back and forth while it runs"
settings="$all OTELPROF_INTERVAL=20ms"
if [ "$(id -u)" = 0 ] && unshare -T true 2> /dev/null; then
    # Only the monotonic clock has a name space.
    run_to "$d/prof" unshare -T --monotonic=100000000 env LD_PRELOAD="$lib" $settings OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" "$worker" argument
    equal "exit status" 0 "$?"
    strict
else
    skip "no name space for clocks"
fi
end

begin "an output that nobody reads, and one that hangs"
settings="$all OTELPROF_INTERVAL=20ms OTELPROF_SHUTDOWN_TIMEOUT=200ms"
mkfifo pipe
for output in file:pipe unix:/nonexistent/socket tcp:127.0.0.1:1 tcp:192.0.2.1:9 unix:pipe; do
    short ""
    [ -p pipe ] || bad "the pipe was replaced"
done
end

begin "memory for the profiler: next to nothing"
for n in 1k 64k 1m 2m 4m; do
    settings="$all OTELPROF_MEMORY_LIMIT=$n OTELPROF_INTERVAL=50ms"
    short ""
done
end

begin "values that make no sense: one line, and the program runs"
for v in OTELPROF_CPU_HZ=0 OTELPROF_CPU_HZ=-1 OTELPROF_CPU_HZ=100000 OTELPROF_CPU_HZ=abc OTELPROF_CPU_HZ=1e3 OTELPROF_INTERVAL=0 \
    OTELPROF_HEAP_INTERVAL=0 OTELPROF_MAX_DEPTH=0 OTELPROF_MAX_DEPTH=99999; do
    settings=$v
    run_to "$d/prof" env $v LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" "$worker" argument
    equal "exit status with $v" 0 "$?"
    # Parent and child read the settings once.
    one_line prof.err "${v%%=*}"
done
for v in OTELPROF_CPU_HZ=1 OTELPROF_CPU_HZ=3 OTELPROF_CPU_HZ=10000 OTELPROF_HEAP_INTERVAL=1 OTELPROF_MAX_DEPTH=1 OTELPROF_MAX_DEPTH=1024; do
    settings=$v
    bare "$worker" argument
    prof "$worker" argument
    same
done
strict
end
