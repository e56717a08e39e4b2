#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: programs profiled into a real OpenTelemetry Collector, over every transport. What the Collector wrote
# is equal, profile by profile, to what the library wrote to files in the same flushes.
#   INTEROP_SECONDS   how long each program is profiled (30)
. "$(dirname "$0")/../common.sh"
seconds=${INTEROP_SECONDS:-30}
limit=$((seconds + 60))

command -v go > /dev/null && command -v openssl > /dev/null || {
    begin "the Collector"
    skip "go and openssl are needed"
    end
    finish
}
collector=$build/tests/interop/collector
mkdir -p "$build/tests/interop"
(cd "$here/collector" && go build -p 2 -trimpath -o "$collector.new" .) > "$work/go.log" 2>&1 &&
    mv "$collector.new" "$collector" || {
    tail -n 5 "$work/go.log"
    begin "the Collector builds"
    bad "it does not"
    end
    finish
}

# certificate NAME SUBJECT_ALT_NAMES
certificate() {
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2> /dev/null
    echo "subjectAltName=$2" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" \
        -out "$1.pem" 2> /dev/null
}
cd "$work" || exit 1
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca 2> /dev/null
certificate server DNS:localhost,IP:127.0.0.1
certificate client DNS:client

# Ports that nobody has now.
set -- $("$python" -c 'import socket
s = [socket.socket() for _ in range(8)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
http=$1 grpc=$2 https=$3 grpcs=$4 hop_http=$5 hop_grpc=$6 hop2_http=$7 hop2_grpc=$8

# start NAME: the Collector with NAME.yaml
start() {
    "$collector" --config "file:$work/$1.yaml" --feature-gates=+service.profilesSupport > "$work/$1.log" 2>&1 &
    pids="$pids $!"
    eval "$1_pid=$!"
    wait_for 30 grep -q 'Everything is ready' "$work/$1.log" || {
        cat "$work/$1.log"
        begin "Collector $1 starts"
        bad "it does not"
        end
        finish
    }
}

# arrived WORD...: waits until compare.py finds all of it, with what it says in `out`. File exporters write what they
# have within a second or so.
arrived() {
    last_try=$(($(date +%s) + 30))
    until "$python" "$here/compare.py" "$@" > out 2>&1; do
        [ "$(date +%s)" -lt "$last_try" ] || return 1
        sleep 0.1
    done
}

cat > direct.yaml << END
receivers:
  otlp:
    protocols:
      http: {endpoint: 127.0.0.1:$http}
      grpc: {endpoint: 127.0.0.1:$grpc}
  otlp/tls:
    protocols:
      http: {endpoint: 127.0.0.1:$https, tls: {cert_file: $work/server.pem, key_file: $work/server.key}}
      grpc:
        endpoint: 127.0.0.1:$grpcs
        tls: {cert_file: $work/server.pem, key_file: $work/server.key, client_ca_file: $work/ca.pem}
exporters:
  debug: {verbosity: basic}
  file: {path: $work/direct.bin, format: proto}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [otlp, otlp/tls], exporters: [debug, file]}
END
cat > last.yaml << END
receivers:
  otlp:
    protocols: {http: {endpoint: 127.0.0.1:$hop2_http}, grpc: {endpoint: 127.0.0.1:$hop2_grpc}}
exporters:
  file: {path: $work/last.bin, format: proto}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [file]}
END
cat > first.yaml << END
receivers:
  otlp:
    protocols: {http: {endpoint: 127.0.0.1:$hop_http}, grpc: {endpoint: 127.0.0.1:$hop_grpc}}
