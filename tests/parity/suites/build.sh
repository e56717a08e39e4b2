# SPDX-License-Identifier: Apache-2.0
# build: a configure script and a parallel make, thousands of short processes; every file that comes out, to the byte.
packages='gcc libc6-dev make autoconf automake'
programs='make gcc* cc1 as'
least=40

prepare() {
    project=dash
    [ -n "$quick" ] || project=bash
    source_of $project
    once "$project-fresh" fresh
}

# The distribution's patches are newer than what was made from the files that they change: `make` would make that again.
fresh() {
    cd "$src/$project"
    if [ $project = dash ]; then
        autoreconf -fi
    else
        touch configure config.h.in
    fi
}

# One folder for all passes, since the path is in what is built.
cases() {
    prepare
    rm -rf "$src/here"
    cp -a "$src/$project" "$src/here"
    cd "$src/here" || exit 1
    under ./configure > configure.out 2>&1
    printf 'configure\tstatus %s\n' $?
    SOURCE_DATE_EPOCH=0 under make -j2 > make.out 2> make.err
    printf 'make\tstatus %s\n' $?
    find . -type f -newer configure.out \( -name '*.o' -o -name '*.a' -o -name '*.h' -o -name config.status -o -perm -u+x \) |
        sort | while read -r file; do
        printf '%s\tok %s\n' "$file" "$(sha256sum < "$file" | cut -c 1-16)"
    done
    sort make.err | sha256sum | sed 's/^\(.\{16\}\).*/standard error\tok \1/'
    sort make.out | sha256sum | sed 's/^\(.\{16\}\).*/standard output\tok \1/'
    sha256sum < configure.out | sed 's/^\(.\{16\}\).*/configure output\tok \1/'
}
