#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SCRIPT…]: start, stop, flush, rates and the budget while a program runs, and who may ask for it. Last line:
# `N passed, M failed, K skipped`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../../tools/dev/apt_packages.sh" gcc libc6-dev python3 util-linux
[ $# -gt 0 ] || set -- "$here"/[!r]*.sh
SCRIPT_TIMEOUT=900 exec sh "$here/../run.sh" "$@"
