#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_libunwind.sh OUT: puts a position-independent libunwind.a and its headers into OUT.
#
# The distribution's own libunwind.a is not position independent, so it cannot become part of a shared
# object; the release in its source package can. That is fetched (apt_source.sh), built once, and kept in a cache
# under a key made of distribution, compiler, flags and recipe.
#
# OTELPROF_CACHE  cache directory (default $HOME/.cache/libotelprof)
# LIBUNWIND_SRC   an unpacked libunwind source tree to use instead of the source package
# LIBUNWIND_CC    compiler (default gcc)
set -eu

recipe=2
out=${1:?usage: build_libunwind.sh OUT}
cc=${LIBUNWIND_CC:-gcc}
flags='-O2 -g -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-plt -fno-stack-protector
 -ffunction-sections -fdata-sections -fno-semantic-interposition -U_FORTIFY_SOURCE -w'
options='--disable-shared --enable-static --with-pic --disable-minidebuginfo --disable-zlibdebuginfo
 --disable-cxx-exceptions --disable-coredump --disable-ptrace --disable-setjmp --disable-tests
 --disable-documentation --disable-dependency-tracking --disable-debug-frame
 --disable-block-signals --disable-weak-backtrace --disable-conservative-checks'

fail() {
    echo "build_libunwind: $*" >&2
    exit 1
}

need() {
    for tool; do
        command -v "$tool" > /dev/null || missing="${missing:-} $tool"
    done
    [ -z "${missing:-}" ] || fail "missing:$missing (run 'make deps' as root, or install them)"
}

need "$cc" make ar sha256sum
distro=$(. /etc/os-release && echo "${ID:-linux}-${VERSION_ID:-0}")
key=$(echo "$recipe $distro $($cc -dumpmachine) $($cc --version | head -n 1) $flags $options" \
    "${LIBUNWIND_SRC:-}" | sha256sum | cut -c 1-16)
[ "$(cat "$out/key" 2> /dev/null)" != "$key" ] || [ ! -f "$out/libunwind.a" ] || exit 0

cache=${OTELPROF_CACHE:-${HOME:-/root}/.cache/libotelprof}
mkdir -p "$out" "$cache" 2> /dev/null && [ -w "$cache" ] || cache=$out/cache
mkdir -p "$cache"
kept=$cache/libunwind-$key
work=

install_kept() {
    mkdir -p "$out/include"
    cp "$kept"/include/*.h "$out/include/"
    cp "$kept/COPYING" "$kept/VERSION" "$out/"
    cp "$kept/libunwind.a" "$out/libunwind.a.new"
    mv "$out/libunwind.a.new" "$out/libunwind.a"
    echo "$key" > "$out/key"
}

fetch_source() {
    need tar
    (
        sh "$(dirname "$0")/apt_source.sh" "$work" libunwind && cd "$work" && mkdir source &&
            tar -xf "$(ls libunwind_*.orig.tar.* | grep -v "\.asc\$")" -C source --strip-components=1
    ) || fail "cannot fetch the source package libunwind; set LIBUNWIND_SRC to a source tree instead"
}

build() {
    mkdir -p "$work/build"
    (
        cd "$work/build"
        # shellcheck disable=SC2086
        CC=$cc CFLAGS=$(echo $flags) "$1/configure" $options > configure.log 2>&1 &&
            make -j2 > make.log 2>&1
    ) || {
        tail -n 20 "$work"/build/*.log >&2
        fail "libunwind did not build"
    }
    mkdir -p "$work/kept/include"
    cp "$work/build/src/.libs/libunwind.a" "$1/COPYING" "$work/kept/"
    cp "$1"/include/libunwind.h "$1"/include/libunwind-x86_64.h "$1"/include/libunwind-dynamic.h \
        "$1"/include/unwind.h "$work/kept/include/"
    cp "$work/build/include/libunwind-common.h" "$work/kept/include/"
    sed -n 's/^AC_INIT.*\[\([0-9.]*\)\].*/\1/p; s/^PACKAGE_VERSION=.\([0-9.]*\).*/\1/p' \
        "$1/configure" | head -n 1 > "$work/kept/VERSION"
    mv "$work/kept" "$kept" 2> /dev/null || [ -f "$kept/libunwind.a" ]
}

# One builder at a time: concurrent makes share the cache.
exec 9> "$cache/lock"
if command -v flock > /dev/null; then
    flock 9
fi
if [ ! -f "$kept/libunwind.a" ]; then
    echo "  BUILD   libunwind (once; kept in $kept)"
    work=$(mktemp -d "$cache/work.XXXXXX")
    trap 'rm -rf "$work"' EXIT INT TERM
    if [ -n "${LIBUNWIND_SRC:-}" ]; then
        src=$LIBUNWIND_SRC
    else
        fetch_source
        src=$work/source
    fi
    build "$src"
fi
install_kept
