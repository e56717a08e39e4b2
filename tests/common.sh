# SPDX-License-Identifier: Apache-2.0
# Sourced by the test scripts. A test is: `begin NAME` … checks … `end`. A check that fails says so and the test
# goes on; `finish` prints the script's closing line `N passed, M failed, K skipped` and exits with 0 or 1.
#
#   bare CMD…      runs a command without the library: $d/bare.out, $d/bare.err, $bare_status
#   prof CMD…      the same under the library: $d/out, $d/err, $status, profiles in $p (OTELPROF_OUTPUT is set)
#   same           status, stdout and stderr of both are equal
#   strict         each profile in $p is clean, and at least one is there
# Settings for prof go into the variable `settings`, as words for env(1). bare and prof read stdin from $input.
set -u
# shellcheck disable=SC2086,SC2034

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build}
case $build in /*) ;; *) build=$top/$build ;; esac
lib=${TEST_LIB:-$build/libotelprof.so}
tool=${TEST_TOOL:-$build/otelprof}
hosts=$build/tests
here=$(cd "$(dirname "$0")" && pwd)
suite=$(basename "$0" .sh)
limit=${TEST_TIMEOUT:-120} # seconds for one command
python=$(command -v /usr/bin/python3 || command -v python3)

# Nothing that the caller has set may change what is tested.
for v in $(env | sed -n 's/^\(OTEL[A-Z_]*\)=.*/\1/p'); do
    unset "$v"
done
export LC_ALL=C.UTF-8
# Tests run at rates and flush far more often than anybody would; what follows from the rates they ask for is what they
# look at, not what a budget would make of them (that is tests/control).
export OTELPROF_CPU_BUDGET=100%

work=$(mktemp -d "${TMPDIR:-/tmp}/otelprof-test.XXXXXX")
passed=0 failed=0 skipped=0 problems=0 name='' pids='' settings='' input=/dev/null is_skipped=0 count=0
mounts=''

clean_up() {
    for pid in $pids; do
        kill "$pid" 2> /dev/null
    done
    for m in $mounts; do
        umount "$m" 2> /dev/null
    done
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $work"
    else
        chmod -R u+w "$work" 2> /dev/null
        rm -rf "$work"
    fi
}
trap clean_up EXIT
trap 'exit 129' HUP INT TERM

begin() {
    name=$1 problems=0 is_skipped=0 settings='' input=/dev/null
    count=$((count + 1))
    d=$work/$count
    p=$d/profiles
    mkdir -p "$p"
    cd "$d" || exit 1
}

bad() {
    problems=$((problems + 1))
    echo "    $suite: $name: $*"
}

skip() {
    is_skipped=1
    echo "skip  $suite: $name: $*"
}

end() {
    cd "$work" || exit 1
    if [ "$problems" -gt 0 ]; then
        failed=$((failed + 1))
        echo "FAIL  $suite: $name"
    elif [ "$is_skipped" = 1 ]; then
        skipped=$((skipped + 1))
    else
        passed=$((passed + 1))
        [ -z "${VERBOSE:-}" ] || echo "ok    $suite: $name"
    fi
    [ -n "${KEEP:-}" ] || { chmod -R u+w "$d" 2> /dev/null; rm -rf "$d"; }
}

finish() {
    echo "$suite: $passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit $?
}

# True when all of these programs are there; otherwise the test is skipped.
need() {
    for program; do
        command -v "$program" > /dev/null || {
            skip "$program is not installed"
            return 1
        }
    done
}

# Compiles a host program next to the script, once: host NAME [flag…]; sets $host. NAME.c or NAME.cc.
host() {
    host=$hosts/$suite_folder/$1
    source=$here/$1.c
    cc="${CC:-gcc} -std=gnu11"
    [ -f "$source" ] || { source=$here/$1.cc cc="${CXX:-g++} -std=gnu++17"; }
    if [ ! "$host" -nt "$source" ]; then
        mkdir -p "$hosts/$suite_folder"
        target=$host
        stem=$1
        shift
        $cc -O1 -g0 -Wall -Wextra -Werror -o "$target.new" "$source" "$@" -pthread && mv "$target.new" "$target" || {
            echo "FAIL  $suite: $stem does not compile"
            failed=$((failed + 1))
        }
    fi
}
suite_folder=$(basename "$here")

