#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hostile.sh: OTLP outputs and servers of every kind of manners. Whatever a server does, the program's output,
# status and time are its own, nothing is sent twice that was answered, and what is lost is said.
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../servers.sh"
host busy
busy=$host

# run OUTPUT MILLISECONDS [SETTING…]: the program, profiled into OUTPUT and a file, for so long and until there are $least
# files in $folder, which is that of the flushes. The end of the process may wait for 30 s, and one request for 10 min: when it comes sooner, that is not because of
# these. The program sees to it that none of its threads waits or does a flush's work (busy.c).
least=0 folder=
run() {
    output=$1 span=$2
    shift 2
    run_to "$d/prof" "$python" "$here/steps.py" "$d/end" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$output,file:$p/%n.otlp" \
        OTELPROF_HEAP_INTERVAL=4k OTELPROF_SHUTDOWN_TIMEOUT=30s OTELPROF_LOG=warn OTEL_EXPORTER_OTLP_TIMEOUT=600000 \
        "$@" "$busy" "$span" "${folder:-$p}" "$least"
    equal "exit status" 3 $?
    equal "output" "done" "$(cat "$d/prof.out")"
    flushes=$(find "$p" -type f | wc -l)
    [ "$flushes" -ge 1 ] || bad "no flush"
    least=0 folder=
    ends_within 15000
}

# ends_within MILLISECONDS: from the program's last line to the end of its process
ends_within() {
    between "ms to the end of the process" 0 "$1" "$(cat "$d/end")"
}

says() {
    for words; do
        grep -qF -- "$words" "$d/prof.err" || bad "standard error does not say '$words': $(head -c 400 "$d/prof.err")"
    done
}

quiet() {
    equal "standard error" "" "$(cat "$d/prof.err")"
}

begin "a good server gets each flush once, with all headers"
server answers:200
run "http://127.0.0.1:$port" 700 OTELPROF_INTERVAL=200ms OTEL_EXPORTER_OTLP_HEADERS="x-extra=a%20b"
quiet
equal "requests" "$flushes" "$(requests)"
equal "distinct" "$flushes" "$(distinct)"
grep -qv '^/v1development/profiles .* type=application/x-protobuf encoding=none version=1 agent=libotelprof/.* extra=a b$' \
    "$d/server/requests" && bad "$(head -n 1 "$d/server/requests")"
for n in $(seq 0 $((flushes - 1))); do
    cmp -s "$d/server/$n.body" "$p/$n.otlp" || bad "body $n is not the file's message"
done
# CPU and heap travel together, and as a receiver wants them.
strict
for type in samples cpu alloc_objects alloc_space inuse_objects inuse_space; do
    judge profiles "$p"/*.otlp | grep -q "^$type " || bad "no $type"
done
judge conform "$p"/*.otlp > "$d/conform"
equal "what a receiver trips over" "" "$(sed '$d' "$d/conform")"
[ "$(sed -n '$s/ samples$//p' "$d/conform")" -gt 0 ] || bad "no samples"
stop_server
end

begin "the path of an endpoint, and the encodings"
server answers:200
for pair in ENDPOINT=/:/v1development/profiles ENDPOINT=/base:/base/v1development/profiles \
    ENDPOINT=/base/:/base/v1development/profiles PROFILES_ENDPOINT=/own/path:/own/path PROFILES_ENDPOINT=:/; do
    rm -f "$d/server/requests"
    name=${pair%%=*} rest=${pair#*=}
    run otlp 100 "OTEL_EXPORTER_OTLP_$name=http://127.0.0.1:$port${rest%%:*}" OTEL_EXPORTER_OTLP_COMPRESSION=gzip
    equal "path for $pair" "${rest#*:} gzip" "$(sed 's/^\([^ ]*\) .*encoding=\([a-z]*\).*/\1 \2/' "$d/server/requests" | sort -u)"
done
quiet
stop_server
end

for code in 400 401 403 404 405 408 413 415 418 500 501 505 300 302 304 307; do
    begin "$code is final: one request for each flush, and it is said"
    server "answers:$code;Location: http://127.0.0.1:1/;=hex:1207746f6f20626967"
    run "http://127.0.0.1:$port" 100
    equal "requests" "$flushes" "$(requests)"
    says "HTTP status $code"
    [ "$code" = 304 ] || says "too big"
    stop_server
    end