exporters:
  otlp_grpc: {endpoint: 127.0.0.1:$hop2_grpc, compression: zstd, tls: {insecure: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [otlp_grpc]}
END
start direct
start last
start first
. "$here/kafka.sh"

cat > work.py << 'END'
import sys, time, threading
end = time.time() + float(sys.argv[1])
def busy(n):
    kept = []
    while time.time() < end:
        kept.append([str(i) * 3 for i in range(2000)])
        del kept[:-20]
        time.sleep(0.02)
threads = [threading.Thread(target=busy, args=(i,), name="busy-%d" % i) for i in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
END

# send NAME OUTPUT [VARIABLE=VALUE...]: profiles python3 in the background; what it sent is in sent-NAME.
names=
send() {
    name=$1 output=$2
    shift 2
    mkdir -p "$work/sent-$name"
    names="$names $name"
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$work/sent-$name/%e-%p-%n.otlp,$output" OTELPROF_INTERVAL=5s \
        OTELPROF_HEAP_INTERVAL=64k OTEL_SERVICE_NAME="$name" "$@" \
        "$python" "$work/work.py" "$seconds" > "$work/$name.out" 2>&1 &
    pids="$pids $!"
    eval "pid_$name=$!"
}

e=OTEL_EXPORTER_OTLP
send http_protobuf otlp ${e}_ENDPOINT="http://127.0.0.1:$http"
send http_gzip "http://localhost:$http" ${e}_COMPRESSION=gzip
send http_zstd "http://localhost:$http" ${e}_COMPRESSION=zstd
send http_json otlp ${e}_ENDPOINT="http://127.0.0.1:$http/" ${e}_PROTOCOL=http/json
send json_gzip otlp ${e}_PROFILES_ENDPOINT="http://127.0.0.1:$http/v1development/profiles" \
    ${e}_PROTOCOL=http/json ${e}_COMPRESSION=gzip OTELPROF_TIMESTAMPS=true
send grpc_plain otlp ${e}_ENDPOINT="http://127.0.0.1:$grpc" ${e}_PROTOCOL=grpc OTELPROF_TIMESTAMPS=true
send grpc_gzip "grpc://localhost:$grpc" ${e}_COMPRESSION=gzip ${e}_HEADERS=x-tenant=a%20b
send https_gzip "https://localhost:$https" ${e}_COMPRESSION=gzip ${e}_CERTIFICATE="$work/ca.pem"
send grpc_mtls otlp ${e}_ENDPOINT="localhost:$grpcs" ${e}_PROTOCOL=grpc ${e}_CERTIFICATE="$work/ca.pem" \
    ${e}_CLIENT_KEY="$work/client.key" ${e}_CLIENT_CERTIFICATE="$work/client.pem" ${e}_COMPRESSION=zstd
send hops_http "http://127.0.0.1:$hop_http" ${e}_COMPRESSION=zstd
send hops_grpc "grpc://127.0.0.1:$hop_grpc" ${e}_COMPRESSION=gzip
# More than a gRPC receiver takes at once (4 MiB), but less in each profile alone.
host wide
mkdir -p sent-wide
names="$names wide"
env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$work/sent-wide/%e-%p-%n.otlp,grpc://127.0.0.1:$grpc" \
    OTELPROF_MEMORY_LIMIT=512m OTELPROF_HEAP_INTERVAL=1 OTELPROF_SHUTDOWN_TIMEOUT=20s "$host" 39000 > wide.out 2>&1 &
pid_wide=$!
[ "$kafka" = 0 ] || kafka_send
# Spans and labels: links have to arrive as they were sent, also through a second Collector.
gcc -std=gnu11 -O1 -I"$top" -o "$hosts/$suite_folder/many" "$top/tests/context/many.c"
for hop in direct hops; do
    mkdir -p "sent-${hop}_spans"
    names="$names ${hop}_spans"
    case $hop in direct) to=http://127.0.0.1:$http ;; *) to=grpc://127.0.0.1:$hop_grpc ;; esac
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$work/sent-${hop}_spans/%e-%p-%n.otlp,$to" OTELPROF_HEAP_INTERVAL=1 \
        OTELPROF_SHUTDOWN_TIMEOUT=20s "$hosts/$suite_folder/many" 5000 > "${hop}_spans.sum" 2> "${hop}_spans.out" &
    eval "pid_${hop}_spans=$!"
done
if ! command -v redis-server > /dev/null || ! command -v redis-benchmark > /dev/null; then
    begin "redis: what was sent is what arrived"
    skip "redis is not installed"
    end
else
    mkdir -p sent-redis
    names="$names redis"
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$work/sent-redis/%e-%p-%n.otlp,grpc://127.0.0.1:$grpc" \
        OTELPROF_INTERVAL=5s OTELPROF_HEAP_INTERVAL=64k redis-server --port 0 --unixsocket "$work/redis.sock" \
        --save '' --dir "$work" > redis.out 2>&1 &
    pid_redis=$!
    pids="$pids $!"
    wait_for 20 redis-cli -s "$work/redis.sock" ping > /dev/null
    timeout "$seconds" redis-benchmark -s "$work/redis.sock" -q -l -c 4 -t set,get,lpush -d 100 > bench.out 2>&1
    redis-cli -s "$work/redis.sock" shutdown nosave > /dev/null 2>&1
fi

for n in $names; do
    eval "wait \"\$pid_$n\""
    eval "status_$n=$?"
done
stream_of() { # NAME
    case $1 in hops_*) echo "$work/last.bin" ;; kafka_*) echo "$work/kafka.bin" ;; *) echo "$work/direct.bin" ;; esac
}
# What is not there in time is told below.
for n in $names; do
    arrived "$work/sent-$n" "$(stream_of "$n")"