run_to() {
    stem=$1
    shift
    timeout -k 5 "$limit" "$@" < "$input" > "$stem.out" 2> "$stem.err"
}

bare() {
    run_to "$d/bare" "$python" "$top/tests/measure.py" "$d/bare.usage" env $settings "$@"
    bare_status=$?
}

prof() {
    run_to "$d/prof" "$python" "$top/tests/measure.py" "$d/usage" \
        env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings "$@"
    status=$?
}

same_status() {
    [ "$status" = "$bare_status" ] || bad "exit status $status, without the library $bare_status"
}

same_file() {
    cmp -s "$1" "$2" || {
        bad "$3 differs"
        diff "$1" "$2" | head -n 5 | cut -c 1-200 | sed 's/^/        /'
    }
}

same() {
    same_status
    same_file "$d/bare.out" "$d/prof.out" "standard output"
    same_file "$d/bare.err" "$d/prof.err" "standard error"
}

files() { # of one program, or all
    find "$p" -type f -name "${1:-*}-[0-9]*" | sort
}

has_files() {
    n=$(files "$1" | wc -l)
    [ "$n" -ge "${2:-1}" ] || bad "$n profiles of $1, at least ${2:-1} expected"
}

# No profile, but something that ran.
no_files() {
    n=$(find "$p" -type f | wc -l)
    [ "$n" = 0 ] || bad "$n files where none is expected"
}

no_rest() {
    rest=$(find "$p" "$d" -name '.*tmp*' | head -n 3)
    [ -z "$rest" ] || bad "temporary files are left: $rest"
}

strict() {
    n=$(find "$p" -type f | wc -l)
    [ "$n" -gt 0 ] || { bad "no profile was written"; return; }
    no_rest
    find "$p" -type f | sort > "$d/list"
    xargs "$tool" check --strict < "$d/list" > "$d/check" 2>&1 || {
        bad "check --strict finds something"
        grep -v ': ok' "$d/check" | head -n 5 | cut -c 1-300 | sed 's/^/        /'
    }
}

# The CPU profile of all files holds the CPU time of the command, as far as ticks can tell: not less than it takes
# without the library, and not more than with it, whose own work is not in the profile. When a machine takes its
# processors away in the first run, that one looks longer than the second: then all of this is the least.
cpu_time_is_right() {
    low=$(cut -d ' ' -f 1 "$d/bare.usage") high=$(cut -d ' ' -f 1 "$d/usage")
    [ "$low" -le "$high" ] || low=$high
    # shellcheck disable=SC2046
    between "CPU time in microseconds" $((low * 80 / 100 - 100000)) $((high * 105 / 100 + 100000)) \
        "$(($(judge totals $(files) | sed -n 's/^cpu //p') / 1000))"
}

# The name by which a command is known: the one it is started by.
program() {
    basename "$1"
}

judge() {
    "$python" "$top/tests/judge.py" "$@"
}

# equal WHAT EXPECTED ACTUAL
equal() {
    [ "$2" = "$3" ] || bad "$1 is '$3', expected '$2'"
}

# between WHAT LOW HIGH ACTUAL, whole numbers
between() {
    [ -n "$4" ] && [ "$4" -ge "$2" ] && [ "$4" -le "$3" ] || bad "$1 is '$4', expected $2 to $3"
}

# truth NAME: milliseconds that NAME has used by the program's own account (tests/truth.h); it ran with TRUTH=$d/truth
truth() {
    awk -v name="$1" '$1 == name { n += $2; lines++ } END { if (lines) print int(n / 1000000) }' "$d/truth"
}

# has_function TYPE NAME FILE…: somewhere in the stacks
has_function() {
    kind=$1 function=$2
    shift 2
    [ "$(judge site "$kind" "$function" "$@")" -gt 0 ] || bad "no $kind in $function"
}

# one_line FILE WORD…: exactly one line, with all words in it
one_line() {
    file=$1
    shift
    n=$(wc -l < "$file")
    [ "$n" = 1 ] || { bad "$n lines on standard error, 1 expected: $(head -c 300 "$file")"; return; }
    for word; do
        grep -qF -- "$word" "$file" || bad "the line does not say '$word': $(cat "$file")"
    done
}

# wait_for SECONDS COMMAND…: until it succeeds
wait_for() {
    tries=$(($1 * 20))
    shift
    while ! "$@" 2> /dev/null; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}
