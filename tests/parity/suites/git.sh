# SPDX-License-Identifier: Apache-2.0
# git: its own tests of the installed git: shell scripts that start thousands of processes.
packages='git gcc libc6-dev make zlib1g-dev perl'
programs='git'
least=400

prepare() {
    source_of git
    once helper helper
}

# What the tests need beside git itself.
helper() {
    cd "$src/git"
    set -- CFLAGS='-O0 -w' NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 NO_OPENSSL=1
    make -j2 "$@" t/helper/test-tool GIT-BUILD-OPTIONS
    make "$@" -C templates
}

cases() {
    cd "$src/git/t" || exit 1
    list='t0005* t0006* t0060* t0061* t1300* t1400*'
    [ -n "$quick" ] || list='t0[0-9]*.sh t1[0-9]*.sh t3[0-9]*.sh t4[0-2]*.sh t5[0-4]*.sh t6[0-4]*.sh t7[0-4]*.sh'
    export GIT_TEST_INSTALLED=/usr/bin GIT_TEST_OPTS="--root=$scratch --no-bin-wrappers"
    export TEST_OUTPUT_DIRECTORY="$scratch/results"
    # shellcheck disable=SC2012,SC2086
    ls $list | grep -v 't9\|perf' | each 2 600 sh -c 'exec sh ./"$0" --root="$scratch/trash"'
    parse tap "$out"
}
