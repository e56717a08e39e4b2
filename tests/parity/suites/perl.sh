# SPDX-License-Identifier: Apache-2.0
# perl: the language's core tests, by the installed perl and its modules.
packages='perl'
programs='perl'
least=20000

prepare() {
    source_of perl
    once links links
}

# The tests want the modules in ../lib and the program as ./perl.
links() {
    cd "$src/perl"
    mv lib lib.source
    mkdir lib
    # shellcheck disable=SC2046
    for folder in $(perl -MConfig -e 'print "$Config{privlibexp} $Config{archlibexp}"') /usr/lib/x86_64-linux-gnu/perl-base; do
        cp -rsf "$folder/." lib/
    done
    ln -sf /usr/bin/perl perl
    ln -sf /usr/bin/perl t/perl
    ln -sf /usr/bin/perl miniperl
}

cases() {
    cp -r "$src/perl/t" "$src/perl/MANIFEST" "$src/perl/regen" "$src/perl/lib.source" "$scratch/"
    ln -s "$src/perl/lib" lib
    ln -s /usr/bin/perl perl
    cd t || exit 1
    list='base/*.t cmd/*.t io/*.t op/*.t re/reg*.t re/pat*.t'
    [ -z "$quick" ] || list='base/*.t cmd/*.t io/[a-o]*.t op/[a-f]*.t op/s[i-z]*.t op/kill*.t op/exec.t op/alarm.t re/pat.t'
    # shellcheck disable=SC2086
    ls $list | each 2 600 ./perl
    parse tap "$out"
}
