#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# page.sh [ROUNDS]: how smoothly a flame page with 100,000 frames goes in a browser; its part of docs/PERFORMANCE.md is written anew.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-build}
case $build in /*) ;; *) build=$top/$build ;; esac
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/otelprof"
[ -n "${NO_INSTALL:-}" ] || sh "$top/tools/dev/apt_packages.sh" chromium fonts-dejavu-core
exec python3 "$top/tests/bench/page.py" "$build/otelprof" "${1:-5}"
