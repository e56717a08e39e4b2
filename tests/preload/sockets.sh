#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sockets.sh: unix: and tcp: outputs, and receivers that are late, absent or bad.
. "$(dirname "$0")/../common.sh"
host ends
ends=$host
host loop
loop=$host

# peer TEMPER ADDRESS [FOLDER]: starts it and waits until it listens; $peer is its process, $port its port.
peer() {
    at=${3:-$p}
    mkdir -p "$at"
    rm -f "$at/ready"
    "$python" "$here/peer.py" "$1" "$2" "$at" 2> "$d/peer.err" &
    peer=$!
    pids="$pids $peer"
    wait_for 20 test -s "$at/ready" || bad "the receiver does not start: $(cat "$d/peer.err")"
    port=$(cat "$at/ready" 2> /dev/null)
    rm -f "$at/ready"
}

stop_peer() {
    kill "$peer" 2> /dev/null
    wait "$peer" 2> /dev/null
}

# to OUTPUT PROGRAM…: one run that sends there.
to() {
    output=$1
    shift
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$output" OTELPROF_HEAP_INTERVAL=1 OTELPROF_SHUTDOWN_TIMEOUT=60s \
        $settings "$@"
    status=$?
}

stored() {
    find "$p" -name '*.otlp' | wc -l
}

have() {
    [ "$(stored)" -ge "$1" ]
}

# The messages are there: the process may end before the receiver has stored what it got.
arrived() {
    wait_for 20 have "$1" || bad "$(stored) messages, $1 expected"
    stop_peer
    equal "messages" "$1" "$(stored)"
}

silent() {
    equal "standard error" "" "$(cat "$d/prof.err")"
}

for kind in unix tcp; do
    begin "$kind: a message arrives whole, and nothing is said"
    peer collect "$(if [ $kind = unix ]; then echo "unix:$d/socket"; else echo tcp:0; fi)"
    bare "$ends" exit
    to "$(if [ $kind = unix ]; then echo "unix:$d/socket"; else echo "tcp:127.0.0.1:$port"; fi)" "$ends" exit
    same
    arrived 1
    strict
    equal "objects" 64 "$(judge site alloc_objects ends_allocate "$p"/*)"
    end
done

begin "a relative unix path means the folder in which the program began"
peer collect unix:socket
to unix:socket "$ends" exit
arrived 1
silent
end

begin "localhost is found without the resolver"
peer collect tcp:0
to "tcp:localhost:$port" "$ends" exit
arrived 1
silent
end

begin "a file and a socket both get every flush"
peer collect tcp:0
to "file:$d/x.otlp,tcp:127.0.0.1:$port" "$ends" exit
arrived 1
silent
cmp -s "$d/x.otlp" "$p/0.otlp" || bad "they differ"
end

# long OUTPUT: the loop in the background, until $d/go exists.
long() {
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$1" OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false OTELPROF_INTERVAL=50ms \
        OTELPROF_SHUTDOWN_TIMEOUT=60s $settings \
        "$loop" "$d/go" 60 > prof.out 2> prof.err &
    child=$!
    pids="$pids $child"
}

end_long() {
    : > "$d/go"
    wait "$child"
    equal "exit status" 0 "$?"
}

# Of what loop_step allocates all but the last block is freed, and it allocates by fifties.
complete() {
    equal "bytes in use at the end" 5000 "$(judge site inuse_space loop_step "$p"/*.otlp)"
    equal "objects beyond whole rounds" 0 "$(($(judge site alloc_objects loop_step "$p"/*.otlp) % 50))"
}

# What was under way when the program ended has arrived: FILE… are all there is.
is_complete() {
    [ "$(judge site inuse_space loop_step "$@")" = 5000 ] && [ $(($(judge site alloc_objects loop_step "$@") % 50)) = 0 ]
}

arrives() { # FOLDER…: messages in them, the first of which are there
    # shellcheck disable=SC2046
    all_there() { is_complete $(find "$@" -maxdepth 1 -name '*.otlp'); }
    wait_for 20 all_there "$@" || bad "what the program said last has not arrived"
}

begin "many messages over one connection"
peer collect tcp:0
long "tcp:127.0.0.1:$port"
wait_for 30 have 5 || bad "$(stored) messages"
end_long
silent
arrives "$p"
stop_peer
strict
complete
end

begin "a receiver that comes later gets what was before it"
long "unix:$d/socket"
wait_for 20 test -s prof.err || bad "nothing is said of the missing receiver"
peer collect "unix:$d/socket"
wait_for 30 have 5 || bad "$(stored) messages"
end_long
one_line prof.err "$d/socket"
arrives "$p"
stop_peer
strict
complete
equal "losses" "" "$(judge note otelprof.dropped.export "$p"/*.otlp | sed 's/^0$//')"
end

