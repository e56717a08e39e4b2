#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME...]: every fuzz target, under the address and undefined-behaviour sanitizers, with good inputs made
# here and with those in kept/NAME that failed once: as they are, cut off at each byte, and changed in a fixed number of
# ways (FUZZ_MUTATIONS, 2000).
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/inputs.sh"
suite=fuzz
mutations=${FUZZ_MUTATIONS:-2000}
objects=$build/obj-asan-$(basename "${CC:-gcc}")
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/otelprof" > "$work/make.out" 2>&1 || tail -n 3 "$work/make.out"
sh "$top/tools/dev/apt_packages.sh" gcc make binutils python3 gzip zstd

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
