# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of tests/export after common.sh: one server of export/server.py at a time, in $d/server.
# shellcheck disable=SC2154

# server TEMPER [CERTIFICATE KEY [WANTS]]: starts one that nothing was asked of yet, on the port $at when that is set; $port
at=
server() {
    mkdir -p "$d/server"
    rm -f "$d/server/port" "$d/server/requests"
    SERVER_PORT=$at "$python" "$here/server.py" "$d/server" "$@" 2> "$d/server.err" &
    server=$!
    pids="$pids $server"
    wait_for 20 test -s "$d/server/port" || bad "the server does not start: $(cat "$d/server.err")"
    port=$(cat "$d/server/port")
    at=
}

stop_server() {
    kill "$server" 2> /dev/null
    wait "$server" 2> /dev/null
}

requests() {
    if [ -f "$d/server/requests" ]; then wc -l < "$d/server/requests"; else echo 0; fi
}

# Requests with a body of their own.
distinct() {
    cut -d ' ' -f 3 "$d/server/requests" 2> /dev/null | sort -u | wc -l
}
