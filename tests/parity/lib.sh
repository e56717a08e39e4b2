# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and pass.sh: where things are, and what the suites use.
# shellcheck disable=SC2034
here=$top/tests/parity
build=${BUILD:-$top/build}
case $build in /*) ;; *) build=$top/$build ;; esac
lib=${TEST_LIB:-$build/libotelprof.so}
tool=${TEST_TOOL:-$build/otelprof}
store=${PARITY_STORE:-$build/parity}
python=/usr/bin/python3
quick=${QUICK:-}
[ -n "$quick" ] || [ "${CI:-}" != true ] || quick=1
[ "$quick" != 0 ] || quick=
export out="${scratch:-}/out"

# source_of PACKAGE: the distribution's source package, with its patches, in $src/PACKAGE
source_of() {
    [ ! -e "$src/$1.done" ] || return 0
    APT_SOURCE_STATE="$store/apt" sh "$top/tools/dev/apt_source.sh" "$src/download" "$1"
    rm -rf "${src:?}/$1"
    dpkg-source --no-check -x "$src/download/$1"_*.dsc "$src/$1"
    rm -rf "$src/download"
    touch "$src/$1.done"
}

# once NAME COMMAND...: not again when it has succeeded
once() {
    [ ! -e "$src/$1.done" ] || return 0
    stamp=$src/$1.done
    shift
    "$@"
    touch "$stamp"
}

# under COMMAND...: in the environment of this pass
under() {
    # shellcheck disable=SC2086
    env -u PARITY_SETTINGS $PARITY_SETTINGS "$@"
}

# each JOBS SECONDS COMMAND...: `COMMAND NAME` under the pass's environment, for each NAME of stdin, so many at a time.
# Output, exit status: $out/NAME.out and .status, with + for each / of the name.
each() {
    jobs=$1 seconds=$2
    shift 2
    mkdir -p "$out"
    # shellcheck disable=SC2016
    xargs -P "$jobs" -I '{}' sh -c '
        name=$1 seconds=$2
        shift 2
        stem=$out/$(printf %s "$name" | tr / +)
        timeout -k 5 "$seconds" env -u PARITY_SETTINGS $PARITY_SETTINGS "$@" "$name" > "$stem.out" 2> "$stem.err" < /dev/null
        echo $? > "$stem.status"' one '{}' "$seconds" "$@"
}

# What each has left, as cases: exit status and a digest of the output. Arguments: sed expressions for what is to differ.
digests() {
    for status in "$out"/*.status; do
        stem=${status%.status}
        sum=$(cat "$stem.out" "$stem.err" | sed -e "s|$scratch|SCRATCH|g" "$@" | sha256sum | cut -c 1-16)
        word=ok
        [ "$(cat "$status")" = 0 ] || word=fail
        printf '%s\t%s %s %s\n' "$(basename "$stem")" "$word" "$(cat "$status")" "$sum"
    done
}

parse() {
    "$python" "$here/cases.py" "$@"
}
