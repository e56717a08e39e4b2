#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# network.sh: OTLP outputs while names are not answered for, and while the process changes what it may: another root,
# another user, closed descriptors, a network of its own, children. No thread of the program waits for any of it
# (busy.c sees to that), and what was told is delivered or kept.
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../servers.sh"
host busy
busy=$host
host changes
changes=$host
chmod 755 "$work"

flushes() {
    flushes=$(find "$p" -type f | wc -l)
    [ "$flushes" -ge "$1" ] || bad "only $flushes flushes"
}

# ---- names that nobody answers for ---------------------------------------------------------------

# In a network and with a list of name servers of its own: runs the program into http://collector.example:PORT.
cat > "$work/in_there.sh" << 'END'
ip link set lo up
mount --bind "$1/resolv.conf" /etc/resolv.conf
"$python" "$here/names.py" "$1/names" "$2" &
names=$!
"$python" "$here/server.py" "$1/server" answers:200 &
server=$!
while ! [ -f "$1/names/ready" ] || ! [ -s "$1/server/port" ]; do sleep 0.05; done
shift 2
"$python" "$here/steps.py" "$d/end" env LD_PRELOAD="$lib" \
    OTELPROF_OUTPUT="http://collector.example:$(cat "$d/server/port"),file:$p/%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
    OTELPROF_INTERVAL=200ms OTELPROF_LOG=warn "$@"
status=$?
kill $names $server
exit $status
END

# names SILENT SETTING… -- PROGRAM…
names() {
    mkdir -p "$d/server" "$d/names"
    printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:5\n' > "$d/resolv.conf"
    export python here lib d p
    run_to "$d/prof" unshare -mn sh "$work/in_there.sh" "$d" "$@"
    status=$?
    equal "exit status" 3 "$status"
    equal "output" "done" "$(cat "$d/prof.out")"
    [ -s "$d/names/questions" ] || bad "nobody asked for the name"
}

if [ "$(id -u)" != 0 ] || ! unshare -mn true 2> /dev/null || ! command -v ip > /dev/null; then
    begin "name servers that do not answer"
    skip "root, namespaces and ip are needed"
    end
else
    begin "a name server that never answers: no thread waits, what was told is in the spool"
    names -1 OTELPROF_SHUTDOWN_TIMEOUT=500ms OTELPROF_SPOOL="$d/spool" "$busy" 1500 "$p" 3
    flushes 3
    between "ms to the end of the process" 0 4000 "$(cat "$d/end")"
    equal "requests" 0 "$(distinct)"
    equal "messages in the spool" "$flushes" "$(find "$d/spool" -name '*.otlp' | wc -l)"
    end
    begin "a name server that never answers, at the end and with no spool: the process ends in time"
    names -1 OTELPROF_SHUTDOWN_TIMEOUT=0 "$busy" 300 "$d/names" 2 # until somebody has asked
    between "ms to the end of the process" 0 2500 "$(cat "$d/end")"
    end
    begin "a name server that answers the fourth question: everything arrives"
    names 3 OTELPROF_SHUTDOWN_TIMEOUT=30s "$busy" 500 "$p" 2
    flushes 2
    equal "requests" "$flushes" "$(distinct)"
    equal "standard error" "" "$(cat "$d/prof.err")"
    end
fi

# ---- what the process does to itself -------------------------------------------------------------

# changing WHAT URL [SETTING…]: everything that was told is there, at one of the two places
changing() {
    what=$1 url=$2
    shift 2
    mkdir -p "$d/empty"
    chmod 777 "$p"
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$url,file:$p/%p-%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
        OTELPROF_INTERVAL=100ms OTELPROF_LOG=warn "$@" "$changes" "$what" 1200 "$d/empty"
    equal "exit status" 3 $?
    equal "output" "done" "$(cat "$d/prof.out")"
    flushes 4
}

if [ "$(id -u)" != 0 ]; then
    begin "changes of the process"
    skip "root is needed"
    end
    finish
fi
for what in root user descriptors fork; do
    begin "$what: everything arrives, over one way and the other"
    server answers:200
    changing $what "http://localhost:$port" OTELPROF_SHUTDOWN_TIMEOUT=30s
    equal "requests" "$flushes" "$(distinct)"
    equal "standard error" "" "$(cat "$d/prof.err")"
    [ $what != fork ] || equal "processes" 2 "$(find "$p" -type f | sed 's|.*/||; s/-.*//' | sort -u | wc -l)"
    stop_server
    rm -rf "$d/server" "$p"
    mkdir "$p"
    server h2:status=0
    changing $what "grpc://localhost:$port" OTELPROF_SHUTDOWN_TIMEOUT=30s
    equal "calls" "$flushes" "$(distinct)"
    equal "standard error" "" "$(cat "$d/prof.err")"
    stop_server
    strict
    end
done

begin "net: what cannot be delivered any more is kept, and delivered from outside"
server answers:200
changing net "http://127.0.0.1:$port" OTELPROF_SHUTDOWN_TIMEOUT=300ms OTELPROF_SPOOL="$d/spool"
kept=$(find "$d/spool" -name '*.otlp' | wc -l)
between "messages in the spool" 1 "$flushes" "$kept"
grep -q '127.0.0.1' "$d/prof.err" || bad "nothing is said: $(cat "$d/prof.err")"
"$tool" send -o "http://127.0.0.1:$port" "$d/spool" > "$d/send.out" 2>&1 || bad "$(cat "$d/send.out")"
equal "distinct requests" "$flushes" "$(distinct)"
equal "messages left" 0 "$(find "$d/spool" -name '*.otlp' | wc -l)"
strict
stop_server
end

finish
