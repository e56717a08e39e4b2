#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# told.sh: what a gRPC server is told with a call, and what later profiles tell of those that were lost.
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../servers.sh"
host busy
busy=$host
"$python" -c 'import hpack' 2> /dev/null || sh "$top/tools/dev/apt_packages.sh" python3-hpack > /dev/null 2>&1

# run OUTPUT FLUSHES [SETTING…]
run() {
    output=$1 least=$2
    shift 2
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$output,file:$p/%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
        OTELPROF_INTERVAL=100ms OTELPROF_SHUTDOWN_TIMEOUT=30s OTELPROF_LOG=none "$@" "$busy" 100 "$p" "$least"
    equal "exit status" 3 $?
    equal "output" "done" "$(cat "$d/prof.out")"
    flushes=$(find "$p" -type f | wc -l)
}

lost() { # what the last flush says of messages that were not delivered
    judge note-of inuse_space otelprof.dropped.export "$(find "$p" -name '*.otlp' | sort -V | tail -n 1)" | sed 's/^$/0/'
}

# A call carries its deadline, the encoding, the names by which the library is known, and what the user says.
for compression in none gzip; do
    begin "gRPC, $compression: metadata and deadline of each call"
    if "$python" -c 'import hpack' 2> /dev/null; then
        server h2:status=0
        run "grpc://localhost:$port" 3 OTEL_EXPORTER_OTLP_TIMEOUT=7000 OTEL_EXPORTER_OTLP_COMPRESSION=$compression \
            OTEL_EXPORTER_OTLP_HEADERS="X-Tenant=a%20b,authorization=Bearer%20c"
        for line in ':method: POST' ':scheme: http' ":authority: localhost:$port" 'te: trailers' 'x-tenant: a b' \
            ':path: /opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export' 'authorization: Bearer c' \
            'content-type: application/grpc' 'otlp-profiles-development-version: 1'; do
            equal "calls with $line" "$flushes" "$(grep -cxF -- "$line" "$d/server/metadata")"
        done
        equal "calls with our name" "$flushes" "$(grep -c '^user-agent: .*libotelprof/' "$d/server/metadata")"
        # A number of at most 8 digits and a unit; no more than was asked for, and not much less.
        equal "calls with a deadline" "$flushes" "$(awk '/^grpc-timeout: [0-9]+[HMSmun]$/ {
            n = substr($2, 1, length($2) - 1); unit = substr($2, length($2))
            ms = unit == "n" ? n / 1e6 : unit == "u" ? n / 1e3 : unit == "m" ? n : unit == "S" ? n * 1e3 : 0
            if (length(n) <= 8 && ms > 1000 && ms <= 7000) good++
        } END { print good + 0 }' "$d/server/metadata")"
        if [ $compression = none ]; then
            grep -q '^grpc-encoding: gzip' "$d/server/metadata" && bad "an encoding that nobody wants"
        else
            equal "calls with the encoding" "$flushes" "$(grep -cx 'grpc-encoding: gzip' "$d/server/metadata")"
        fi
        stop_server
    else
        skip "Python's hpack is not installed"
    fi
    end
done

# One connection serves them all, as long as the server keeps it.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/own.key" -out "$work/own.pem" -days 3 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost 2> /dev/null
for url in http grpc https grpcs; do
    begin "$url: the connection is kept"
    case $url in http*) temper=answers:200 ;; *) temper=h2:status=0 ;; esac
    case $url in
    *s) server $temper "$work/own.pem" "$work/own.key" ;;
    *) server $temper ;;
    esac
    run "$url://localhost:$port" 6 OTEL_EXPORTER_OTLP_CERTIFICATE="$work/own.pem"
    equal "requests" "$flushes" "$(requests)"
    equal "connections" . "$(cat "$d/server/connections")"
    stop_server
    end
done
begin "a server that says good-bye after each call has a connection for each"
server h2:goaway-after
run "grpc://localhost:$port" 4
equal "requests" "$flushes" "$(requests)"
equal "connections" "$flushes" "$(wc -c < "$d/server/connections")"
stop_server
end

# Three are refused for good, and those that come after them say so.
for kind in http grpc; do
    begin "$kind: later profiles count what was refused"
    case $kind in http) server answers:400,400,400,200 ;; grpc) server 'h2:status=3;3;3;0' ;; esac
    run "$kind://127.0.0.1:$port" 8
    equal "requests" "$flushes" "$(requests)"
    equal "messages that were lost" 3 "$(lost)"
    strict
    stop_server
    end
done

begin "nothing is lost, and nothing is said of losses"
server answers:503,200
run "http://127.0.0.1:$port" 5
equal "requests" $((flushes + 1)) "$(requests)"
equal "messages that were lost" 0 "$(lost)"
stop_server
end

# What waits for somebody who never comes takes no more than its part of 1 MiB: the newest are kept, the others counted,
# and new flushes go on.
for waiting in "unix:nobody" "unix:nobody,unix:nowhere" "file:missing/%n.otlp" "unix:nobody,grpc://127.0.0.1:1,file:missing/%n.otlp"; do
    begin "$waiting: a queue that is full drops the oldest and counts them"
    run "$waiting" 150 OTELPROF_MEMORY_LIMIT=1m OTELPROF_INTERVAL=10ms OTELPROF_HEAP_INTERVAL=1 OTELPROF_SHUTDOWN_TIMEOUT=100ms
    told=$(cat "$p"/*.otlp | wc -c)
    [ "$told" -gt 196608 ] || bad "the messages have $told bytes together, which the queue would hold"
    outputs=$(echo "$waiting" | tr ',' '\n' | wc -l)
    between "messages that were lost" 1 $((outputs * flushes)) "$(lost)"
    end
done

# What a server says without end is not kept: the process gets no larger than with a good one.
peak() { # TEMPER: $peak in KiB
    kind=http
    case $1 in h2:*) kind=grpc ;; esac
    rm -rf "$d/server" "$p"
    mkdir "$p"
    server "$1"
    run_to "$d/prof" "$python" "$top/tests/measure.py" "$d/usage" env LD_PRELOAD="$lib" \
        OTELPROF_OUTPUT="$kind://127.0.0.1:$port,file:$p/%n.otlp" OTELPROF_HEAP_INTERVAL=4k OTELPROF_INTERVAL=100ms \
        OTELPROF_SHUTDOWN_TIMEOUT=500ms OTELPROF_LOG=none "$busy" 100 "$p" 8
    equal "exit status" 3 $?
    peak=$(cut -d ' ' -f 2 "$d/usage")
    stop_server
}
begin "answers without end: memory is that of good answers"
peak answers:200
good=$peak
[ "$good" -gt 1000 ] || bad "nothing was measured"
peak h2:status=0
[ "$peak" -le "$good" ] || good=$peak
for temper in endless-head endless-body endless-chunks silent garbage h2:headers h2:flood h2:settings h2:silent; do
    peak $temper
    between "KiB with $temper" 1000 $((good + 2048)) "$peak"
done
end

finish
