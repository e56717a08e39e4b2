#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh: profiles the distribution's own compiler, as it is, for some seconds: gcc starts cc1 and as, each of which
# gets a profile. Leaves the profiles and a flame graph in build/demo and shows the top functions.
set -eu

build=${BUILD:-build}
out=$build/demo
functions=${DEMO_FUNCTIONS:-800}
rm -rf "$out"
mkdir -p "$out"

# A large source file: what the compiler has to do is real, what comes out is not needed.
{
    i=0 calls=
    while [ $i -lt "$functions" ]; do
        echo "struct s$i { int a[$((i % 7 + 1))]; double d; };
static int f$i(struct s$i *p, int x) {
    int r = 0;
    for (int i = 0; i < x; i++) {
        r += p->a[i % $((i % 7 + 1))] * $i + (int)p->d;
        if (r > $((i * 31))) { r ^= x << $((i % 13)); }
    }
    return r;
}"
        calls="$calls struct s$i v$i = {.d = argc}; r += f$i(&v$i, argc);"
        i=$((i + 1))
    done
    echo "int main(int argc, char **argv) { (void)argv; int r = 0; $calls return r & 1; }"
} > "$out/large.c"

echo "\$ otelprof run -o $out/%e-%p.otlp.gz -- gcc -O2 -c large.c"
"$build/otelprof" run -o "$out/%e-%p.otlp.gz" -- gcc -O2 -c -o "$out/large.o" "$out/large.c"
rm -f "$out/large.o"

set -- "$out"/*.otlp.gz
"$build/otelprof" check --strict "$@" > /dev/null
echo
echo "\$ otelprof top -t cpu -n 12 $out/*.otlp.gz"
"$build/otelprof" top -t cpu -n 12 "$@"
echo
echo "\$ otelprof top -t alloc_space --cum -n 22 $out/*.otlp.gz"
"$build/otelprof" top -t alloc_space --cum -n 22 "$@"
"$build/otelprof" flame -o "$out/flame.html" "$@"
echo
echo "The profiles (one for each program that ran long enough to have a sample):"
for profile; do
    echo "    $profile"
done
echo "The flame graph, for a browser:"
echo "    $(cd "$out" && pwd)/flame.html"
