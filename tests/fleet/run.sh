#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: many processes, and receivers that die: nothing is lost, nothing is stored twice, and a fleet does not
# send all at once. Needs nothing but this repository's programs; tests/interop does the same with the real Collector.
#   FLEET_TIMES   how often the receiver is killed (50)
#   FLEET_COUNT   processes of the fleet (200)
. "$(dirname "$0")/../common.sh"

begin "a receiver that is killed again and again: nothing is lost, nothing is stored twice"
host calm
"$python" "$here/restart.py" "$lib" "$tool" "$host" "$d" "${FLEET_TIMES:-50}" > "$d/out" 2>&1 || bad "$(head -n 5 "$d/out")"
echo "      $(tail -n 1 "$d/out")"
end

begin "a fleet of processes that were started together does not send at once"
host calm
"$python" "$here/fleet.py" "$lib" "$tool" "$host" "$d" "${FLEET_COUNT:-200}" > "$d/out" 2>&1 || bad "$(head -n 5 "$d/out")"
sed 's/^/      /' "$d/out" | tail -n 3
end

finish
