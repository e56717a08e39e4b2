#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_libunwind.sh OUT: puts a position-independent libunwind.a and its headers into OUT.
#
# The distribution's own libunwind.a is not position independent, so it cannot become part of a shared
# object; the release in its source package can. That is fetched through private copies of the machine's
# apt sources (signatures checked, nothing of the machine's package state changed), built once, and kept in
# a cache under a key made of distribution, compiler, flags and recipe.
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

# Suites of the distribution itself only: other repositories need not offer sources.
private_sources() {
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$list" ] || sed -n -E "s/^deb(-src)?[[:space:]]+((\[[^]]*\][[:space:]]*)?[^[:space:]]+[[:space:]]+$codename(-updates|-security|\/updates)?[[:space:]].*)/deb-src \2/p" "$list"
    done | sort -u > "$work/etc/own.list"
    for list in /etc/apt/sources.list.d/*.sources; do
        [ -f "$list" ] || continue
        awk -v code="$codename" 'BEGIN { RS = ""; ORS = "\n\n" }
            $0 ~ "(^|\n)Suites:[^\n]*[ \t]" code "([ \t\n-]|$)" {
                gsub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src"); sub(/^\n/, ""); print }' "$list"
    done > "$work/etc/own.sources"
    mkdir -p "$work/etc/parts"
    cp "$work/etc/own.list" "$work/etc/own.sources" "$work/etc/parts/"
    cat "$work/etc/own.list" "$work/etc/own.sources" | grep -q . ||
        fail "no apt source of '$codename' found; set LIBUNWIND_SRC to a libunwind 1.6 source tree"
}

fetch_source() {
    need apt-get tar gzip
    mkdir -p "$work/etc" "$work/lists/partial" "$work/cache/archives/partial"
    private_sources
    set -- -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/etc/parts" \
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User= \
        -o Acquire::Languages=none
    (
        cd "$work"
        apt-get "$@" update > apt.log 2>&1 &&
            apt-get "$@" source --download-only --tar-only libunwind >> apt.log 2>&1 &&
            mkdir source && tar -xf libunwind_*.orig.tar.* -C source --strip-components=1 >> apt.log 2>&1
    ) || {
        sed 's/^/  /' "$work/apt.log" >&2
        fail "cannot fetch the source package libunwind; set LIBUNWIND_SRC to a source tree instead"
    }
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
