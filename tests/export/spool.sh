#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spool.sh: what cannot be delivered outlives the process, arrives later, and arrives once.
. "$(dirname "$0")/../common.sh"
host busy
busy=$host

# server TEMPER [PORT]
server() {
    mkdir -p "$d/server"
    rm -f "$d/server/port"
    "$python" "$here/server.py" "$d/server" "$1" 2> "$d/server.err" &
    server=$!
    pids="$pids $server"
    wait_for 20 test -s "$d/server/port" || bad "the server does not start: $(cat "$d/server.err")"
    port=$(cat "$d/server/port")
}

stop_server() {
    kill "$server" 2> /dev/null
    wait "$server" 2> /dev/null
}

# run PORT MILLISECONDS [SETTING…]
run() {
    to=$1 span=$2
    shift 2
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="http://127.0.0.1:$to,file:$p/%p-%n.otlp" \
        OTELPROF_HEAP_INTERVAL=4k OTELPROF_SHUTDOWN_TIMEOUT=500ms OTELPROF_SPOOL="$d/spool" OTEL_SERVICE_NAME=spooler \
        OTEL_EXPORTER_OTLP_TIMEOUT=300 "$@" "$busy" "$span"
    equal "exit status" 3 $?
    equal "output" "done" "$(cat "$d/prof.out")"
}

spooled() {
    find "$d/spool" -type f 2> /dev/null | wc -l
}

made() {
    find "$p" -type f | wc -l
}

distinct() {
    cut -d ' ' -f 3 "$d/server/requests" 2> /dev/null | sort -u | wc -l
}

requests() {
    if [ -f "$d/server/requests" ]; then wc -l < "$d/server/requests"; else echo 0; fi
}

# Every message that was made is one of the bodies that the server took.
all_arrived() {
    for f in "$p"/*.otlp; do
        sum=$(sha256sum "$f" | cut -c 1-16)
        grep -q " $sum " "$d/server/requests" || bad "$(basename "$f") did not arrive"
    done
}

begin "while nobody listens each flush is in the spool, as the file that it would have been"
run 1 500 OTELPROF_INTERVAL=200ms
equal "files" "$(made)" "$(spooled)"
for f in "$d"/spool/otelprof-*.otlp; do
    [ -s "$f" ] || bad "$f is not a file"
    cmp -s "$f" "$p"/*"-0.otlp" || cmp -s "$f" "$p"/*"-1.otlp" || cmp -s "$f" "$p"/*"-2.otlp" || bad "$f is none of the flushes"
    equal "mode" 600 "$(stat -c %a "$f")"
done
equal "temporary files" 0 "$(find "$d/spool" -name '.tmp*' | wc -l)"
end

begin "the next process of the service delivers what was left, once, and empties the spool"
server answers:503
run "$port" 400 OTELPROF_INTERVAL=200ms
equal "files" "$(made)" "$(spooled)"
[ "$(spooled)" -gt 0 ] || bad "nothing is in the spool"
kill "$server"
wait "$server" 2> /dev/null
rm -f "$d/server/requests"
first=$port
"$python" - "$here/server.py" "$d/server" "$first" << 'END' > "$d/patched.py"
import sys
print(open(sys.argv[1]).read().replace('("127.0.0.1", 0)', '("127.0.0.1", %s)' % sys.argv[3]))
END
rm -f "$d/server/port"
"$python" "$d/patched.py" "$d/server" answers:200 2> "$d/server.err" &
server=$!
pids="$pids $server"
wait_for 20 test -s "$d/server/port" || bad "$(cat "$d/server.err")"
run "$first" 800 OTELPROF_INTERVAL=200ms
equal "files" 0 "$(spooled)"
equal "requests" "$(made)" "$(requests)"
equal "distinct" "$(made)" "$(distinct)"
all_arrived
stop_server
end

begin "another service's spool is left alone"
run 1 200
before=$(spooled)
[ "$before" -gt 0 ] || bad "nothing is in the spool"
server answers:200
run "$port" 600 OTELPROF_INTERVAL=200ms OTEL_SERVICE_NAME=other
equal "files" "$before" "$(spooled)"
stop_server
end

begin "a server that hangs: at the end of the process the message is in the spool"
server silent
run "$port" 200 OTEL_EXPORTER_OTLP_TIMEOUT=10000
equal "files" "$(made)" "$(spooled)"
stop_server
end

begin "a message that is refused for good does not stay"
server answers:400
run "$port" 300 OTELPROF_INTERVAL=100ms
equal "files" 0 "$(spooled)"
equal "distinct" "$(made)" "$(distinct)"
stop_server
end

begin "several processes empty one spool without sending anything twice"
server answers:503
run "$port" 1500 OTELPROF_INTERVAL=100ms
n=$(spooled)
[ "$n" -ge 5 ] || bad "only $n files"
stop_server
rm -f "$d/server/requests" "$d/server/port"
"$python" - "$here/server.py" "$d/server" "$port" << 'END' > "$d/patched.py"
import sys
print(open(sys.argv[1]).read().replace('("127.0.0.1", 0)', '("127.0.0.1", %s)' % sys.argv[3]))
END
"$python" "$d/patched.py" "$d/server" answers:200 2> "$d/server.err" &
server=$!
pids="$pids $server"
wait_for 20 test -s "$d/server/port" || bad "$(cat "$d/server.err")"
for i in 1 2 3; do
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="http://127.0.0.1:$port,file:$p/%p-%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
        OTELPROF_SPOOL="$d/spool" OTEL_SERVICE_NAME=spooler OTELPROF_INTERVAL=200ms "$busy" 1200 > "$d/out.$i" 2>&1 &
    eval "p$i=$!"
done
# shellcheck disable=SC2154
wait "$p1" "$p2" "$p3"
equal "files" 0 "$(spooled)"
equal "requests" "$(made)" "$(requests)"
equal "distinct" "$(made)" "$(distinct)"
all_arrived
stop_server
end

begin "a spool that cannot be made is said"
run 1 100 OTELPROF_SPOOL=/nonexistent/a/b OTELPROF_LOG=warn
grep -q 'OTELPROF_SPOOL cannot be used' "$d/prof.err" || bad "$(cat "$d/prof.err")"
end

finish
