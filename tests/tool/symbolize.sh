#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# symbolize.sh: names, lines and inlined calls after the fact are those that binutils finds, from the file, from a debug
# directory and from a debuginfod server; what is known stays, and what is not found is said.
. "$(dirname "$0")/../common.sh"
unset DEBUGINFOD_URLS
host=$work/bin/symbolize_host
mkdir -p "$work/bin"
${CXX:-g++} -std=gnu++17 -g -O2 -fno-omit-frame-pointer -Wl,--build-id -o "$host" "$here/symbolize_host.cc" || exit 1
cp "$host" "$work/full"
strip -o "$work/bare" "$host"
id=$(readelf -n "$host" | sed -n 's/.*Build ID: //p')
rest=$(printf %s "$id" | cut -c 3-)
folder=.build-id/$(printf %s "$id" | cut -c 1-2)
objcopy --only-keep-debug "$host" "$work/debug"

# A profile of the stripped program: names from the dynamic symbols only.
cp "$work/bare" "$host"
OTELPROF_OUTPUT=file:$work/x.otlp OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 LD_PRELOAD=$lib "$host" 3000 > /dev/null
totals=$("$python" "$top/tests/judge.py" totals "$work/x.otlp")

right() { # PROFILE: equal to binutils' answers, and nothing else has changed
    "$tool" convert -o right.jsonl "$1"
    "$python" "$here/symbolize_truth.py" right.jsonl symbolize_host "$work/full" > truth || bad "$(cat truth)"
    grep -q ', [1-9][0-9]* with inlined calls' truth || bad "nothing was inlined: $(cat truth)"
    "$python" - right.jsonl << 'P' || bad "step, turn and spin are not inside each other"
import json, sys
d = json.loads(open(sys.argv[1]).readline())["dictionary"]
names = [[d["stringTable"][d["functionTable"][x["functionIndex"]]["nameStrindex"]].split("(")[0] for x in l.get("lines", [])]
         for l in d["locationTable"]]
sys.exit(["step", "work::box::turn", "work::box::spin"] not in names)
P
    rm right.jsonl
    equal "totals" "$totals" "$("$python" "$top/tests/judge.py" totals "$1")"
    "$tool" check --strict "$1" > check || bad "$(head -n 3 check)"
}

begin "from the file itself"
cp "$work/full" "$host"
"$tool" symbolize -o y.otlp "$work/x.otlp" 2> err
equal "exit status" 0 $?
right y.otlp
grep -q '^otelprof symbolize: [0-9]* locations, ' err || bad "no sum: $(cat err)"
"$tool" top -n 0 y.otlp > top
grep -q 'work::box::spin' top || bad "no name: $(head -n 5 top)"
end

begin "what is there stays"
"$tool" symbolize -o y.otlp "$work/x.otlp" 2> err
"$tool" symbolize -o z.otlp y.otlp 2> err
cmp -s y.otlp z.otlp || bad "a second time makes a difference"
mkdir empty
mv "$host" "$host.away"
"$tool" symbolize -o w.otlp y.otlp 2> err
cmp -s y.otlp w.otlp || bad "names go when the file is gone"
mv "$host.away" "$host"
end

begin "from a debug directory, with the stripped program and without it"
mkdir -p "root/usr/lib/debug/$folder" "flat/$folder"
cp "$work/debug" "root/usr/lib/debug/$folder/$rest.debug"
cp "$work/debug" "flat/$folder/$rest.debug"
cp "$work/bare" "$host"
for root in root flat "empty:flat"; do
    "$tool" symbolize --debug-root "$root" -o y.otlp "$work/x.otlp" 2> err
    equal "exit status" 0 $?
    right y.otlp
done
mv "$host" "$host.away"
"$tool" symbolize --debug-root=flat -o y.otlp "$work/x.otlp" 2> err
right y.otlp
mkdir -p "image$(dirname "$host")"
cp "$work/full" "image$host"
"$tool" symbolize --debug-root=image -o y.otlp "$work/x.otlp" 2> err
right y.otlp
mv "$host.away" "$host"
end

begin "a file of another build is not used"
${CXX:-g++} -std=gnu++17 -g -O0 -Wl,--build-id -o "$host" "$here/symbolize_host.cc"
"$tool" symbolize -o y.otlp "$work/x.otlp" 2> err
equal "exit status" 0 $?
grep -q "symbolize_host (build id $id): of [1-9].* without a line: no file of that build id is here" err || bad "$(cat err)"
"$tool" convert -o y.jsonl y.otlp
! grep -q 'symbolize_host.cc' y.jsonl || bad "it was used"
end

