# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and guided.sh: good inputs of each target, made here.
# shellcheck disable=SC2154

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
    rm -f x.pb
    "$tool" convert -o x.pb small.otlp 2> /dev/null
    gzip -dc < x.pb > "$1/x"
    grep -aq 'otelprof.process: ' "$1/x" || bad "no line with the process among the inputs"
    for seed in 1 2 3; do
        "$python" "$top/tests/tool/pprof_text.py" gen x.gz $seed
        gzip -dc < x.gz > "$1/$seed"
    done
}

inputs_gperftools() {
    small small.otlp
    for end in prof heap; do
        rm -f x.$end
        "$tool" convert -o x.$end small.otlp 2> /dev/null
        cp x.$end "$1/x.$end"
    done
    printf 'heap profile: 1: 9 [3: 30] @ heapprofile\n1: 9 [1: 9] @ 0x401010 0x401020\n0: 0 [2: 21] @ 0x401020\n\nMAPPED_LIBRARIES:\n%s\n' \
        '00401000-00402000 r-xp 00001000 08:01 77   /bin/app (deleted)' > "$1/text"
    printf 'heap_v2/524288\n  t*: 3: 30 [0: 0]\n  t0: 3: 30 [0: 0]\n@ 0x401010 0x401020\n  t*: 1: 9 [1: 9]\n  t0: 1: 9 [1: 9]\n\nMAPPED_LIBRARIES:\n%s\n' \
        '00401000-00402000 r-xp 00001000 08:01 77   /bin/app' > "$1/jemalloc"
}

