#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spool.sh: what cannot be delivered outlives the process, arrives later, and arrives once.
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../servers.sh"
host busy
busy=$host

# program OUTPUT MILLISECONDS [SETTING…]: for so long and until there are $least files in $folder; how long the end may wait
# for a server is $patience: not long where none takes anything
least=0 folder= patience=500ms
program() {
    output=$1 span=$2
    shift 2
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$output,file:$p/%p-%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
        OTELPROF_SHUTDOWN_TIMEOUT=$patience OTELPROF_SPOOL="$d/spool" OTEL_SERVICE_NAME=spooler "$@" \
        "$busy" "$span" "${folder:-$p}" "$least"
    equal "exit status" 3 $?
    equal "output" "done" "$(cat "$d/prof.out")"
    least=0 folder= patience=500ms
}

# run PORT MILLISECONDS [SETTING…]: the same by HTTP
run() {
    to=http://127.0.0.1:$1 span=$2
    shift 2
    program "$to" "$span" OTEL_EXPORTER_OTLP_TIMEOUT=60000 "$@"
}

spooled() {
    find "$d/spool" -type f 2> /dev/null | wc -l
}

made() {
    find "$p" -type f | wc -l
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
    sha256sum "$p"/* | grep -q "^$(sha256sum < "$f" | cut -d ' ' -f 1)" || bad "$f is none of the flushes"
    equal "mode" 600 "$(stat -c %a "$f")"
done
equal "temporary files" 0 "$(find "$d/spool" -name '.tmp*' | wc -l)"
end

begin "the next process of the service delivers what was left, once, and empties the spool"
server answers:503
run "$port" 400 OTELPROF_INTERVAL=200ms
equal "files" "$(made)" "$(spooled)"
[ "$(spooled)" -gt 0 ] || bad "nothing is in the spool"
stop_server
at=$port
server answers:200
patience=30s
folder=$d/spool least=empty
run "$port" 100 OTELPROF_INTERVAL=200ms
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
patience=30s
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
patience=30s
run "$port" 300 OTELPROF_INTERVAL=100ms
equal "files" 0 "$(spooled)"
equal "distinct" "$(made)" "$(distinct)"
stop_server
end

begin "several processes empty one spool without sending anything twice"
server answers:503
least=5
run "$port" 100 OTELPROF_INTERVAL=100ms
n=$(spooled)
[ "$n" -ge 5 ] || bad "only $n files"
stop_server
at=$port
server answers:200
for i in 1 2 3; do
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="http://127.0.0.1:$port,file:$p/%p-%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
        OTELPROF_SPOOL="$d/spool" OTEL_SERVICE_NAME=spooler OTELPROF_INTERVAL=200ms OTELPROF_SHUTDOWN_TIMEOUT=30s \
        "$busy" 1200 "$d/spool" empty > "$d/out.$i" 2>&1 &
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

# ids FILE…: the ids of all profiles, one a line
ids() {
    "$python" - "$here/.." "$@" << 'END'
import gzip, sys
sys.path.insert(0, sys.argv[1])
from judge import fields, one
for name in sys.argv[2:]:
    data = open(name, "rb").read()
    for raw in fields(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)[1]:
        for scope in fields(raw)[2]:
            for p in fields(scope)[2]:
                print(one(fields(p), 7, b"").hex())
END
}

# The profiles of the second folder are those of the first, each once.
same_ids() {
    ids "$1"/* | sort > "$d/ids.1"
    ids "$2"/* | sort > "$d/ids.2"
    [ -s "$d/ids.1" ] || bad "no profile ids in $1"
    equal "profiles that came twice" "" "$(uniq -d "$d/ids.2")"
    cmp -s "$d/ids.1" "$d/ids.2" || bad "$(wc -l < "$d/ids.1") profiles were made, $(wc -l < "$d/ids.2") arrived"
}

# receive ADDRESS: our own receiver, into $d/stored; $address
receive() {
    "$tool" receive --listen "$1" -o "$d/stored" > "$d/receive.out" 2>&1 &
    receiver=$!
    pids="$pids $receiver"
    wait_for 20 grep -q '^listening on' "$d/receive.out" || bad "no receiver: $(cat "$d/receive.out")"
    address=$(sed -n 's/^listening on //p' "$d/receive.out")
}

stop_receive() {
    kill "$receiver"
    wait "$receiver" || bad "the receiver lost something: $(cat "$d/receive.out")"
}

for kind in tcp unix; do
    begin "$kind: what nobody took is in the spool, and arrives with the next process, once"
    case $kind in
    tcp) receive tcp:127.0.0.1:0 && stop_receive && to=$address ;;
    unix) to=unix:$d/socket ;;
    esac
    least=2
    program "$to" 100 OTELPROF_INTERVAL=100ms
    equal "files" "$(made)" "$(spooled)"
    [ "$(made)" -ge 2 ] || bad "only $(made) flushes"
    receive "$to"
    folder=$d/spool least=empty patience=30s
    program "$to" 100 OTELPROF_INTERVAL=100ms
    equal "files left" 0 "$(spooled)"
    stop_receive
    same_ids "$p" "$d/stored"
    end
done

begin "a receiver that is stopped: what it has not read is in the spool"
receive "unix:$d/socket"
kill -STOP "$receiver"
program "unix:$d/socket" 300 OTELPROF_INTERVAL=100ms
[ "$(spooled)" -ge 1 ] || bad "nothing is in the spool"
kill -CONT "$receiver"
folder=$d/spool least=empty patience=30s
program "unix:$d/socket" 100 OTELPROF_INTERVAL=100ms
equal "files left" 0 "$(spooled)"
stop_receive
# What the kernel held comes as well; the receiver knows it by its ids.
same_ids "$p" "$d/stored"
end

begin "otelprof send delivers a spool and empties it"
least=3
run 1 100 OTELPROF_INTERVAL=100ms
n=$(spooled)
[ "$n" -ge 3 ] || bad "only $n files"
touch "$d/spool/readme"
one=$(ls "$d/spool" | head -n 1)
fifo=$(echo "$one" | sed 's/-[0-9]*-\([0-9]*[.]\)/-77777-\1/') inner=$(echo "$one" | sed 's/-[0-9]*-\([0-9]*[.]\)/-88888-\1/')
mkfifo "$d/spool/$fifo"
mkdir "$d/spool/$inner"
receive tcp:127.0.0.1:0
"$tool" send -o "$address" "$d/spool" > "$d/send.out" 2> "$d/send.err"
equal "exit status" 0 $?
grep -q "^$n files with .* sent, 3 others left alone$" "$d/send.out" || bad "$(cat "$d/send.out")"
equal "told to be no files" "$fifo $inner" "$(sed -n 's|.*/\(.*\): this is no file.*|\1|p' "$d/send.err" | sort | tr '\n' ' ' | sed 's/ $//')"
rmdir "$d/spool/$inner"
rm "$d/spool/$fifo"
equal "files left" readme "$(ls "$d/spool")"
stop_receive
same_ids "$p" "$d/stored"
end

begin "otelprof send to a server, by the variables"
run 1 300 OTELPROF_INTERVAL=100ms OTEL_EXPORTER_OTLP_COMPRESSION=gzip
n=$(spooled)
server answers:200
env OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:$port/base" OTEL_EXPORTER_OTLP_COMPRESSION=none \
    OTEL_EXPORTER_OTLP_HEADERS=x-extra=1 "$tool" send "$d/spool" > "$d/send.out" 2>&1
equal "exit status" 0 $?
equal "files left" 0 "$(spooled)"
equal "requests" "$n" "$(requests)"
grep -qv '^/base/v1development/profiles .*encoding=none .*extra=1$' "$d/server/requests" && bad "$(cat "$d/server/requests")"
all_arrived
stop_server
end

begin "otelprof send: what is refused, or finds nobody, stays"
run 1 300 OTELPROF_INTERVAL=100ms
n=$(spooled)
server answers:404
"$tool" send -o "http://127.0.0.1:$port" "$d/spool" > "$d/send.out" 2>&1
equal "exit status" 1 $?
equal "files left" "$n" "$(spooled)"
grep -q 'HTTP status 404' "$d/send.out" || bad "$(cat "$d/send.out")"
stop_server
"$tool" send -t 1 -o http://127.0.0.1:1 "$d/spool" > "$d/send.out" 2>&1
equal "exit status" 1 $?
equal "files left" "$n" "$(spooled)"
grep -q 'connection refused' "$d/send.out" || bad "$(cat "$d/send.out")"
equal "lines about the wait of a second" 0 "$(grep -c waiting "$d/send.out")"
for nobody in tcp:127.0.0.1:1 http://127.0.0.1:1 grpc://127.0.0.1:1 "unix:$d/nobody"; do
    "$tool" send -t 3 -o "$nobody" "$p"/* > "$d/send.out" 2> "$d/send.err"
    equal "exit status" 1 $?
    equal "lines about the wait" 1 "$(grep -c "^otelprof send: waiting for up to 3 s: cannot connect to $nobody: " "$d/send.err")"
    head -n 1 "$d/send.err" | grep -q waiting || bad "it is not the first line: $(cat "$d/send.err")"
done
server answers:503
"$tool" send -t 1 -o "http://127.0.0.1:$port" "$d/spool" > "$d/send.out" 2>&1
equal "exit status" 1 $?
equal "files left" "$n" "$(spooled)"
stop_server
end

# Each attempt makes the pause longer, a server that says "at once" or not.
begin "otelprof send: a server that says \"at once\" is not asked again and again"
run 1 100
for answer in 503 '503;Retry-After: 0' '429;Retry-After: 0' '503;Retry-After: Sun Nov  6 08:49:37 1994'; do
    server "answers:$answer"
    "$tool" send -t 3 -o "http://127.0.0.1:$port" "$p"/*-0.otlp > "$d/send.out" 2>&1
    equal "exit status" 1 $?
    between "requests after $answer" 1 8 "$(requests)"
    stop_server
done
end

begin "a spool is not emptied against a server that says \"at once\" and takes nothing"
run 1 100 OTELPROF_INTERVAL=50ms
server 'answers:503;Retry-After: 0'
least=40
run "$port" 100 OTELPROF_INTERVAL=50ms
between "requests" 1 20 "$(requests)"
[ "$(spooled)" = "$(made)" ] || bad "$(spooled) files in the spool, $(made) messages"
stop_server
end

begin "otelprof send: profiles of any format, which stay; what is none is said"
run 1 200
receive tcp:127.0.0.1:0
mkdir "$d/in"
i=0
for f in "$p"/*; do
    "$tool" convert -o "$d/in/$i.jsonl.zst" "$f" > "$d/convert.out" 2>&1 || bad "$(cat "$d/convert.out")"
    i=$((i + 1))
done
"$tool" send -o "$address" "$d"/in/* > "$d/send.out" 2>&1
equal "exit status" 0 $?
equal "files" "$i" "$(find "$d/in" -type f | wc -l)"
echo nonsense > "$d/nonsense"
"$tool" send -o "$address" "$d/nonsense" > "$d/send.out" 2>&1
equal "exit status" 3 $?
"$tool" send -o file:x "$d/nonsense" > "$d/send.out" 2>&1
equal "exit status" 2 $?
stop_receive
same_ids "$p" "$d/stored"
end

begin "two senders and a process empty one spool together, nothing comes twice"
least=20
run 1 100 OTELPROF_INTERVAL=50ms
n=$(spooled)
[ "$n" -ge 20 ] || bad "only $n files"
server answers:200
"$tool" send -o "http://127.0.0.1:$port" "$d/spool" > "$d/send.1" 2>&1 &
one=$!
"$tool" send -o "http://127.0.0.1:$port" "$d/spool" > "$d/send.2" 2>&1 &
two=$!
wait $one || bad "$(cat "$d/send.1")"
wait $two || bad "$(cat "$d/send.2")"
# What one had while the other looked is gone by now.
equal "files left" 0 "$(spooled)"
equal "requests" "$n" "$(requests)"
equal "distinct" "$n" "$(distinct)"
all_arrived
stop_server
end

begin "a message larger than a request goes out in parts that keep their ids"
mine=$here here=$top/tests/interop
host wide
here=$mine
env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%n.otlp" OTELPROF_MEMORY_LIMIT=512m OTELPROF_HEAP_INTERVAL=1 \
    "$host" 39000 > "$d/prof.out" 2>&1
[ "$(cat "$p"/*.otlp | wc -c)" -gt 4194304 ] || bad "it is not larger"
server h2:status=0
"$tool" send -o "grpc://127.0.0.1:$port" "$p"/*.otlp > "$d/send.out" 2>&1
equal "exit status" 0 $?
equal "requests" "$(ids "$p"/* | wc -l)" "$(requests)"
stop_server
receive tcp:127.0.0.1:0
"$tool" send -o "$address" "$p"/*.otlp > "$d/send.out" 2>&1
equal "exit status" 0 $?
stop_receive
same_ids "$p" "$d/stored"
end

begin "a spool that cannot be made is said"
run 1 100 OTELPROF_SPOOL=/proc/nonexistent/b OTELPROF_LOG=warn
grep -q 'OTELPROF_SPOOL cannot be used' "$d/prof.err" || bad "$(cat "$d/prof.err")"
end

finish
