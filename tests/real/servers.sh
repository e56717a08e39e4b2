#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# servers.sh: redis-server and nginx under load, with several flushes, and their ends.
. "$(dirname "$0")/../common.sh"
requests=100000
[ -z "${TEST_LONG:-}" ] || requests=400000

free_port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# One redis under the load; what a client sees goes to $1.seen. Further arguments: settings.
run_redis() {
    stem=$1
    shift
    port=$(free_port)
    env "$@" redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$d" > "$d/$stem.out" 2> "$d/$stem.err" &
    server=$!
    pids="$pids $server"
    redis() {
        redis-cli -p "$port" "$@"
    }
    wait_for 20 redis ping > /dev/null || bad "$stem: redis does not answer"
    redis-benchmark -p "$port" -n "$requests" -q -t set,get,incr,lpush,lrange_100,hset -r 1000 > "$d/$stem.bench" 2>&1 ||
        bad "$stem: redis-benchmark fails"
    {
        redis del list set
        for i in 1 2 3 4 5; do redis rpush list "value $i"; done
        redis lrange list 0 -1
        redis sadd set a b c
        redis eval 'local t = 0; for i = 1, 300000 do t = t + i % 7 end; return t' 0
        redis nonsense
        redis config get maxmemory-policy
        redis strlen "$(redis set counter 123456 > /dev/null; echo counter)"
    } > "$d/$stem.seen" 2>&1
    redis shutdown nosave > /dev/null 2>&1
    wait "$server"
    server_status=$?
}

begin "redis-server under redis-benchmark, with OTELPROF_INTERVAL=2s"
if need redis-server redis-benchmark redis-cli; then
    run_redis bare
    equal "exit status, bare" 0 "$server_status"
    run_redis prof LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" OTELPROF_INTERVAL=2s OTELPROF_HEAP_INTERVAL=16k
    equal "exit status" 0 "$server_status"
    same_file bare.seen prof.seen "what the client sees"
    same_file bare.err prof.err "standard error"
    # The log has times and process numbers: its lines without them.
    for f in bare prof; do
        sed 's/^[^#*-]*[#*-] //; s/pid=[0-9]*//; s/port=[0-9]*//' $f.out | grep -v '[Pp]ort\|PID' > $f.log
    done
    same_file bare.log prof.log "the log"
    strict
    redis=$(program redis-server)
    between "flushes" 2 1000 "$(files "$redis" | wc -l)"
    equal "processes" 1 "$(for f in $(files); do judge attr process.pid "$f"; done | sort -u | wc -l)"
    has_function cpu aeMain $(files)
    has_function cpu readQueryFromClient $(files)
    has_function alloc_space zmalloc $(files)
    has_function inuse_space zmalloc $(files)
    # Each flush covers a time of its own.
    for f in $(files); do judge profiles "$f"; done > parts
    [ "$(awk '$1 == "cpu" { s += $3 } END { print int(s / 1e9) }' parts)" -ge 2 ] || bad "the flushes cover no time"
fi
end

# One nginx with two workers; the answer and the load generator's counts go to $1.seen.
run_nginx() {
    stem=$1
    shift
    port=$(free_port)
    root=$d/$stem.root
    mkdir -p "$root/html" "$root/tmp"
    chmod 755 "$work" "$d" "$root"
    chmod 777 "$p" "$root/tmp"
    head -c 30000 "$top/Makefile" > "$root/html/index.html"
    {
        [ "$(id -u)" != 0 ] || echo "user $nginx_user;"
        echo "worker_processes 2; daemon on; pid $root/pid; error_log $root/error.log notice;
        events { worker_connections 256; }
        http { access_log off; gzip on; gzip_types *; keepalive_requests 100000;"
        for kind in client_body proxy fastcgi uwsgi scgi; do
            echo "${kind}_temp_path $root/tmp/$kind;"
        done
        echo "server { listen 127.0.0.1:$port; root $root/html; } }"
    } > "$root/conf"
    env "$@" nginx -c "$root/conf" -e "$root/error.log" > "$d/$stem.out" 2> "$d/$stem.err" < /dev/null
    server_status=$?
    wait_for 20 test -s "$root/pid" || bad "$stem: nginx does not start"
    master=$(cat "$root/pid")
    pids="$pids $master"
    url=http://127.0.0.1:$port/
    {
        "$python" -c 'import sys, urllib.request as u, gzip
r = u.urlopen(u.Request(sys.argv[1], headers={"Accept-Encoding": "gzip"}))
print(r.status, len(gzip.decompress(r.read())))' "$url"
        if command -v ab > /dev/null; then
            ab -q -k -n "$requests" -c 16 -H 'Accept-Encoding: gzip' "$url" | grep -E '^(Document Length|Complete|Failed|Non-2xx)'
        else
            wrk -t 1 -c 16 -d 3 -H 'Accept-Encoding: gzip' "$url" | grep -c 'requests in'
        fi
    } > "$d/$stem.seen" 2>&1
    nginx -c "$root/conf" -e "$root/error.log" -s quit 2> /dev/null
    nginx_is_gone() { # with its last profile, not just its file; nobody may have waited for it
        [ ! -e "/proc/$master" ] || grep -q '^State:.*Z' "/proc/$master/status"
    }
    wait_for 30 nginx_is_gone || bad "$stem: nginx does not end"
    sed 's/^[^[]*//; s/ [0-9]*#[0-9]*:.*signal .*//; s/[0-9]\{3,\}//g' "$root/error.log" | grep -v "signal\|^.notice. *$" | sort -u > "$d/$stem.log"
}

begin "nginx, daemonised, with workers of another user, under load"
if need nginx && { command -v ab > /dev/null || need wrk; }; then
    nginx_user=nobody
    getent passwd www-data > /dev/null && nginx_user=www-data
    run_nginx bare
    equal "exit status, bare" 0 "$server_status"
    run_nginx prof LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" OTELPROF_INTERVAL=500ms OTELPROF_HEAP_INTERVAL=4k
    equal "exit status" 0 "$server_status"
    same_file bare.seen prof.seen "what the client sees"
    same_file bare.out prof.out "standard output"
    same_file bare.err prof.err "standard error"
    same_file bare.log prof.log "the log"
    strict
    # The program that made the daemon, and both workers.
    between "processes" 3 4 "$(files nginx | sed 's/.*nginx-\([0-9]*\).*/\1/' | sort -u | wc -l)"
    between "profiles" 4 1000 "$(files nginx | wc -l)"
    has_function cpu ngx_process_events_and_timers $(files nginx)
    has_function alloc_space ngx_alloc $(files nginx)
    has_function alloc_space ngx_spawn_process $(files nginx)
fi
end
finish
