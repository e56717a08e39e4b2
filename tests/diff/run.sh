#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: our answers against those of independent readers of the same bytes. Last line: the count of symbols.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../../tools/dev/apt_packages.sh" gcc g++ binutils lld mold
exec sh "$here/symbols.sh"