inputs_otep239() {
    small small.otlp
    rm -f x.otep239
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

# Of readers of settings: see fuzz_settings.c.
inputs_settings() {
    {
        printf '\0'
        sed -n '/^#/!s/^\([A-Z_]*\).*/\1=1/p' "$top/tests/contract/options.txt" | tr '\n' '\0'
    } > "$1/all"
    printf '\0OTELPROF_OUTPUT=file:/tmp/%%e-%%p.otlp.gz,unix:@x,tcp:[::1]:4317,grpc://h:1\0OTELPROF_INTERVAL=10ms\0OTELPROF_CPU_BUDGET=0.5%%\0' > "$1/some"
    printf '\0OTELPROF_HEAP_INTERVAL=64k\0OTELPROF_TOGGLE_SIGNAL=RTMIN+3\0OTELPROF_PROGRAMS=a*,[!b-d]?\0OTEL_EXPORTER_OTLP_HEADERS=a=%%20b,c=d\0' > "$1/more"
    printf '\001set OTELPROF_CPU_HZ=250' > "$1/set"
    printf '\001status' > "$1/status"
    printf '\002a*b?[a-c!]\\*\0aXbYc*' > "$1/glob"
    printf '\003file-%%e-%%p-%%h-%%t-%%n%%%%.otlp.zst' > "$1/template"
    printf '\004service.name=a%%20b,k = v ,telemetry.sdk.name=x' > "$1/attributes"
    printf '\005[::ffff:1.2.3.4]:4318' > "$1/address"
    printf '\005grpc://host:4317' > "$1/output"
}

# Of what is read of the system: see fuzz_process.c.
inputs_process() {
    { printf '\0'; cat /proc/self/maps; } | head -c 3000 > "$1/maps"
    printf '\001nameserver 1.2.3.4\nnameserver ::1\nsearch a.b c\noptions ndots:3 timeout:2 attempts:9\n1.2.3.4 a.b # x\n::1 a.b\n' > "$1/names"
    { printf '\002'; cat /proc/self/stat; } > "$1/stat"
    printf '\011a\0-b\0c' > "$1/command"
    printf '\0200123456789abcdef0123456789abcdef\n' > "$1/machine"
    { printf '\027'; cat /etc/os-release; } > "$1/release"
    printf '\03612:cpu:/docker/%064d\n0::/kubepods.slice/pod1/cri-containerd-%064d.scope\n' 1 2 > "$1/cgroup"
    { printf '\045'; cat /proc/self/mountinfo; } | head -c 3000 > "$1/mounts"
    printf '\003\012\030\012\026\012\014service.name\022\006\012\004mine\022\032\012\005a.key\022\021\052\017\012\005\012\003one\012\006\012\004zwei' > "$1/context"
    printf '\004\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\001\002\003\004\005\006\007\010\001\000\010\000\000\002ab\002\002cd' > "$1/record"
    printf '\005_ZNSt6vectorIiSaIiEE9push_backERKi' > "$1/mangled"
    printf '\005_RNvCs1234_7mycrate3foo' > "$1/rust"
    printf '\006\004\000\000\000\010\000\000\000\003\000\000\000GNU\000\001\002\003\004\005\006\007\010' > "$1/note"
}

# What a server of HTTP/2 says: settings, an answer with a message and a status.
inputs_grpc() {
    "$python" - "$1" << 'P'
import struct, sys
def frame(type, flags, stream, body):
    return struct.pack(">I", len(body))[1:] + bytes([type, flags]) + struct.pack(">I", stream) + body
def literal(name, value):
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
hello = frame(4, 0, 0, b"")
head = frame(1, 4, 1, b"\x88" + literal(b"content-type", b"application/grpc"))
good = hello + frame(4, 1, 0, b"") + head + frame(0, 0, 1, b"\0\0\0\0\0") + frame(1, 5, 1, literal(b"grpc-status", b"0"))
bad = frame(4, 0, 0, struct.pack(">HI", 3, 1)) + frame(1, 5, 1, b"\x88" + literal(b"grpc-status", b"14")
    + literal(b"grpc-message", b"no%20room") + literal(b"grpc-status-details-bin", b"CA4SBGZ1bGw"))
away = hello + frame(6, 0, 0, b"12345678") + frame(8, 0, 0, struct.pack(">I", 9)) + frame(3, 0, 1, struct.pack(">I", 7)) \
    + frame(7, 0, 0, struct.pack(">II", 0, 0))
for name, data in ("good", good), ("bad", bad), ("away", away):
    open(sys.argv[1] + "/" + name, "wb").write(b"\x01" + data)
P
}

# Objects of this machine, as they lie in memory: the place of their exception frames' header, then they.
inputs_unwind() {
    printf 'int f(int (*g)(int), int n) { volatile char big[100]; big[n] = 1; return g(n) + big[n]; }\nvoid h(void) { __builtin_trap(); }\n' > "$1/a.c"
    for options in -O0 "-O2 -fno-omit-frame-pointer" "-O2 -mstackrealign"; do
        # shellcheck disable=SC2086
        ${CC:-gcc} $options -shared -fPIC -nostdlib -fasynchronous-unwind-tables -Wl,-z,noseparate-code -o "$1/a.so" "$1/a.c"
        "$python" - "$1/a.so" "$1/$(echo "$options" | tr -d ' ')" << 'P'
import struct, sys
data = open(sys.argv[1], "rb").read()
at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
for i in range(count):
    kind, _, offset = struct.unpack_from("<IIQ", data, at + i * size)
    if kind == 0x6474e550: # PT_GNU_EH_FRAME; all of it is in one segment, so places in the file are those in memory
        open(sys.argv[2], "wb").write(struct.pack("<H", offset) + data)
P
    done
    rm "$1/a.c" "$1/a.so"
}

inputs_program() {
    printf '#!/usr/bin/env -S python3 -u\nprint(1)\n' > "$1/script"
    printf '#! /bin/sh' > "$1/short"
    printf 'int main(void) { return 0; }\n' > "$1/a.c"
    ${CC:-gcc} -s -o "$1/dynamic" "$1/a.c"
    head -c 1000 "$1/dynamic" > "$1/cut"
    rm "$1/a.c"
}

# Packages of version 4 (GNU's) and, where it is here, of version 5 (LLVM's).
inputs_package() {
    printf 'static inline __attribute__((always_inline)) int inner(int x) { return x * 3; }\nint outer(int x) { return inner(x) + 1; }\n' > "$1/a.c"
    printf 'int outer(int x);\nint main(int n, char **v) { (void)v; return outer(n); }\n' > "$1/b.c"
    for way in "${CC:-gcc} 4 dwp" "clang 5 llvm-dwp"; do
        # shellcheck disable=SC2086
        set -- "$1" $way
        if command -v "$2" > /dev/null && command -v "$4" > /dev/null; then
            (cd "$1" && "$2" -g -gdwarf-"$3" -gsplit-dwarf -O1 -c a.c b.c && timeout 60 "$4" -o "package.$3" a.dwo b.dwo)
            rm -f "$1"/*.dwo "$1"/*.o
        fi
    done
    rm "$1/a.c" "$1/b.c"
}
