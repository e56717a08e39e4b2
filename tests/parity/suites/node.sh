# SPDX-License-Identifier: Apache-2.0
# node: tests of its own: child processes, workers, clusters, streams, signals; a compiler at run time underneath.
packages='nodejs'
programs='node*'
least=50

prepare() {
    once sources sources
}

sources() {
    APT_SOURCE_STATE="$store/apt" sh "$top/tools/dev/apt_source.sh" "$src/download" nodejs
    tar -xf "$(ls -S "$src"/download/nodejs_*.orig.tar.* | head -n 1)" -C "$src" --wildcards --strip-components=1 \
        '*/test/common/*' '*/test/parallel/*' '*/test/fixtures/*' '*/test/sequential/*'
    rm -rf "$src/download"
}

cases() {
    ln -s "$src/test" test
    cd test/parallel || exit 1
    list='test-child-process-*.js test-process-*.js test-worker-*.js test-cluster-*.js test-signal*.js'
    if [ -n "$quick" ]; then
        # shellcheck disable=SC2086
        ls $list | awk 'NR % 6 == 0' > "$scratch/list"
    else
        list="$list test-fs-*.js test-net-*.js test-http-*.js test-stream-*.js test-zlib*.js test-crypto-*.js test-gc-*.js test-timers-*.js"
        # shellcheck disable=SC2086
        ls $list > "$scratch/list"
    fi
    export NODE_TEST_DIR="$scratch" NODE_COMMON_PORT=23456 TEST_PARALLEL=
    each 1 300 node --expose-gc < "$scratch/list"
    for status in "$out"/*.status; do
        word=ok
        [ "$(cat "$status")" = 0 ] || word=fail
        printf '%s\t%s %s\n' "$(basename "$status" .status)" "$word" "$(cat "$status")"
    done
}
