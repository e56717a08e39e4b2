#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# host.sh: what the program can see of itself is what it sees without us.
. "$(dirname "$0")/../common.sh"
host mirror

# one WHAT SETTING…: with arguments in $arguments.
one() {
    begin "$1"
    shift
    # shellcheck disable=SC2086
    bare "$host" $arguments
    settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 $*"
    # shellcheck disable=SC2086
    prof "$host" $arguments
    same
    strict
    has_function alloc_objects main $(files mirror)
    end
}
arguments=''
one "descriptors, signals, timers, environment, errno are untouched"
one "the same while flushes go on" OTELPROF_INTERVAL=10ms
arguments=close
one "a program that closes every descriptor loses nothing and meets nothing of ours" OTELPROF_INTERVAL=10ms
host ends

begin "standard input, output and error closed"
run_to bare sh -c "exec $host exit <&- >&- 2>&-"
bare_status=$?
run_to "$d/prof" sh -c "LD_PRELOAD=$lib OTELPROF_HEAP_INTERVAL=1 OTELPROF_OUTPUT=file:$p/%e-%p.otlp.gz exec $host exit <&- >&- 2>&-"
status=$?
same_status
strict
end

begin "closed standard error and a bad value: nothing is written into a descriptor of the program"
script="open(my \$f, q(>), q($d/own)) or die; print STDOUT fileno(\$f), qq(\n); close \$f"
run_to "$d/bare" sh -c "exec 2>&-; exec /usr/bin/perl -e '$script'"
run_to "$d/prof" sh -c "exec 2>&-; LD_PRELOAD=$lib OTELPROF_HEAP_INTERVAL=x OTELPROF_OUTPUT=file:$p/%e-%p.otlp.gz \
    exec /usr/bin/perl -e '$script'"
equal "exit status" 0 "$?"
same_file "$d/bare.out" "$d/prof.out" "number of the descriptor"
equal "bytes in the program's file" 0 "$(stat -c %s "$d/own")"
end

begin "a worker's line reaches a standard error that is a socket"
cat > run.py << 'PYTHON'
import os, socket, subprocess, sys
ours, theirs = socket.socketpair()
status = subprocess.run(sys.argv[1:], stderr=theirs, stdout=subprocess.DEVNULL).returncode
theirs.close()
sys.stdout.write(ours.makefile().read())
sys.exit(status)
PYTHON
run_to "$d/prof" "$python" run.py env LD_PRELOAD="$lib" OTELPROF_OUTPUT=file:/nonexistent/x OTELPROF_HEAP_INTERVAL=1 "$host" exit
equal "exit status" 3 "$?"
one_line "$d/prof.out" "no such file"
end

begin "nothing holds a pipe open that the program has closed"
cat > pipe.sh << SCRIPT
(
    export LD_PRELOAD=$lib OTELPROF_INTERVAL=20ms OTELPROF_HEAP_INTERVAL=1 OTELPROF_OUTPUT=file:$p/%e-%p.otlp.gz
    exec /usr/bin/perl -e 'my @x = map { "y" x \$_ } 1 .. 3000; close STDOUT; close STDERR;
        for (1 .. 400) { last if -e "$d/seen"; select(undef, undef, undef, 0.05) }
        mkdir "$d/good" if -e "$d/seen"'
) | {
    cat > /dev/null # returns when nobody has the pipe any more: the perl above waits for what comes next
    : > $d/seen
}
SCRIPT
run_to "$d/prof" sh pipe.sh
[ -d good ] || bad "the pipe was open until the end of the program"
strict
has_files perl
end
finish
