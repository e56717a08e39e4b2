# SPDX-License-Identifier: Apache-2.0
# coreutils: its own tests of the installed tools.
packages='coreutils perl gcc libc6-dev'
programs='sort*'
least=60

prepare() {
    source_of coreutils
    once limits limits
}

# Its tests ask this program for the limits of types; what overflows is one further.
limits() {
    mkdir -p "$src/bin"
    {
        echo '#!/bin/sh'
        for row in CHAR:-128:127 SCHAR:-128:127 UCHAR:0:255 SHRT:-32768:32767 INT:-2147483648:2147483647 UINT:0:4294967295 \
            LONG:-9223372036854775808:9223372036854775807 ULONG:0:18446744073709551615 SIZE:0:18446744073709551615 \
            SSIZE:-9223372036854775808:9223372036854775807 TIME_T:-9223372036854775808:9223372036854775807 UID_T:0:4294967295 \
            GID_T:0:4294967295 PID_T:-2147483648:2147483647 OFF_T:-9223372036854775808:9223372036854775807 \
            INTMAX:-9223372036854775808:9223372036854775807 UINTMAX:0:18446744073709551615; do
            "$python" -c '
import sys
name, low, high = sys.argv[1].split(":")
print("echo %s_MAX=%s; echo %s_OFLOW=%d" % (name, high, name, int(high) + 1))
if low != "0":
    print("echo %s_MIN=%s; echo %s_UFLOW=%d" % (name, low, name, int(low) - 1))' "$row"
        done
        echo 'echo FLT_MIN=1.17549e-38; echo FLT_MAX=3.40282e+38; echo DBL_MIN=2.22507e-308; echo DBL_MAX=1.79769e+308'
        echo 'echo LDBL_MIN=3.3621e-4932; echo LDBL_MAX=1.18973e+4932; echo IO_BUFSIZE=131072'
    } > "$src/bin/getlimits"
    chmod 755 "$src/bin/getlimits"
}

cases() {
    mkdir src
    cp -r "$src/coreutils/tests" "$src/coreutils/init.cfg" "$src/coreutils/gnulib" . 2> /dev/null
    : > config.h
    version=$(sort --version | sed -n '1s/.* //p')
    programs=$(dpkg -L coreutils | sed -n 's|^/\(usr/\)\{0,1\}s\{0,1\}bin/||p')
    export srcdir="$scratch" top_srcdir="$scratch" abs_srcdir="$scratch" abs_top_srcdir="$scratch" abs_top_builddir="$scratch" \
        CONFIG_HEADER="$scratch/config.h" VERSION="$version" PACKAGE_VERSION="$version" built_programs="$(echo $programs)" \
        PERL=perl AWK=awk EGREP='grep -E' CC=gcc host_os=linux-gnu host_triplet=x86_64-pc-linux-gnu EXEEXT= MAKE=make \
        REPLACE_GETCWD=0 fail=0 PATH="$src/bin:$PATH" LC_ALL=C
    for program in $programs; do
        for folder in /sbin /usr/sbin /bin /usr/bin; do
            [ ! -x "$folder/$program" ] || ln -sf "$folder/$program" "src/$program"
        done
    done
    ln -s "$src/bin/getlimits" src/getlimits
    find tests -name '*.sh' -o -name '*.pl' | grep -vE '/(init|lang-default|envvar-check|other-fs-tmpdir|sample-test|d_type-check)|tests/factor/' | sort > list.all
    if [ -n "$quick" ]; then
        awk 'NR % 4 == 0' list.all > list
    else
        cp list.all list
    fi
    each 4 900 sh -c 'case $0 in
        *.pl) exec perl -w -I"$scratch/tests" -MCuSkip -MCoreutils -M"CuTmpdir qw($0)" -- "$0" 9>&2 ;;
        *) exec sh "$0" 9>&2 ;;
        esac' < list
    for status in "$out"/*.status; do
        word="status $(cat "$status")"
        case $word in *' 0') word=ok ;; *' 77') word=skip ;; esac
        printf '%s\t%s\n' "$(basename "$status" .status)" "$word"
    done
}
