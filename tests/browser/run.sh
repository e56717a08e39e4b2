#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: the page of `otelprof flame` in a real browser: views, search, zoom, filters, colours, keys, themes.
. "$(dirname "$0")/../common.sh"
suite=browser
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/otelprof" > "$work/make.out" 2>&1 || {
    tail -n 5 "$work/make.out"
    exit 1
}
sh "$top/tools/dev/apt_packages.sh" chromium fonts-dejavu-core > "$work/apt.out" 2>&1 || tail -n 2 "$work/apt.out"

page() { # NAME, arguments of the generator…: NAME.html of such a profile
    stem=$1
    shift
    "$python" "$top/tests/tool/otlp_gen.py" good "$stem.otlp" "$@"
    "$tool" flame -t samples -o "$stem.html" "$stem.otlp" || bad "no page: exit status $?"
}

drive() {
    "$python" "$here/drive.py" "$1" > seen 2>&1 || bad "$(tail -n 12 seen)"
    grep -q ' answers of [1-9]' seen || bad "nothing was seen: $(tail -n 2 seen)"
}

begin "a profile of several threads and types"
if need chromium; then
    page usual
    drive usual.html
fi
end

begin "a program of this machine, in its own threads"
if need chromium; then
    ${CC:-gcc} -O1 -o threads "$here/threads.c" -pthread || bad "threads.c does not compile"
    make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/libotelprof.so" > make.out 2>&1 || bad "$(tail -n 3 make.out)"
    OTELPROF_CPU_HZ=1000 OTELPROF_OUTPUT=file:real.otlp LD_PRELOAD=$lib ./threads || bad "exit status $?"
    "$tool" flame -t samples -o real.html real.otlp
    drive real.html
    for thread in lefty righty third; do
        grep -q "\"threads\":\[.*\"$thread\"" real.html || bad "thread $thread is not in the page"
    done
fi
end

begin "a difference"
if need chromium; then
    "$python" "$top/tests/tool/otlp_gen.py" good base.otlp
    "$python" "$top/tests/tool/otlp_gen.py" good new.otlp scale=3 seed=2
    "$tool" flame -t samples --diff base.otlp -o diff.html new.otlp
    drive diff.html
fi
end

begin "100,000 frames"
if need chromium; then
    page large stacks=20000 depth=24
    drive large.html
    frames=$(sed -n 's/.* answers of \([0-9]*\) frames.*/\1/p' seen)
    [ "${frames:-0}" -ge 100000 ] || bad "only ${frames:-0} frames"
    rows=$(sed -n 's/.* frames, \([0-9]*\) rows, \([0-9]*\) of them found.*/\1 \2/p' seen)
    [ "${rows% *}" -ge 5000 ] && [ "${rows#* }" -ge 500 ] || bad "rows and those that were found: $rows"
fi
end
finish
