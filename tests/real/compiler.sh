#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compiler.sh: gcc on a large file; each of its programs gets a profile.
. "$(dirname "$0")/../common.sh"
functions=150 calls=
[ -z "${TEST_LONG:-}" ] || functions=1500

{
    i=0
    while [ $i -lt $functions ]; do
        echo "struct s$i { int a[$((i % 7 + 1))]; double d; };"
        echo "static int f$i(struct s$i *p, int x) { int r = 0; for (int i = 0; i < x; i++) {"
        echo "r += p->a[i % $((i % 7 + 1))] * $i + (int)p->d; if (r > $((i * 31))) { r ^= x << $((i % 13)); } } return r; }"
        calls="$calls struct s$i v$i = {.d = argc}; r += f$i(&v$i, argc);"
        i=$((i + 1))
    done
    echo "int main(int argc, char **argv) { (void)argv; int r = 0; $calls return r & 1; }"
} > "$work/big.c"

begin "gcc: gcc, cc1, as, collect2 and ld each get their file"
settings="OTELPROF_HEAP_INTERVAL=4k"
bare gcc -O2 -Wall -Wunused-macros -o bare.bin "$work/big.c"
prof gcc -O2 -Wall -Wunused-macros -o prof.bin "$work/big.c"
same
cmp -s bare.bin prof.bin || bad "the programs differ"
strict
cpu_time_is_right
for name in gcc as ld; do
    has_files "$(program $name)"
done
has_files cc1
has_files collect2
has_function alloc_space xmalloc $(files cc1)
has_function cpu __libc_start_main $(files cc1)
[ "$(judge cum cpu $(files cc1) | wc -l)" -gt 50 ] || bad "few functions of the compiler"
end

begin "gcc on a faulty file"
echo 'int main(void) { return undeclared; }' > faulty.c
bare gcc -c faulty.c
prof gcc -c faulty.c
same
equal "exit status" 1 "$status"
end

begin "g++ -pipe: programs side by side"
if need g++; then
    printf '#include <map>\n#include <string>\n#include <iostream>\nint main() { std::map<std::string, int> m; m["x"]++; std::cout << m.size(); }\n' > a.cc
    settings="OTELPROF_HEAP_INTERVAL=64k"
    bare g++ -pipe -o bare.bin a.cc
    prof g++ -pipe -o prof.bin a.cc
    same
    cmp -s bare.bin prof.bin || bad "the programs differ"
    strict
    has_files cc1plus
fi
end
finish
