# SPDX-License-Identifier: Apache-2.0
# exceptions: the C++ compiler's own run-time tests of exceptions, and its library's of threads.
packages='g++ libc6-dev'
programs='*'
least=110
# One prints how long things took; the other wants its main thread to run within microseconds of a new one.
unstable='30_threads\+(future\+members\+poll|async\+async)\.cc'

prepare() {
    once sources sources
    once "programs$quick" compile
}

# Only the tests of the source package are kept: it is large.
sources() {
    package=gcc-$(g++ -dumpversion)
    APT_SOURCE_STATE="$store/apt" sh "$top/tools/dev/apt_source.sh" "$src/download" "$package"
    tar -xf "$(ls -S "$src/download/$package"_*.orig.tar.* | head -n 1)" -C "$src/download"
    inner=$(find "$src/download" -name 'gcc-*.tar.*' ! -name "$package"_'*' | head -n 1)
    tar -xf "$inner" -C "$src" --wildcards --strip-components=1 '*/gcc/testsuite/g++.dg/eh/*' \
        '*/libstdc++-v3/testsuite/30_threads/*' '*/libstdc++-v3/testsuite/18_support/*' '*/libstdc++-v3/testsuite/util/*'
    rm -rf "$src/download"
}

# Those that compile by themselves, with the options that they ask for: what does not compile is not a case.
compile() {
    export bin="$src/bin$quick"
    mkdir -p "$bin"
    cd "$src"
    {
        grep -lE 'dg-do run' gcc/testsuite/g++.dg/eh/*.C
        grep -rlE 'dg-do run|int main|main\(\)' libstdc++-v3/testsuite/30_threads libstdc++-v3/testsuite/18_support --include '*.cc' |
            grep -vE '_neg|/cons/.*assign|requirements'
    } | sort > all
    if [ -n "$quick" ]; then
        awk '/g\+\+.dg|exception_ptr/ || NR % 6 == 0' all > list
    else
        cp all list
    fi
    g++ -w -O1 -std=gnu++17 -c -I libstdc++-v3/testsuite/util -o hooks.o libstdc++-v3/testsuite/util/testsuite_hooks.cc
    # shellcheck disable=SC2016
    xargs -P 2 -I '{}' sh -c '
        o=$bin/$(echo "$1" | sed "s|.*/testsuite/||; s|[/ ]|+|g")
        options=$(sed -n "s/.*dg-\(additional-\)\{0,1\}options \"\([^\"]*\)\".*/\2/p" "$1")
        g++ -w -O1 -std=gnu++17 $options -I libstdc++-v3/testsuite/util -o "$o" "$1" hooks.o -pthread > /dev/null 2>&1; :' one '{}' < list
    [ "$(ls "$bin" | wc -l)" -gt 100 ]
}

cases() {
    export bin="$src/bin$quick"
    ls "$bin" | each 4 300 sh -c 'exec "$bin/$0"'
    digests
}
