#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SCRIPT…]: samples that know their span and labels. Installs the compilers that it needs. Last line:
# `N passed, M failed, K skipped`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../../tools/dev/apt_packages.sh" g++ clang python3
[ $# -gt 0 ] || set -- "$here"/[!r]*.sh
SCRIPT_TIMEOUT=900 exec sh "$here/../run.sh" "$@"