done

# At the default log level: one line says what became of the profiles, and whose fault it is.
for answer in 404 400 307 garbage grpc-3 grpc-16; do
    begin "$answer: the loss is an error, said once"
    case $answer in
    garbage) server garbage; url=http words="this is no HTTP/1 response" ;;
    grpc-*) server "h2:status=${answer#grpc-}"; url=grpc words="gRPC status ${answer#grpc-}" ;;
    *) server "answers:$answer"; url=http words="HTTP status $answer" ;;
    esac
    least=2
    run "$url://127.0.0.1:$port" 100 OTELPROF_INTERVAL=200ms OTELPROF_LOG=
    one_line "$d/prof.err" "error: $url://127.0.0.1:$port has refused a profile for good: $words"
    stop_server
    end
done

begin "a partial success is no error"
server "answers:200;=hex:0a09080312056e6f206f6b"
run "http://127.0.0.1:$port" 100 OTELPROF_LOG=
quiet
equal "requests" "$flushes" "$(requests)"
stop_server
end

begin "a refusal that stays is said once, counted, and said again when it is over"
server "answers:400,400,400,200"
least=5
run "http://127.0.0.1:$port" 100 OTELPROF_INTERVAL=100ms
says "HTTP status 400" "taken as they are again; not so before: 3"
equal "lines" 2 "$(wc -l < "$d/prof.err")"
stop_server
end

begin "a refusal that changes is said again"
server "answers:400,400,403,403,400,403,500"
least=8
run "http://127.0.0.1:$port" 100 OTELPROF_INTERVAL=100ms
says "HTTP status 400" "HTTP status 403; the same or the like before: 2" "HTTP status 500"
equal "lines" 3 "$(wc -l < "$d/prof.err")"
stop_server
end

for code in 201 202 204 206 299; do
    begin "$code is a success: each flush once, and nothing is said"
    server "answers:$code"
    run "http://127.0.0.1:$port" 300 OTELPROF_INTERVAL=100ms
    quiet
    equal "requests" "$flushes" "$(requests)"
    equal "distinct" "$flushes" "$(distinct)"
    stop_server
    end
done

begin "429 with a long Retry-After: one request, however many flushes wait, a line when it begins and one of the loss"
server "answers:429;Retry-After: 3600"
least=5
run "http://127.0.0.1:$port" 100 OTELPROF_INTERVAL=50ms
equal "requests" 1 "$(requests)"
says "HTTP status 429" "what was kept is lost: $flushes profiles"
equal "lines" 2 "$(wc -l < "$d/prof.err")"
stop_server
end

# retry_info DURATION: a google.rpc.Status{8, details: [Any{RetryInfo{DURATION}}]}, the duration as bytes in hexadecimal
retry_info() {
    "$python" -c 'import base64, sys
delay = bytes.fromhex(sys.argv[1])
info = b"\x0a" + bytes([len(delay)]) + delay
any = b"\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12" + bytes([len(info)]) + info
print(base64.b64encode(b"\x08\x08\x1a" + bytes([len(any)]) + any).decode().rstrip("="))' "$1"
}

