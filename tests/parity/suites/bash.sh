# SPDX-License-Identifier: Apache-2.0
# bash: its own tests by the installed bash; what each script prints, to the byte.
packages='bash gcc libc6-dev'
programs='bash'
least=60
# A coprocess that ends before the shell looks at its number, or after; a time that is asked for twice.
unstable='run-(nameref|printf)'

prepare() {
    source_of bash
    once helpers helpers
}

helpers() {
    cd "$src/bash"
    for helper in recho zecho printenv xcase; do
        gcc -w -O1 -DHAVE_UNISTD_H -DHAVE_STDLIB_H -DHAVE_STRING_H -I. -Iinclude -o tests/$helper support/$helper.c
    done
}

cases() {
    cp -r "$src/bash/tests" .
    cd tests || exit 1
    cat > ../one << 'END'
mkdir -p "$scratch/tmp/$1"
export TMPDIR="$scratch/tmp/$1" BASH_TSTOUT="$scratch/tmp/$1/out" THIS_SH=/bin/bash PATH=".:$PATH" TERM=dumb
unset BASH_ENV
exec /bin/sh "$1"
END
    ls run-* | grep -vE "run-(all|minimal|gprof${quick:+|ifs-posix})\$" | each 10 600 sh ../one
    digests -e 's/process group ([0-9]*)/process group (N)/'
}