# with_ids OUT ID HASH: the profile with these as build ids of the program; `keep` is what it has, `` none.
with_ids() {
    "$tool" convert -o ids.jsonl "$work/x.otlp" 2> err
    "$python" - ids.jsonl "$2" "$3" << 'P'
import json, random, sys
out = []
for line in open(sys.argv[1]):
    message = json.loads(line)
    d = message["dictionary"]
    names, attributes = d["stringTable"], d["attributeTable"]
    for m in d["mappingTable"]:
        if not names[m.get("filenameStrindex", 0)].endswith("/symbolize_host"):
            continue
        kept = []
        for i in m["attributeIndices"]:
            kind = names[attributes[i]["keyStrindex"]].rsplit(".", 1)[1]
            text = {"gnu": sys.argv[2], "htlhash": sys.argv[3]}[kind]
            if text not in ("", "keep"):
                attributes.append(dict(attributes[i], value={"stringValue": text}))
                i = len(attributes) - 1
            if text:
                kept.append(i)
        m["attributeIndices"] = kept
    for r in message["resourceProfiles"]:
        for s in r["scopeProfiles"]:
            for p in s["profiles"]:
                p["profileId"] = random.randbytes(16).hex()
    out.append(json.dumps(message))
open(sys.argv[1], "w").write("\n".join(out) + "\n")
P
    "$tool" convert -o "$1" ids.jsonl 2> err || bad "$(cat err)"
}

# used WHAT EXPECTED FILE…: whether the program's debug information is used for these profiles
used() {
    what=$1 expected=$2
    shift 2
    "$tool" symbolize --debug-root "$d/root" -o used.otlp "$@" 2> err || bad "$what: exit status $?: $(cat err)"
    "$tool" convert -o used.jsonl used.otlp 2> err2
    equal "$what" "$expected" "$(grep -q 'symbolize_host[.]cc' used.jsonl && echo used || echo not used)"
    rm used.otlp used.jsonl
}

begin "what is no build id matches no file; a hash does, and tells modules apart"
cp "$work/full" "$host"
mkdir -p root/.build-id/zz
cp "$work/full" root/elsewhere.debug
hash=$("$python" -c 'import hashlib, sys
d = open(sys.argv[1], "rb").read()
print(hashlib.sha256(d[:4096] + d[-4096:] + len(d).to_bytes(8, "big")).hexdigest()[:32])' "$host")
with_ids as_it_is.otlp keep keep
with_ids no_hex.otlp "not hex" ''
with_ids long.otlp "$(printf '%0200d' 1)" ''
with_ids path.otlp "zz/../../elsewhere" ''
with_ids hash.otlp '' "$hash"
with_ids both.otlp "not hex" "$hash"
with_ids other.otlp '' 00112233445566778899aabbccddeeff
used "the file, by its build id" used as_it_is.otlp
used "the file, for what is not hex" "not used" no_hex.otlp
used "the file, for what is too long" "not used" long.otlp
used "the file, by its hash" used hash.otlp
used "the file, by its hash beside what is not hex" used both.otlp
used "the file, for another hash" "not used" other.otlp
used "the file, for one of two" used other.otlp hash.otlp
grep -q 'symbolize_host: .*not the one that was profiled' err || bad "the other is taken for the same: $(cat err)"
used "the file, for one of two" used hash.otlp other.otlp
grep -q 'symbolize_host: .*not the one that was profiled' err || bad "the other is taken for the same: $(cat err)"
rm "$host"
used "a file elsewhere" "not used" path.otlp
end

begin "run-time addresses, as pprof files have them"
cp "$work/full" "$host"
"$tool" convert -o x.pb "$work/x.otlp" 2> err
"$python" - x.pb moved.pb << 'P'
import gzip, sys
def varint(d, i):
    v = s = 0
    while True:
        v |= (d[i] & 127) << s
        s += 7
        i += 1
        if d[i - 1] < 128:
            return v, i
def put(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])
def fields(d):
    i = 0
    while i < len(d):
        t, i = varint(d, i)
        if t & 7 == 0:
            v, i = varint(d, i)
        else:
            n, i = varint(d, i)
            v, i = d[i:i + n], i + n
        yield t, v
