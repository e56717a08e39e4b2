#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pass.sh SUITE prepare|cases: one step of a suite, started by run.sh with src, scratch and PARITY_SETTINGS in the
# environment. `cases` prints a line `NAME<tab>RESULT` for each case on descriptor 3.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/parity/lib.sh"
. "$here/suites/$1.sh"
case $2 in
prepare)
    set -e
    cd "$src"
    prepare
    ;;
cases)
    cd "$scratch" || exit 1
    cases >&3
    ;;
esac
