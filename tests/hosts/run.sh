#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME...]: one small program per oddity of a process's life, each run bare and with the library: same
# output, same status, and a profile that proves that the library was there. Without arguments: all of them.
#
# A program NAME.c or NAME.cc says in comments of the form `host: WORD ...` how it wants to be run:
#   rows ID...       the faults it stands for            flags FLAG...   for the compiler
#   libs LIB...      libs/LIB.c, built as LIB.so; their folder is in $HOST_LIBS
#   set VAR=VALUE... settings of the library             runs ARGS|...   one run for each; otherwise one without arguments;
#                                                                        more than one such line add up
#   sees TYPE FUNC   the profile has this function       none            no profile is expected
#   many N TYPE FUNC so many processes have it in theirs
#   needs PROGRAM    to be skipped without it            dirty           the profile is not looked at
#   edges F=C,C...   the callers that F has in the CPU profile are among these
# What a program cannot do by itself is in the more_*.sh next to this file.
. "$(dirname "$0")/../common.sh"
suite=hosts
libs=$hosts/$suite_folder/libs
export HOST_LIBS="$libs" HOST_BIN="$hosts/$suite_folder"
[ $# -gt 0 ] || set -- all

# The others that a program may meet; what cannot be had is skipped, and said.
if [ "$1" = all ]; then
    for package in libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 eatmydata faketime musl-tools gcc-multilib valgrind lld \
        mold libclang-rt-14-dev libcap2-bin; do
        sh "$top/tools/dev/apt_packages.sh" "$package" > /dev/null 2>&1
    done
fi

# Nothing in between that has signals or descriptors of its own.
bare() {
    run_to "$d/bare" env $settings "$@"
    bare_status=$?
}

prof() {
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings "$@"
    status=$?
}

asks() { # WORD: what the program says behind it
    sed -n "s|^/\* host: $1 \{0,1\}\(.*\) \*/\$|\1|p" "$source"
}

# shared NAME [flag...]: a library next to the programs
shared() {
    so=$libs/$1.so
    if [ ! "$so" -nt "$here/libs/$1.c" ]; then
        mkdir -p "$libs"
        so_stem=$1
        shift
        ${CC:-gcc} -std=gnu11 -O1 -g0 -Wall -Wextra -Werror -fPIC -shared -o "$so.new" "$here/libs/$so_stem.c" "$@" &&
            mv "$so.new" "$so" || bad "libs/$so_stem.c does not compile"
    fi
}

proven() { # after prof: the profile shows that the library was there
    if [ -n "$(asks none | head -n 1)" ] || grep -q '^/\* host: none \*/' "$source"; then
        no_files
        return
    fi
    grep -q '^/\* host: dirty \*/' "$source" || strict
    asks sees > "$d/sees"
    while read -r kind function; do
        # shellcheck disable=SC2046
        has_function "$kind" "$function" $(find "$p" -type f)
    done < "$d/sees"
    asks many > "$d/many"
    while read -r least kind function; do
        having=0
        for f in $(find "$p" -type f); do
            [ "$(judge site "$kind" "$function" "$f")" = 0 ] || having=$((having + 1))
        done
        [ "$having" -ge "$least" ] || bad "$having processes have $kind in $function, expected $least at least"
    done < "$d/many"
    for edge in $(asks edges); do
        # shellcheck disable=SC2046
        judge stacks cpu $(find "$p" -type f) | awk -v callee="${edge%%=*}" -v callers=",${edge#*=}," '
            {
                sub(/^[0-9]+ /, "")
                n = split($0, f, " < ")
                for (i = 1; i < n; i++) {
                    if (f[i] != callee) continue
                    seen++
                    if (index(callers, "," f[i + 1] ",") == 0) print "called by " f[i + 1] ": " $0
                }
            }
            END { if (seen == 0) print "not seen with a caller" }' > "$d/edges"
        [ ! -s "$d/edges" ] || bad "${edge%%=*}: $(head -n 1 "$d/edges" | cut -c 1-200)"
    done
}

one_run() {
    chmod 777 "$d" "$p"
    # shellcheck disable=SC2086
    bare "$host" $1
    settings="$settings $(asks set | tr '\n' ' ')"
    # shellcheck disable=SC2086
    prof "$host" $1
    same
    proven
    case $(head -n 1 "$d/prof.out") in '') [ -s "$d/prof.out" ] || bad "the program says nothing" ;; esac
    if grep -q 'does not hold' "$d/bare.out"; then
        bad "it does not hold without the library either: $(grep -m 1 'does not hold' "$d/bare.out")"
    fi
}

chmod 711 "$work" # some programs change their user, and write their profile as that

program() { # FILE
    source=$1
    title=$(basename "$1" | sed 's/\.cc*$//')
    begin "$title"
    ! grep '^/\* host:' "$1" | grep -qv ' \*/$' || bad "a host: line goes on in the next, and would be lost"
    for program in $(asks needs); do
        need "$program" || { end; return; }
    done
    for l in $(asks libs); do
        shared "$l"
    done
    # shellcheck disable=SC2046
    host "$title" -I"$here" $(asks flags)
    list=$(asks runs | paste -s -d '|')
    old_ifs=$IFS
    IFS='|'
    # shellcheck disable=SC2086
    set -- $list
    IFS=$old_ifs
    [ $# -gt 0 ] || set -- ''
    for arguments; do
        [ "$name" = "$title" ] || begin "$title $arguments"
        [ -z "$arguments" ] || name="$title $arguments"
        one_run "$arguments"
        end
    done
}

for wanted; do
    for f in "$here"/*.c "$here"/*.cc; do
        case $wanted in all | "$(basename "$f" | sed 's/\.cc*$//')") program "$f" ;; esac
    done
    for f in "$here"/more_*.sh; do
        case $wanted in
        all | "$(basename "$f" .sh)")
            [ -f "$f" ] && . "$f"
            ;;
        esac
    done
done
finish