begin "a receiver that dies and comes again"
peer once "unix:$d/socket"
long "unix:$d/socket"
wait "$peer"
equal "messages of the first" 1 "$(stored)"
rm -f socket
mkdir second
peer collect "unix:$d/socket" "$d/second"
at_second() {
    [ "$(find second -name '*.otlp' | wc -l)" -ge 3 ]
}
wait_for 30 at_second || bad "no messages after it came again"
end_long
last_is_there() {
    [ "$(judge site inuse_space loop_step "$p"/*.otlp second/*.otlp)" = 5000 ]
}
wait_for 20 last_is_there # a message that the first had half is lost to it, so objects tell nothing
stop_peer
equal "bytes in use at the end" 5000 "$(judge site inuse_space loop_step "$p"/*.otlp second/*.otlp)"
mv second/*.otlp "$p"
end

begin "a receiver that comes is said as well, to who wants warnings"
settings="OTELPROF_LOG=warn"
long "unix:$d/socket"
wait_for 20 grep -q error prof.err || bad "nothing is said of the missing receiver"
peer collect "unix:$d/socket"
wait_for 30 have 3 || bad "$(stored) messages"
end_long
stop_peer
equal "lines" 2 "$(wc -l < prof.err)"
grep -q "warning: unix:$d/socket: profiles arrive again" prof.err || bad "$(tail -n 1 prof.err)"
end

begin "no receiver: one line, and the end does not hang"
bare "$ends" exit
settings="OTELPROF_SHUTDOWN_TIMEOUT=100ms"
to "tcp:127.0.0.1:1" "$ends" exit
same_status
same_file "$d/bare.out" "$d/prof.out" "standard output"
one_line "$d/prof.err" "tcp:127.0.0.1:1" "refused"
end

for at in "stall tcp" "reset tcp" "stall unix" "reset unix"; do
    temper=${at% *}
    begin "a receiver that only does this: $at"
    if [ "${at#* }" = tcp ]; then
        peer "$temper" tcp:0
        target=tcp:127.0.0.1:$port
    else
        target=unix:$d/socket
        peer "$temper" "$target"
    fi
    settings="OTELPROF_SHUTDOWN_TIMEOUT=300ms"
    long "$target"
    wait_for 1 false
    end_long
    # A receiver that takes connections and drops them fails again and again, in few ways.
    awk -v target="$target" 'index($0, "error: ") == 0 || index($0, target) == 0' prof.err > other
    [ ! -s other ] || bad "other lines: $(head -n 1 other)"
    [ "$(wc -l < prof.err)" -le 3 ] || bad "$(wc -l < prof.err) lines are said: $(head -n 4 prof.err)"
    if [ "$temper" = reset ]; then
        equal "lines that begin it" 1 "$(grep -c '; the profile is kept and tried again$' prof.err)"
    fi
    if [ "$at" = "reset unix" ]; then # by TCP the peer's system has the bytes, for as long as its program takes to drop them
        equal "lines that end it" 1 "$(tail -n 1 prof.err | grep -c '; what was kept is lost: [1-9][0-9]* profiles*$')"
    fi
    stop_peer
    end
done

for address in tcp:nowhere tcp:127.0.0.1:99999 "tcp:no.such.host.invalid:4000" "unix:/nonexistent/socket" \
    "unix:$(printf '%0200d' 0)"; do
    begin "one line about the output $(echo "$address" | cut -c 1-40)"
    bare "$ends" exit
    settings="OTELPROF_SHUTDOWN_TIMEOUT=100ms"
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$address" OTELPROF_HEAP_INTERVAL=4k $settings "$ends" exit
    status=$?
    same_status
    same_file "$d/bare.out" "$d/prof.out" "standard output"
    one_line "$d/prof.err"
    end
done

begin "otelprof receive is the other end"
if "$tool" help receive > /dev/null 2>&1; then
    "$tool" receive --listen "unix:$d/socket" -o "$p" > receive.out 2> receive.err &
    peer=$!
    pids="$pids $peer"
    wait_for 20 test -S "$d/socket" || bad "it does not listen: $(cat receive.err)"
    to "unix:$d/socket" "$ends" exit
    silent
    to "unix:$d/socket" "$ends" _exit
    received() {
        [ "$(find "$p" -type f ! -name '.*' | wc -l)" -ge 2 ]
    }
    wait_for 20 received || bad "nothing is received"
    stop_peer
    strict
    equal "objects" 128 "$(judge site alloc_objects ends_allocate "$p"/*)"
else
    skip "otelprof has no receive"
fi
end
finish