def pack(items):
    return b"".join(put(t) + (put(v) if t & 7 == 0 else put(len(v)) + v) for t, v in items)
base = 0x7f1234560000
raw = open(sys.argv[1], "rb").read()
d = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
out = []
for t, v in fields(d):
    if t >> 3 == 3:
        v = pack((a, b + base if a >> 3 in (2, 3) and b else b) for a, b in fields(v))
    elif t >> 3 == 4:
        v = pack((a, b + base if a >> 3 == 3 and b else b) for a, b in fields(v) if a >> 3 != 4)
    out.append((t, v))
open(sys.argv[2], "wb").write(pack(out))
P
"$tool" symbolize -o y.otlp moved.pb 2> err
equal "exit status" 0 $?
"$tool" top -n 0 -t cpu y.otlp > top
grep -q 'work::box::spin' top || bad "no name: $(head -n 5 top) $(cat err)"
"$tool" convert -o y.jsonl y.otlp
grep -q 'symbolize_host.cc' y.jsonl || bad "no source file"
end

begin "from a debuginfod server"
if need debuginfod; then
    rm "$host"
    mkdir files
    cp "$work/debug" files/some.debug
    for port in 18761 18762 18763 18764; do
        debuginfod -d :memory: -p $port -F files > server.log 2>&1 &
        server=$!
        pids="$pids $server"
        wait_for 30 sh -c "grep -q 'started http server' server.log || ! kill -0 $server" || bad "$(tail -n 3 server.log)"
        ! kill -0 $server 2> /dev/null || break
    done
    export DEBUGINFOD_URLS=http://127.0.0.1:$port DEBUGINFOD_CACHE_PATH=$d/cache DEBUGINFOD_TIMEOUT=20
    wait_for 60 "$python" -c "import urllib.request as u
u.urlopen('$DEBUGINFOD_URLS/buildid/$id/debuginfo').read()" 2> err || bad "the server does not have it: $(tail -n 1 err)"
    "$tool" symbolize -o y.otlp "$work/x.otlp" 2> err
    equal "exit status" 0 $?
    right y.otlp
    kill $server
    export DEBUGINFOD_URLS=http://127.0.0.1:1 DEBUGINFOD_CACHE_PATH=$d/cache2
    "$tool" symbolize -o z.otlp "$work/x.otlp" 2> err
    equal "exit status without a server" 0 $?
    grep -q "build id $id.*no file of that build id is here or on the servers" err || bad "$(cat err)"
    unset DEBUGINFOD_URLS
fi
end

begin "wrong usage"
"$tool" symbolize "$work/x.otlp" 2> err
equal "exit status without -o" 2 $?
one_line err "-o OUT"
"$tool" symbolize -o y.otlp no-such-file 2> err
equal "exit status of a missing file" 3 $?
one_line err "no-such-file"
end
begin "debug information that the compiler has left in .dwo files"
for wire in 4 5; do
    mkdir split.$wire
    (cd split.$wire && ${CXX:-g++} -std=gnu++17 -g -gdwarf-$wire -gsplit-dwarf -O2 -fno-omit-frame-pointer -Wl,--build-id -o "$work/bin/split_host" \
        "$here/symbolize_host.cc") || bad "DWARF $wire: it does not compile"
    ${CXX:-g++} -std=gnu++17 -g -gdwarf-$wire -O2 -fno-omit-frame-pointer -Wl,--build-id -o whole "$here/symbolize_host.cc"
    for file in "$work/bin/split_host" whole; do
        objcopy -O binary -j .text "$file" "$(basename "$file").text"
    done
    same_file whole.text split_host.text "DWARF $wire: the code, so that what is true of the one is of the other"
    equal "files of debug information" 1 "$(find . "$work/bin" -name '*.dwo' | wc -l)"
    OTELPROF_OUTPUT=file:$d/split.otlp OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 LD_PRELOAD=$lib "$work/bin/split_host" 3000 > /dev/null
    "$tool" symbolize -o split.jsonl split.otlp 2> err || bad "DWARF $wire: $(cat err)"
    "$python" "$here/symbolize_truth.py" split.jsonl split_host whole > truth || bad "DWARF $wire: $(cat truth)"
    grep -q ', [1-9][0-9]* with inlined calls' truth || bad "DWARF $wire: nothing was inlined: $(cat truth)"
    # Without that file there are lines still, from the program itself, and names from its symbols.
    find . "$work/bin" -name '*.dwo' -exec rm {} +
    "$tool" symbolize -o less.otlp split.otlp 2> err || bad "DWARF $wire, without the .dwo file: $(cat err)"
    "$tool" top -n 0 less.otlp | grep -q 'split_host' || bad "DWARF $wire: no name without the .dwo file"
    rm split.otlp split.jsonl less.otlp
