#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbols.sh: compares core/symbol with readelf, nm, objdump, c++filt and sha256sum, on the machine's own
# programs and on objects that it builds with several linkers and layouts.
# Last line: `symbols: N passed, M failed, K skipped`.
set -u
cd "$(dirname "$0")/../.." || exit 1

passed=0 failed=0 skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dump=$work/dump
${CC:-gcc} -std=gnu11 -O1 -g -I. -o "$dump" tests/diff/dump_symbols.c core/symbol/*.c \
    core/base/heap.c core/base/buf.c core/base/fmt_hot.c core/base/reader.c core/base/sort.c \
    core/base/status.c core/base/sys_hot.c -l:libiberty.a || {
    echo "symbols: 0 passed, 1 failed, 0 skipped"
    exit 1
}

# check NAME FILE: FILE lists the differences; an empty one is a pass.
check() {
    if [ -s "$2" ]; then
        failed=$((failed + 1))
        echo "FAIL  symbols: $1: $(wc -l < "$2") lines differ"
        head -n 5 "$2" | cut -c 1-200
    else
        passed=$((passed + 1))
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "symbols: skipped $1"
}

build_id() {
    readelf -n "$1" 2> /dev/null | sed -n 's/.*Build ID: \([0-9a-f]*\)$/\1/p' | head -n 1
}

htlhash() {
    {
        head -c 4096 "$1"
        tail -c 4096 "$1"
        # shellcheck disable=SC2059
        printf "$(printf '%016x' "$(stat -L -c %s "$1")" | sed 's/../\\x&/g' |
            sed 's/\\x\(..\)/\1 /g' | tr ' ' '\n' | while read -r h; do
            [ -z "$h" ] || printf '\\%03o' "0x$h"
        done)"
    } | sha256sum | cut -c 1-32
}

ids() {
    echo "$(build_id "$1") $(htlhash "$1") $1" > "$work/want"
    "$dump" ids "$1" | sed 's/^ //' > "$work/have"
    sed -i 's/^ //' "$work/want"
    diff "$work/want" "$work/have" > "$work/bad"
    check "ids $1" "$work/bad"
}

segments() {
    readelf -lW "$1" 2> /dev/null |
        awk '$1 == "LOAD" { f = ""
            for (i = 7; i < NF; i++) f = f $i
            print $2, $3, $5, $6, f }' > "$work/want"
    "$dump" segments "$1" | awk '{ print $1, $2, $3, $4, $5 $6 $7 }' > "$work/have"
    diff "$work/want" "$work/have" > "$work/bad"
    check "segments $1" "$work/bad"
}

# "address size" of the defined functions of all tables of the object, and of its debug file $2.
other_functions() {
    for f in "$@"; do
        readelf -sW --dyn-syms "$f" 2> /dev/null
    done | awk '($4 == "FUNC" || $4 == "IFUNC") && $7 != "UND" && $7 != "ABS" && NF >= 8 {
        print $2, $3 }' | sort -u
}

names() {
    "$dump" names "$1" | LC_ALL=C sort > "$work/have"
    awk '{ print $1, $3 }' "$work/have" | grep -v '@plt$' | LC_ALL=C sort -u > "$work/have.names"
    for f in "$@"; do
        nm "$f" 2> /dev/null
        nm -D "$f" 2> /dev/null
    done | awk 'NF == 3 && $2 != "U" { i = index(substr($3, 2), "@")
        print $1, (i > 0 ? substr($3, 1, i) : $3) }' | LC_ALL=C sort -u > "$work/want.names"
    LC_ALL=C comm -23 "$work/have.names" "$work/want.names" > "$work/bad"
    check "names of $1 are nm's ($(wc -l < "$work/have.names"))" "$work/bad"

    # Each function has an entry at its address, whose size is that of one of its names.
    other_functions "$@" | LC_ALL=C sort > "$work/functions"
    awk '{ print $1 }' "$work/have" | LC_ALL=C sort -u > "$work/have.addresses"
    awk '{ print $1 }' "$work/functions" | LC_ALL=C sort -u |
        LC_ALL=C comm -23 - "$work/have.addresses" > "$work/bad"
    check "functions of $1 are found ($(wc -l < "$work/functions"))" "$work/bad"
}

# Stubs as objdump names them.
stubs() {
    "$dump" names "$1" | awk '$3 ~ /@plt$/ { print $1, $3 }' | LC_ALL=C sort > "$work/have"
    objdump -d --section=.plt --section=.plt.sec --section=.plt.got "$1" 2> /dev/null |
        awk '/^[0-9a-f]+ <.*@plt>:$/ { n = substr($2, 2, length($2) - 3)
            i = index(n, "@"); print $1, substr(n, 1, i - 1) "@plt" }' |
        grep -v '\*ABS\*' | LC_ALL=C sort > "$work/want"
    LC_ALL=C comm -13 "$work/have" "$work/want" > "$work/bad"
    check "stubs of $1 ($(wc -l < "$work/want") of objdump, $(wc -l < "$work/have") here)" "$work/bad"
}

demangled() {
    "$dump" names "$1" | awk '{ print $3 }' | grep -v '@plt' | LC_ALL=C sort -u > "$work/raw"
    "$dump" demangle < "$work/raw" > "$work/have"
    c++filt -i < "$work/raw" > "$work/want"
    # c++filt gives up on names of over 1024 bytes.
    paste -d '\n' "$work/raw" "$work/want" "$work/have" |
        awk 'NR % 3 == 1 { raw = $0 } NR % 3 == 2 { want = $0 }
            NR % 3 == 0 && want != $0 && length(raw) <= 1024 { print want; print $0 }' > "$work/bad"
    check "demangled names of $1 ($(wc -l < "$work/raw"))" "$work/bad"
}

debug_file() {
    id=$(build_id "$1")
    echo "/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug"
}

object() {
    ids "$1"
    segments "$1"
    debug=$(debug_file "$1")
    if [ -f "$debug" ]; then
        names "$1" "$debug"
    else
        names "$1"
    fi
    stubs "$1"
}

# ---- the machine's own ----

count=0
for f in /bin/true /bin/bash /usr/bin/perl /usr/bin/python3 /usr/bin/git /usr/bin/xz /usr/bin/gcc \
    /usr/lib/x86_64-linux-gnu/libc.so.6 /usr/lib/x86_64-linux-gnu/libm.so.6 \
    /lib64/ld-linux-x86-64.so.2 /usr/lib/x86_64-linux-gnu/libstdc++.so.6 \
    /usr/lib/x86_64-linux-gnu/libz.so.1 /usr/lib/x86_64-linux-gnu/libzstd.so.1 \
    /usr/lib/x86_64-linux-gnu/libcrypto.so.3; do
    if [ -f "$f" ]; then
        object "$(readlink -f "$f")"
        count=$((count + 1))
    fi
done
[ "$count" -ge 5 ] || { failed=$((failed + 1)); echo "FAIL  symbols: only $count objects on this machine"; }
for f in /usr/lib/x86_64-linux-gnu/libstdc++.so.6; do
    if [ -f "$f" ]; then demangled "$f"; else skip "demangling of $f"; fi
done

# ---- objects built here ----

cat > "$work/a.c" << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int one(const char *s) { return (int)strlen(s) + rand(); }
static __attribute__((noinline)) int two(int x) { return puts("x") + x; }
int three(int x) { return two(x) + one("y"); }
__attribute__((weak, alias("three"))) int four(int);
void *(*five(void))(size_t) { return malloc; }
__asm__(".text\nassembly_entry:\n nop\n nop\n ret\n.globl assembly_entry\n.Llocal: nop\n");
__asm__(".section .text.other,\"ax\",@progbits\nother: ret\n.text\n");
int main(void) { return three(3); }
END
cat > "$work/b.cc" << 'END'
#include <map>
#include <string>
#include <vector>
namespace space {
template <class T> struct box {
    T value;
    virtual ~box() {}
    __attribute__((noinline)) T get(const std::string &s, int n) const { return value + (int)s.size() + n; }
};
template struct box<int>;
template struct box<long>;
}
int use(std::map<std::string, std::vector<int>> &m) { return m["x"].size() + [&] { return m.size(); }(); }
END

build() {
    name=$1
    shift
    if "$@" -o "$work/$name" 2> "$work/errors"; then
        object "$work/$name"
        objcopy --only-keep-debug "$work/$name" "$work/$name.debug"
        strip -o "$work/$name.stripped" "$work/$name"
        (cd "$work" && objcopy --add-gnu-debuglink="$name.debug" "$name.stripped")
        "$dump" names "$work/$name" > "$work/want"
        "$dump" names "$work/$name.stripped" > "$work/have"
        diff "$work/want" "$work/have" > "$work/bad"
        check "names of $name from its debug file" "$work/bad"
        rm "$work/$name.debug"
    else
        skip "$name: $(head -n 1 "$work/errors")"
    fi
}

build lazy gcc -O2 "$work/a.c" -Wl,-z,lazy
build now gcc -O2 "$work/a.c" -Wl,-z,now
build ibt gcc -O2 -fcf-protection "$work/a.c" -Wl,-z,ibtplt,-z,lazy
build no-pie gcc -O2 -no-pie "$work/a.c"
build static gcc -O2 -static "$work/a.c"
build no-build-id gcc -O2 "$work/a.c" -Wl,--build-id=none
build short-build-id gcc -O2 "$work/a.c" -Wl,--build-id=0x0123456789abcdef
build lib.so gcc -O2 -shared -fPIC "$work/a.c"
build moved.so gcc -O2 -shared -fPIC "$work/a.c" -Wl,--section-start=.text=0x200000
build sysv.so gcc -O2 -shared -fPIC "$work/a.c" -Wl,--hash-style=sysv
build sections.so gcc -O2 -shared -fPIC -ffunction-sections "$work/a.c" -Wl,-z,separate-code
build lld.so gcc -O2 -shared -fPIC -fuse-ld=lld "$work/a.c"
build lld gcc -O2 -fuse-ld=lld "$work/a.c"
build gold.so gcc -O2 -shared -fPIC -fuse-ld=gold "$work/a.c"
build mold.so gcc -O2 -shared -fPIC -fuse-ld=mold "$work/a.c"
build cplus.so g++ -O1 -shared -fPIC "$work/b.cc"
[ ! -f "$work/cplus.so" ] || demangled "$work/cplus.so"

# An object without section headers has the names of its dynamic table, found through either hash table.
for f in sysv.so lib.so; do
    cp "$work/$f" "$work/bare.so"
    head -c 8 /dev/zero | dd of="$work/bare.so" bs=1 seek=40 conv=notrunc 2> /dev/null
    "$dump" names "$work/bare.so" | awk '{ print $1 }' > "$work/have"
    readelf -sW --dyn-syms "$work/$f" | awk '$4 ~ /FUNC|NOTYPE/ && $7 ~ /^[0-9]/ && table { print $2 }
        /^Symbol table/ { table = /dynsym/ }' | sort -u > "$work/want"
    [ -s "$work/want" ] || echo "no symbols" >> "$work/want"
    diff "$work/want" "$work/have" > "$work/bad"
    check "$f without section headers" "$work/bad"
done

# ---- size ----

# A large symbol table: 500,000 functions with names of 60 bytes.
awk 'BEGIN { print ".text"
    for (i = 0; i < 500000; i++) {
        n = sprintf("function_with_a_rather_long_name_as_templates_have_them_%06d", (i * 7919) % 500000)
        printf ".type %s,@function\n%s: ret\n.size %s,1\n", n, n, n
    } }' > "$work/big.s"
if gcc -shared -nostdlib -o "$work/big.so" "$work/big.s"; then
    "$dump" stats "$work/big.so" | tee "$work/stats"
    awk '{ for (i = 1; i <= NF; i++) {
            if ($i == "symbols," && $(i - 1) != 500000) print "symbols " $(i - 1)
            if ($i == "peak" && $(i + 1) > 30720) print "peak " $(i + 1) " KiB"
            if ($i == "after" && $(i + 1) > 256) print "after " $(i + 1) " KiB"
        } }' "$work/stats" > "$work/bad"
    check "500,000 symbols" "$work/bad"
else
    skip "500,000 symbols"
fi

echo "symbols: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
