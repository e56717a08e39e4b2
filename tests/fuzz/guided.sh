#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# guided.sh [TARGET…]: by hand, for as long as wanted: each decoder of profiles against clang's fuzzer with the sanitizers, from a corpus of one good file of
# each kind: no crash, no leak, no runaway memory or time.
#   FUZZ_SECONDS   for each target (10)
#   FUZZ_CORPUS    a folder that keeps what was found, for the next time
. "$(dirname "$0")/../common.sh"
suite=fuzz
seconds=${FUZZ_SECONDS:-10}
targets=${*:-otlp pprof otep239 json old_otlp unpack}
command -v clang > /dev/null || sh "$top/tools/dev/apt_packages.sh" clang > /dev/null 2>&1 || :
printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return n > 3 && d[0] == 1; }\n' > "$work/probe.c"
clang -fsanitize=fuzzer,address,undefined -o "$work/probe" "$work/probe.c" 2> "$work/probe.err" || {
    begin "the fuzzer"
    skip "clang's fuzzer is not here: $(tail -n 1 "$work/probe.err")"
    end
    finish
}
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/otelprof" > "$work/make.out" 2>&1 || {
    tail -n 5 "$work/make.out"
    exit 1
}

# The decoders and what they stand on, seen by the fuzzer.
objects=$build/tests/fuzz
mkdir -p "$objects"
flags="-std=gnu11 -g -O1 -I$top -DOTP_SANITIZER=1 -fno-omit-frame-pointer -fno-sanitize-recover=all"
find "$top/core/decode" "$top/core/base" -name '*.c' ! -name 'libstubs*' ! -name 'real_hot.c' ! -name 'dynsym_hot.c' | sort |
    xargs -P 2 -I FILE sh -c 'o=$1/$(echo "${2#"$3"/}" | tr / _).o
        [ "$o" -nt "$2" ] && [ "$o" -nt "$3/core/decode/model.h" ] || clang $4 -fsanitize=fuzzer-no-link,address,undefined -c -o "$o" "$2"' \
        sh "$objects" FILE "$top" "$flags" 2> "$work/cc.err" || {
    head -n 5 "$work/cc.err"
    begin "the decoders compile for the fuzzer"
    bad "they do not"
    end
    finish
}
rm -f "$objects/decode.a"
ar rcs "$objects/decode.a" "$objects"/core_*.o

# corpus TARGET: good files of its kind in $seeds
corpus() {
    mkdir -p "$seeds"
    "$python" "$top/tests/tool/otlp_gen.py" good small.otlp stacks=6 depth=4
    case $1 in
    otlp)
        cp small.otlp "$seeds/now"
        for version in 1.4 1.5 1.6 1.7; do "$python" "$top/tests/tool/old_wire.py" $version "$seeds/old-$version"; done
        "$python" "$top/tests/tool/old_wire.py" 1.7 "$seeds/framed" framed
        "$tool" convert -o "$seeds/x.jsonl" small.otlp
        "$tool" convert -o "$seeds/x.pb" small.otlp 2> /dev/null
        "$tool" convert -o "$seeds/x.otlp.zst" small.otlp
        ;;
    pprof) "$tool" convert -o x.pb small.otlp 2> /dev/null && gzip -dc < x.pb > "$seeds/x" ;;
    otep239) "$tool" convert -o x.otep239 small.otlp 2> /dev/null && gzip -dc < x.otep239 > "$seeds/x" ;;
    json) "$tool" convert -o "$seeds/x.jsonl" small.otlp ;;
    old_otlp) for version in 1.4 1.5 1.6 1.7; do "$python" "$top/tests/tool/old_wire.py" $version "$seeds/$version"; done ;;
    unpack)
        gzip -c small.otlp > "$seeds/x.gz"
        "$tool" convert -o "$seeds/x.otlp.zst" small.otlp
        head -c 300000 /dev/zero | gzip -c > "$seeds/zeros.gz"
        ;;
    esac
    [ ! -d "$here/kept/$1" ] || cp "$here/kept/$1"/* "$seeds"
    [ -n "$(find "$seeds" -type f -size +10c)" ] || bad "no file to begin with"
}

for target in $targets; do
    begin "$target"
    # shellcheck disable=SC2086
    clang $flags -fsanitize=fuzzer,address,undefined -o fuzz "$here/fuzz_$target.c" \
        "$objects/decode.a" -lzstd -lz 2> cc.err ||
        bad "it does not compile: $(head -n 3 cc.err)"
    seeds=$d/seeds
    corpus "$target"
    found=${FUZZ_CORPUS:+$FUZZ_CORPUS/$target}
    found=${found:-$d/found}
    mkdir -p "$found"
    [ "$problems" != 0 ] || ./fuzz -seed=1 -max_total_time="$seconds" -max_len=65536 -timeout=25 -rss_limit_mb=2048 \
        -malloc_limit_mb=1100 -print_final_stats=1 -artifact_prefix="$d/" "$found" "$seeds" > fuzz.log 2>&1 ||
        bad "$(grep -E 'ERROR|SUMMARY|runtime error|libFuzzer: ' fuzz.log | head -n 4); input: $(cat "$d"/crash-* "$d"/oom-* "$d"/leak-* "$d"/timeout-* 2> /dev/null | base64 -w 0 | head -c 4000)"
    tried=$(sed -n 's/^stat::number_of_executed_units: //p' fuzz.log)
    [ "${tried:-0}" -gt 100 ] || bad "only ${tried:-0} inputs were tried: $(tail -n 2 fuzz.log)"
    echo "    $suite: $target: ${tried:-0} inputs, $(find "$found" -type f | wc -l) kept"
    end
done
finish