# A server that says "at once" gets no more requests than one that says nothing: our own pauses grow while the program runs, and
# are a fifth of a second at the end, which waits for 1 s here.
for answer in 503 '503;Retry-After: 0' '429;Retry-After: 0' '503;Retry-After: Sun Nov  6 08:49:37 1994' \
    "14/$(retry_info '')" "8/$(retry_info '')" "8/$(retry_info 0800)" "14/$(retry_info 1001)" "8/$(retry_info 10c0843d)"; do
    begin "$answer: no more requests than our own pauses allow, however many flushes wait"
    case $answer in
    */*) server "h2:status=$answer"; url=grpc ;;
    *) server "answers:$answer"; url=http ;;
    esac
    least=40
    run "$url://127.0.0.1:$port" 100 OTELPROF_INTERVAL=20ms OTELPROF_SHUTDOWN_TIMEOUT=1s
    between "requests" 2 25 "$(requests)"
    stop_server
    end
done

for code in 429 502 503 504; do
    begin "$code is tried again until it is taken"
    server "answers:$code,200"
    run "http://127.0.0.1:$port" 100
    equal "requests" $((flushes + 1)) "$(requests)"
    equal "distinct" "$flushes" "$(distinct)"
    stop_server
    end
done

begin "Retry-After in seconds is kept, also at the end"
server "answers:503;Retry-After: 3600,200"
run "http://127.0.0.1:$port" 100
equal "requests" 1 "$(requests)"
says "HTTP status 503"
stop_server
end

begin "Retry-After as a date is kept while the program runs"
server "answers:503;date,200"
folder=$d/server least=5 # its port, its requests, and the bodies of three that it took
run "http://127.0.0.1:$port" 100 OTELPROF_INTERVAL=300ms
equal "distinct" "$flushes" "$(distinct)"
equal "requests" $((flushes + 1)) "$(requests)"
stop_server
end

begin "a partial success is said and never sent again"
server "answers:200;=hex:0a09080312056e6f206f6b"
run "http://127.0.0.1:$port" 100
equal "requests" "$flushes" "$(requests)"
says "no ok" "profiles rejected: 3"
stop_server
end

begin "a partial success of nothing is no news"
server "answers:200;=hex:0a00"
run "http://127.0.0.1:$port" 100
quiet
stop_server
end

for t in silent slow deaf close cut half reset; do
    begin "$t: the program ends in time"
    server $t
    run "http://127.0.0.1:$port" 400 OTELPROF_INTERVAL=200ms OTELPROF_SHUTDOWN_TIMEOUT=500ms
    ends_within 4000
    [ "$t" = slow ] || says "127.0.0.1"
    stop_server
    end
done

for t in endless-head endless-body endless-chunks garbage two-lengths chunk-lie bad-gzip; do
    begin "$t: final, once for each flush"
    server $t
    run "http://127.0.0.1:$port" 400 OTELPROF_INTERVAL=200ms
    equal "requests" "$flushes" "$(requests)"
    stop_server
    end
done

begin "nobody listens"
run "http://127.0.0.1:1" 300 OTELPROF_INTERVAL=100ms OTELPROF_SHUTDOWN_TIMEOUT=500ms
says "connection refused"
between "lines" 1 2 "$(wc -l < "$d/prof.err")"
end

# What an output does not take until the end is said, at the default log level: a line when it begins, one with what is lost.
for what in http:503 http:429 http:502 grpc:14 grpc:1 http:nobody grpc:nobody tcp:nobody unix:nobody; do
    begin "$what: a line when it begins, and one with how many profiles are lost"
    case $what in
    tcp:nobody) url=tcp:127.0.0.1:1 ;;
    unix:nobody) url=unix:$d/nobody ;;
    *:nobody) url=${what%:*}://127.0.0.1:1 ;;
    grpc:*) server "h2:status=${what#*:}"; url=grpc://127.0.0.1:$port ;;
    *) server "answers:${what#*:}"; url=http://127.0.0.1:$port ;;
    esac
    least=5
    run "$url" 100 OTELPROF_INTERVAL=50ms OTELPROF_SHUTDOWN_TIMEOUT=300ms OTELPROF_LOG=
    equal "lines" 2 "$(wc -l < "$d/prof.err")"
    equal "lines that begin it" 1 "$(grep -c "error: .*$url.*; the profile is kept and tried again\$" "$d/prof.err")"
    equal "lines that end it" 1 "$(tail -n 1 "$d/prof.err" | grep -c "error: .*$url.*; what was kept is lost: $flushes profiles\$")"
    case $what in *:nobody) ;; *) stop_server ;; esac
    end
done

begin "what gave way to newer ones is among what is lost at the end"
least=150
run "unix:$d/nobody,http://127.0.0.1:1" 100 OTELPROF_INTERVAL=10ms OTELPROF_MEMORY_LIMIT=1m OTELPROF_HEAP_INTERVAL=1 \
    OTELPROF_SHUTDOWN_TIMEOUT=100ms OTELPROF_LOG=
[ "$(cat "$p"/*.otlp | wc -c)" -gt 196608 ] || bad "the queues would hold all of it"
equal "lines" 4 "$(wc -l < "$d/prof.err")"
equal "lines with the loss" 2 "$(grep -c "; what was kept is lost: $flushes profiles\$" "$d/prof.err")"
end

begin "what arrives before the end is not lost"
server answers:503,503,200
least=5
run "http://127.0.0.1:$port" 100 OTELPROF_INTERVAL=50ms OTELPROF_LOG=
one_line "$d/prof.err" "; the profile is kept and tried again"
equal "distinct" "$flushes" "$(distinct)"
stop_server
end

begin "a shutdown time-out of 0 waits for nothing"
server silent
run "http://127.0.0.1:$port" 200 OTELPROF_SHUTDOWN_TIMEOUT=0
ends_within 1500
stop_server
end

begin "an endpoint that makes no sense"
run otlp 100 OTEL_EXPORTER_OTLP_ENDPOINT=ftp://x
says "must be an http:// or https:// URL"
run otlp 100 OTEL_EXPORTER_OTLP_ENDPOINT="http://user:secret@127.0.0.1:1"
says "without a password"
grep -q secret "$d/prof.err" && bad "the password is in the log"
end

for variable in OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT OTELPROF_OUTPUT; do
    for scheme in https grpc; do
        begin "$variable=$scheme: an endpoint with a password: the line names the variable, not the password"
        url=$scheme://user:secret@127.0.0.1:1 protocol=http/protobuf
        [ "$scheme" != grpc ] || protocol=grpc
        if [ "$variable" = OTELPROF_OUTPUT ]; then
            run "$url" 100 OTELPROF_LOG=
        else
            run otlp 100 OTELPROF_LOG= "$variable=$url" OTEL_EXPORTER_OTLP_PROTOCOL=$protocol
        fi
        one_line "$d/prof.err" "error: cannot use the endpoint: " "$variable must be " "without a password"
        grep -q 'secret\|user' "$d/prof.err" && bad "the password is in the log"
        end
    done
done

begin "secrets of headers are nowhere"
server answers:403
run "http://127.0.0.1:$port" 100 OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20topsecret,broken%zz=topsecret" OTELPROF_LOG=debug
says 'error: OTEL_EXPORTER_OTLP_HEADERS: header 2 "broken%zz" is ignored: that is no name of a header'
grep -q topsecret "$d/prof.err" && bad "in the log"
grep -q topsecret "$p"/* && bad "in a profile"
stop_server
end

for t in garbage goaway reset refuse flood headers silent no-status settings; do
    begin "gRPC $t: the program ends in time"
    server "h2:$t"
    run "grpc://127.0.0.1:$port" 400 OTELPROF_INTERVAL=200ms OTELPROF_SHUTDOWN_TIMEOUT=500ms
    ends_within 4000
    says "127.0.0.1"
    stop_server
    end
done

begin "gRPC: a good server gets each flush once"
server "h2:status=0"
run "grpc://127.0.0.1:$port" 600 OTELPROF_INTERVAL=200ms
quiet
equal "requests" "$flushes" "$(requests)"
stop_server
end

begin "gRPC: a server that says good-bye after each call gets each flush once"
server "h2:goaway-after"
run "grpc://127.0.0.1:$port" 600 OTELPROF_INTERVAL=200ms
quiet
equal "requests" "$flushes" "$(requests)"
stop_server
end

for code in 1 4 10 11 14 15; do
    begin "gRPC status $code is tried again"
    server "h2:status=$code;0"
    run "grpc://127.0.0.1:$port" 100
    equal "requests" $((flushes + 1)) "$(requests)"
    stop_server
    end
done

for code in 2 3 5 6 7 8 9 12 13 16; do
    begin "gRPC status $code is final"
    server "h2:status=$code"
    run "grpc://127.0.0.1:$port" 100
    equal "requests" "$flushes" "$(requests)"
    says "gRPC status $code: no room"
    stop_server
    end
done

begin "gRPC: RESOURCE_EXHAUSTED with RetryInfo is tried again"
server "h2:status=8/$(retry_info 1080c2d72f);0" # 100 ms
run "grpc://127.0.0.1:$port" 100
equal "requests" $((flushes + 1)) "$(requests)"
stop_server
end

finish
