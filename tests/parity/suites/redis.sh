# SPDX-License-Identifier: Apache-2.0
# redis: its tests in Tcl, against the installed server (an event loop, threads of its own, jemalloc, fork to save).
packages='redis-server redis-tools tcl procps'
programs='redis-server tclsh*'
least=250

prepare() {
    source_of redis
}

cases() {
    cp -r "$src/redis/tests" "$src/redis/runtest" "$src/redis/redis.conf" "$src/redis/sentinel.conf" "$src/redis/utils" .
    mkdir -p src
    for program in server cli benchmark check-rdb check-aof; do
        ln -s "$(command -v redis-$program)" src/redis-$program
    done
    set -- unit/type/string unit/type/incr unit/type/hash unit/type/set unit/protocol unit/keyspace unit/scan unit/acl \
        unit/multi unit/dump unit/expire unit/scripting integration/rdb integration/aof
    [ -n "$quick" ] || set -- "$@" unit/type/list unit/type/zset unit/type/stream unit/sort unit/auth unit/other \
        unit/info unit/introspection unit/functions unit/geo unit/hyperloglog unit/bitops unit/pubsub unit/slowlog \
        unit/maxmemory unit/memefficiency unit/lazyfree unit/limits unit/obuf-limits unit/querybuf unit/tracking \
        integration/aof-race integration/replication integration/replication-psync integration/redis-cli \
        integration/redis-benchmark integration/block-repl integration/shutdown integration/logging
    singles=
    for unit; do
        singles="$singles --single $unit"
    done
    # shellcheck disable=SC2086
    under ./runtest --clients 2 --baseport $((20000 + $$ % 20 * 600)) --portcount 500 --timeout 300 $singles > tests.out 2>&1
    echo "status $?" >&2
    cat tests.out >&2
    sed 's/\x1b\[[0-9;]*m//g; s/([0-9]* ms)//' tests.out > plain.out
    parse lines '^\[(?P<result>ok|err|exception|ignore|skip)\]: (?P<name>.*)' plain.out
}