done
for c in first direct last; do # those before Kafka are still needed
    eval "kill -TERM \$${c}_pid"
    eval "wait \$${c}_pid" 2> /dev/null
done

for n in $names; do
    begin "$n: what was sent is what arrived"
    eval "status=\$status_$n"
    equal "exit status" 0 "$status"
    [ "$n" = redis ] || equal "output" "" "$(cat "$work/$n.out")"
    case $n in
    *_spans) equal "spans that were sent" 5000 "$(judge links alloc_space "$work/sent-$n"/*.otlp | grep -vc -- ' - -$')" ;;
    esac
    "$python" "$here/compare.py" "$work/sent-$n" "$(stream_of "$n")" > out 2>&1 || bad "$(head -n 5 out)"
    echo "      $n: $(tail -n 1 out)"
    case $n in
    wide) between "bytes in one message" 4194304 8000000 "$(cat "$work/sent-wide"/*.otlp | wc -c)" ;;
    kafka_wide) between "bytes in one message" 8000000 20000000 "$(cat "$work/sent-kafka_wide"/*.otlp | wc -c)" ;;
    esac
    case $n in
    kafka_*) equal "messages in Kafka" "$(find "$work/sent-$n" -name '*.otlp' | wc -l)" "$(sed -n 's/.* arrived in \([0-9]*\) messages/\1/p' out)" ;;
    esac
    end
    begin "$n: the Collector's decoder reads the files"
    "$collector" decode "$work/sent-$n"/*.otlp > out 2>&1 || bad "$(head -n 3 out)"
    "$tool" check --strict "$work/sent-$n"/*.otlp > out 2>&1 || bad "$(grep -v ': ok' out | head -n 3)"
    end
done

if [ "$kafka" = 1 ]; then
    kafka_outage
    kill -KILL "$broker_pid"
fi

# ---- fleets: see tests/fleet ---------------------------------------------------------------------

for f in agent gateway; do
    begin "the Collector understands docs/fleet/$f.yaml"
    QUEUE_DIR=$d/queue "$collector" validate --config "file:$top/docs/fleet/$f.yaml" --feature-gates=+service.profilesSupport > out 2>&1 ||
        bad "$(head -n 3 out)"
    # One that makes no sense is refused, or nothing was looked at.
    sed 's/exporters: \[/exporters: [nothing, /' "$top/docs/fleet/$f.yaml" > "$d/bad.yaml"
    QUEUE_DIR=$d/queue "$collector" validate --config "file:$d/bad.yaml" --feature-gates=+service.profilesSupport > out 2>&1 &&
        bad "a pipeline to nowhere is understood as well"
    end
done

here=$top/tests/fleet
host calm
begin "Collectors that end at random moments: nothing is lost, nothing is found twice"
"$python" "$here/collector.py" "$collector" "$lib" "$tool" "$host" "$d" "${INTEROP_ROUNDS:-25}" > out 2>&1 || bad "$(head -n 5 out)"
echo "      $(tail -n 1 out)"
end

begin "200 processes and one Collector: their flushes come spread over the interval"
"$python" "$here/fleet.py" "$lib" "$tool" "$host" "$d" "${FLEET_COUNT:-200}" "$collector" > out 2>&1 || bad "$(head -n 5 out)"
sed 's/^/      /' out | tail -n 2
end

finish
