#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME...]: every fuzz target, under the address and undefined-behaviour sanitizers, with good inputs made
# here and with those in kept/NAME that failed once: as they are, cut off at each byte, and changed in a fixed number of
# ways (FUZZ_MUTATIONS, 2000).
. "$(dirname "$0")/../common.sh"
suite=fuzz
mutations=${FUZZ_MUTATIONS:-2000}
objects=$build/obj-asan-$(basename "${CC:-gcc}")
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/otelprof" > "$work/make.out" 2>&1 || tail -n 3 "$work/make.out"
sh "$top/tools/dev/apt_packages.sh" gcc make binutils python3 gzip zstd

# inputs_NAME FOLDER: good inputs of a target
inputs_otlp() {
    cp "$top"/tests/golden/*.otlp "$top"/tests/golden/*.otep239 "$1"
    "$python" "$top/tests/tool/otlp_gen.py" good "$1/good.otlp"
    # Not whole: each byte of it is a prefix.
    head -c 3000 "$1/good.otlp" > "$1/part.otlp"
    gzip -kn "$1/cpu.otlp"
    zstd -q "$1/cpu.otlp" -o "$1/cpu.otlp.zst"
    printf '{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"samples":[{"values":["1"]}]}]}]}],"dictionary":{"stringTable":[""]}}\n' > "$1/small.jsonl"
    rm "$1/good.otlp"
}

inputs_elf() {
    cat > "$1/a.c" << 'SOURCE'
int other(int);
static __attribute__((noinline)) int inner(int x) { return other(x) + 1; }
int outer(int x) { return inner(x) * 2; }
__attribute__((weak, alias("outer"))) int alias(int);
SOURCE
    for style in gnu sysv both; do
        ${CC:-gcc} -O1 -g0 -shared -fPIC -nostdlib -Wl,--hash-style=$style -Wl,-z,noseparate-code -o "$1/$style.so" "$1/a.c"
    done
    strip -o "$1/stripped.so" "$1/gnu.so"
    ${CC:-gcc} -O1 -c -o "$1/a.o" "$1/a.c"
    rm "$1/a.c"
}

# The first byte chooses the reader: see fuzz_reply.c.
inputs_reply() {
    printf '\004HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 11\r\n\r\n\n\011\010\003\022\005no ok' > "$1/ok"
    printf '\040HTTP/1.1 503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n' > "$1/chunks"
    printf '\010HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nretry-after: 30\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{"message":"too much"}' > "$1/again"
    printf '\001\010\010\022\004full\032\067\n\050type.googleapis.com/google.rpc.RetryInfo\022\013\n\011\010\003\020\200\302\327\057' > "$1/status"
    printf '\00200\201\200\000\001\000\002\000\000\000\000\001a\001b\000\000\001\000\001\300\014\000\001\000\001\000\000\000\074\000\004\177\000\000\001\300\014\000\005\000\001\000\000\000\074\000\004\001c\300\016' > "$1/answer"
    printf '\003http://user@[::1]:4318/v1/profiles?x=y#z' > "$1/url"
    printf '\003authorization=Bearer%%20x,x-extra = 1 ,bad%%zz=2,te=3' > "$1/headers"
}

# The first byte: even for a head, odd for chunks; half of it is the size of the pieces.
inputs_request() {
    printf '\140POST /v1development/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\nConnection: keep-alive, close\r\nExpect: 100-continue\r\n\r\n' > "$1/head"
    printf '\002POST http://a/v1development/profiles?b HTTP/1.0\r\nContent-Type: application/json; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n' > "$1/old"
    printf '\003GET / HTTP/1.1\r\nHost: x\r\n folded\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n' > "$1/bad"
    printf '\0075;a=b\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\nPOST' > "$1/chunks"
    printf '\001ff\r\nshort\r\nffffffffff\r\n' > "$1/lies"
}

small() { # FILE: a small good message
    "$python" "$top/tests/tool/otlp_gen.py" good "$1" stacks=6 depth=4
}

inputs_pprof() {
    small small.otlp
    "$tool" convert -o x.pb small.otlp 2> /dev/null
    gzip -dc < x.pb > "$1/x"
    grep -aq 'otelprof.process: ' "$1/x" || bad "no line with the process among the inputs"
    for seed in 1 2 3; do
        "$python" "$top/tests/tool/pprof_text.py" gen x.gz $seed
        gzip -dc < x.gz > "$1/$seed"
    done
}

inputs_otep239() {
    small small.otlp
    "$tool" convert -o x.otep239 small.otlp 2> /dev/null
    gzip -dc < x.otep239 > "$1/x"
    cp "$top"/tests/golden/*.otep239 "$1"
}

inputs_json() {
    small small.otlp
    "$tool" convert -o "$1/x.jsonl" small.otlp
}

inputs_old_otlp() {
    for version in 1.4 1.5 1.6 1.7; do
        "$python" "$top/tests/tool/old_wire.py" $version "$1/$version"
    done
}

inputs_unpack() {
    small small.otlp
    gzip -c small.otlp > "$1/x.gz"
    "$tool" convert -o "$1/x.otlp.zst" small.otlp
    head -c 3000000 /dev/zero | gzip -c > "$1/zeros.gz"
}

for source in "$here"/fuzz_*.c; do
    target=$(basename "$source" .c)
    name=${target#fuzz_}
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    begin "$name"
    make -C "$top" -s BUILD="${build#"$top"/}" MODE=asan "${objects#"$top"/}/tests/fuzz/$target" > "$d/make.log" 2>&1 ||
        bad "it does not build: $(grep -m 1 error "$d/make.log")"
    mkdir inputs
    "inputs_$name" "$d/inputs"
    [ ! -d "$here/kept/$name" ] || cp "$here/kept/$name"/* "$d/inputs"
    if ! timeout 300 "$objects/tests/fuzz/$target" -m "$mutations" inputs/* > out 2> err; then
        bad "an input fails: $(grep -m 1 -E 'ERROR|runtime error|Assertion' err || tail -n 1 err)"
    fi
    tried=$(sed -n 's/^replay: \([0-9]*\) inputs looked at, 0 failed$/\1/p' out)
    between "inputs looked at" $((mutations * 3)) 10000000 "${tried:-0}"
    [ -z "${VERBOSE:-}" ] || echo "      $name: ${tried:-0} inputs"
    end
done
finish