done
end
# GNU's dwp and LLVM's write the two versions of packages; GNU's knows nothing of DWARF 5.
begin "debug information of several units, packed (.dwp)"
printf 'int outer(int x);\nstatic inline __attribute__((always_inline)) int twice(int x) { return outer(x) * 2; }\n%s\n' \
    'int main(int n, char **v) { volatile int sum = 0; (void)v; for (int i = 0; i < 40; i++) sum += twice(n * 10000000 + i); return sum & 1; }' > main.c
printf 'static inline __attribute__((always_inline)) int inner(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * 31 %% 7; return s; }\n%s\n' \
    'int outer(int x) { return inner(x) + 1; }' > outer.c
looked=0
for way in "gcc 4 dwp" "clang 5 llvm-dwp"; do
    # shellcheck disable=SC2086
    set -- $way
    packer=$(command -v "$3" || find /usr/bin -name "$3-*" | sort | tail -n 1)
    if ! command -v "$1" > /dev/null || [ -z "$packer" ]; then
        skip "$1 or $3 is not here"
        continue
    fi
    mkdir "$1.$3" && cd "$1.$3" || exit 1
    for unit in main outer; do # one of them by its whole path
        case $unit in main) out=$PWD/main.o ;; *) out=outer.o ;; esac
        "$1" -g -gdwarf-"$2" -gsplit-dwarf -O1 -fno-omit-frame-pointer -c -o "$out" ../$unit.c || bad "$way does not compile"
    done
    "$1" -o packed main.o outer.o -Wl,--build-id
    timeout 60 "$packer" -o packed.dwp main.dwo outer.dwo 2> err || bad "$packer: $(head -n 1 err)"
    OTELPROF_OUTPUT=file:x.otlp OTELPROF_CPU_HZ=1000 LD_PRELOAD=$lib ./packed
    mv packed.dwp kept.dwp
    "$tool" symbolize -o want.jsonl x.otlp 2> err
    rm main.dwo outer.dwo
    mv kept.dwp packed.dwp
    TMPDIR=$PWD "$tool" symbolize -o have.jsonl x.otlp 2> err || bad "$way: exit status $?: $(head -n 1 err)"
    cmp -s want.jsonl have.jsonl || bad "$way: something else than from the .dwo files: $(cat err)"
    for name in inner outer twice main; do
        grep -q "\"$name\"" have.jsonl || bad "$way: no $name"
    done
    equal "$way: files left behind" "" "$(find . -name 'otelprof.*')"
    # What is damaged gives less, never something else.
    cp packed.dwp whole.dwp
    for size in 40 64 200 500 700; do
        head -c $size whole.dwp > packed.dwp
        "$tool" symbolize -o less.jsonl x.otlp 2> err || bad "$way, $size bytes of it: exit status $?"
        "$tool" top --json -n 0 less.jsonl | grep -q '"outer"' || bad "$way, $size bytes of it: not even names"
    done
    "$python" - "$tool" whole.dwp << 'P' || bad "$way: a damaged package ends the tool"
import random, subprocess, sys
data, r = open(sys.argv[2], "rb").read(), random.Random(1)
for i in range(30):
    b = bytearray(data)
    for _ in range(8):
        b[r.randrange(64, len(b))] = r.randrange(256)
    open("packed.dwp", "wb").write(b)
    run = subprocess.run([sys.argv[1], "symbolize", "-o", "odd.jsonl", "x.otlp"], stderr=subprocess.DEVNULL, timeout=60)
    if run.returncode != 0:
        sys.exit("%d: %d" % (i, run.returncode))
    subprocess.run(["rm", "odd.jsonl"], check=True)
P
    cd ..
    looked=$((looked + 1))
done
[ $looked -ge 1 ] || bad "no packer is here"
end
finish
