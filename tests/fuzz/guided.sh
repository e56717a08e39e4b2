#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# guided.sh [TARGET…]: by hand, for as long as wanted: each reader of foreign bytes against clang's fuzzer with the sanitizers, from a
# corpus of good files of each kind: no crash, no leak, no runaway memory or time.
#   FUZZ_SECONDS   for each target (10)
#   FUZZ_CORPUS    a folder that keeps what was found, for the next time
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/inputs.sh"
suite=fuzz
seconds=${FUZZ_SECONDS:-10}
targets=${*:-$(ls "$here" | sed -n 's/^fuzz_\(.*\)\.c$/\1/p')}
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

# All of core, seen by the fuzzer.
objects=$build/fuzz/obj-asan-clang
relative=${objects#"$top"/}
make -s -C "$top" CC=clang MODE=asan BUILD="${build#"$top"/}/fuzz" CFLAGS='-fsanitize=fuzzer-no-link -fno-sanitize-recover=all' \
    "$relative/libcore.a" "$relative/tools/otelprof/http_request.o" "$relative/tools/otelprof/target.o" \
    "$relative/tools/otelprof/dwp.o" \
    "${build#"$top"/}/fuzz/deps/private/libunwind.a" > "$work/cc.out" 2>&1 || {
    begin "core compiles for the fuzzer"
    bad "it does not: $(grep -m 3 error "$work/cc.out")"
    end
    finish
}
flags="-std=gnu11 -g -O1 -I$top -DOTP_SANITIZER=1 -fno-omit-frame-pointer -fno-sanitize-recover=all"
libraries="-l:libelf.a -l:libmbedtls.a -l:libmbedx509.a -l:libmbedcrypto.a -l:libnghttp2.a -l:libprotobuf-c.a -l:libzstd.a -l:libz.a -l:libiberty.a"

for target in $targets; do
    begin "$target"
    # shellcheck disable=SC2086
    clang $flags -fsanitize=fuzzer,address,undefined -o fuzz "$here/fuzz_$target.c" \
        "$objects/tools/otelprof/http_request.o" "$objects/tools/otelprof/target.o" "$objects/tools/otelprof/dwp.o" \
        -Wl,--start-group "$objects/libcore.a" "$build/fuzz/deps/private/libunwind.a" -Wl,--end-group $libraries -pthread 2> cc.err ||
        bad "it does not compile: $(head -n 3 cc.err)"
    seeds=$d/seeds
    mkdir -p "$seeds"
    "inputs_$target" "$seeds"
    [ ! -d "$here/kept/$target" ] || cp "$here/kept/$target"/* "$seeds"
    [ -n "$(find "$seeds" -type f)" ] || bad "no file to begin with"
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
