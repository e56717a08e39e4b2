# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh. A Kafka broker of its own, and the Collectors of docs/fleet before it, as they are but for
# addresses: programs send to the gateway, or to an agent before it; `reader` takes what comes out of Kafka.
# kafka is 1 when all of that runs.
kafka=0
for package in maven default-jre-headless; do
    case $package in maven) program=mvn ;; *) program=java ;; esac
    command -v $program > /dev/null || sh "$top/tools/dev/apt_packages.sh" $package > /dev/null 2>&1
done

# The broker in the background; ready when it answers.
broker() {
    "$java" -Xmx512m -cp "$jars/*" kafka.Kafka "$work/broker.properties" > "$work/broker.log" 2>&1 &
    broker_pid=$!
    pids="$pids $!"
    wait_for 60 "$python" -c "import socket; socket.create_connection(('127.0.0.1', $broker), 1)"
}

# The same one day after another: what Maven brings stays in the build folder.
jars=$build/tests/interop/broker
broker_is_there() {
    command -v mvn > /dev/null && command -v java > /dev/null || {
        skip "mvn and java are needed"
        return 1
    }
    java=$(command -v java)
    [ -d "$jars" ] || {
        rm -rf "$jars.new"
        mvn -q -B -f "$here/broker/pom.xml" dependency:copy-dependencies -DoutputDirectory="$jars.new" \
            > "$work/mvn.log" 2>&1 && mv "$jars.new" "$jars" || {
            bad "the broker cannot be had: $(tail -n 3 "$work/mvn.log")"
            return 1
        }
    }
}

begin "a Kafka broker starts"
if broker_is_there; then
    set -- $("$python" -c 'import socket
s = [socket.socket() for _ in range(8)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
    broker=$1 controller=$2 gateway_http=$3 gateway_grpc=$4 gateway_health=$5 agent_http=$6 agent_grpc=$7 agent_health=$8
    cat > "$work/broker.properties" << END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$broker,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$broker
controller.listener.names=CONTROLLER
log.dirs=$work/broker
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
message.max.bytes=20971520
END
    "$java" -Xmx256m -cp "$jars/*" kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA \
        -c "$work/broker.properties" > "$work/format.log" 2>&1 || bad "no folder: $(tail -n 3 "$work/format.log")"
    broker || bad "it does not: $(tail -n 3 "$work/broker.log")"
    [ "$problems" -gt 0 ] || kafka=1
fi
end

if [ "$kafka" = 1 ]; then
    export KAFKA="127.0.0.1:$broker" LISTEN=127.0.0.1 GATEWAY="127.0.0.1:$gateway_http" QUEUE_DIR="$work/agent-queue"
    sed "s/:14318\"/:$gateway_http\"/; s/:14317\"/:$gateway_grpc\"/; s/localhost:13134/127.0.0.1:$gateway_health/" \
        "$top/docs/fleet/gateway.yaml" > gateway.yaml
    sed "s/localhost:4318/127.0.0.1:$agent_http/; s/localhost:4317/127.0.0.1:$agent_grpc/
        s/localhost:13133/127.0.0.1:$agent_health/" "$top/docs/fleet/agent.yaml" > agent.yaml
    cat > reader.yaml << END
receivers:
  kafka:
    brokers: ["127.0.0.1:$broker"]
    profiles: {topics: [otlp_profiles], encoding: otlp_proto}
    initial_offset: earliest
exporters:
  file: {path: $work/kafka.bin, format: proto}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [kafka], exporters: [file]}
END
    start gateway
    start agent
    start reader
    # All of it is there when one profile got through.
    begin "a profile gets through the gateway into Kafka"
    mkdir -p sent
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$d/sent/%e-%p-%n.otlp" OTELPROF_HEAP_INTERVAL=1 /bin/ls > out 2>&1
    wait_for 60 sh -c "\"$tool\" send -t 10 -o \"http://127.0.0.1:$gateway_http\" sent/ls-*.otlp > out 2>&1" || bad "$(tail -n 2 out)"
    arrived --again sent "$work/kafka.bin" || bad "$(head -n 5 out)"
    end
    unset KAFKA LISTEN GATEWAY QUEUE_DIR
fi

kafka_send() { # all at the same time as the others
    export OTELPROF_SHUTDOWN_TIMEOUT=20s
    send kafka_http "http://127.0.0.1:$gateway_http" OTEL_EXPORTER_OTLP_COMPRESSION=zstd OTELPROF_TIMESTAMPS=true
    send kafka_grpc "grpc://127.0.0.1:$gateway_grpc" OTEL_EXPORTER_OTLP_COMPRESSION=gzip
    send kafka_agent "http://127.0.0.1:$agent_http"
    # More than Kafka takes by default.
    mkdir -p sent-kafka_wide
    names="$names kafka_wide"
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$work/sent-kafka_wide/%e-%p-%n.otlp,http://127.0.0.1:$gateway_http" \
        OTELPROF_MEMORY_LIMIT=512m OTELPROF_HEAP_INTERVAL=1 "$hosts/$suite_folder/wide" 90000 > kafka_wide.out 2>&1 &
    pid_kafka_wide=$!
    unset OTELPROF_SHUTDOWN_TIMEOUT
}

kafka_outage() {
    begin "while Kafka is away the gateway says so, what is kept arrives later"
    kill -KILL "$broker_pid"
    wait "$broker_pid" 2> /dev/null
    mkdir -p sent
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$d/sent/%e-%p-%n.otlp,http://127.0.0.1:$gateway_http" OTELPROF_INTERVAL=500ms \
        OTELPROF_SPOOL="$d/spool" OTELPROF_SHUTDOWN_TIMEOUT=1s OTEL_EXPORTER_OTLP_TIMEOUT=2000 OTELPROF_LOG=none \
        "$python" "$work/work.py" 4 > out 2>&1
    equal "exit status" 0 "$?"
    sent=$(find sent -name '*.otlp' | wc -l)
    between "flushes" 4 20 "$sent"
    equal "messages that are kept" "$sent" "$(find spool -name '*.otlp' | wc -l)"
    OTEL_EXPORTER_OTLP_TIMEOUT=2000 "$tool" send -t 3 -o "http://127.0.0.1:$gateway_http" spool > out 2>&1 &&
        bad "otelprof send calls that delivered"
    equal "messages that are kept after that" "$sent" "$(find spool -name '*.otlp' | wc -l)"
    broker || bad "the broker does not come back"
    # A gateway that was asked in vain asks Kafka again after pauses of its own.
    wait_for 120 sh -c "\"$tool\" send -t 30 -o \"http://127.0.0.1:$gateway_http\" spool > out 2>&1" || bad "$(tail -n 2 out)"
    equal "messages that are left" 0 "$(find spool -name '*.otlp' | wc -l)"
    arrived --again sent "$work/kafka.bin" || bad "$(head -n 5 out)"
    echo "      $(tail -n 1 out)"
    end
}
