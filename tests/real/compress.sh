#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compress.sh: xz -9 and zstd -19 on a tar (TEST_LONG=1: of 100 MB).
. "$(dirname "$0")/../common.sh"
size=4M
[ -z "${TEST_LONG:-}" ] || size=100M limit=900
tar -cf - -C /usr/lib/x86_64-linux-gnu . 2> /dev/null | head -c $size > "$work/data.tar"

begin "xz -9"
if need xz; then
    bare xz -9 -T1 -c "$work/data.tar"
    prof xz -9 -T1 -c "$work/data.tar"
    same
    strict
    xz -dc < prof.out | cmp -s - "$work/data.tar" || bad "the result is wrong"
    cpu_time_is_right
    has_function cpu lzma_code $(files xz)
    has_function alloc_space lzma_stream_encoder $(files xz)
    # The match finder's tables: more than half a GB in one program that reports what it asks for.
    between "bytes allocated" 300000000 1500000000 "$(judge totals $(files xz) | sed -n 's/^alloc_space //p')"
    judge mappings $(files xz) | grep -q '/liblzma\.so' || bad "no frame in liblzma"
fi
end

begin "zstd -19"
if need zstd; then
    bare zstd -19 -T1 -q -c "$work/data.tar"
    prof zstd -19 -T1 -q -c "$work/data.tar"
    same
    strict
    zstd -dcq < prof.out | cmp -s - "$work/data.tar" || bad "the result is wrong"
    cpu_time_is_right
    has_function cpu start_thread $(files zstd)
    judge mappings $(files zstd) | grep -q '/zstd$' || bad "no frame in zstd"
fi
end

begin "zstd with threads"
if need zstd; then
    bare zstd -15 -T4 -B512K -q -c "$work/data.tar"
    prof zstd -15 -T4 -B512K -q -c "$work/data.tar"
    same
    strict
    cpu_time_is_right
    has_function cpu start_thread $(files zstd)
fi
end
finish
