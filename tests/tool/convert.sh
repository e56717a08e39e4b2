#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# convert.sh: between formats and back without loss, merges with exact totals, losses named, differences found.
. "$(dirname "$0")/../common.sh"
pprof=$here/pprof_text.py

show() {
    "$python" "$pprof" show "$1"
}

convert() { # OUT FILE…: into OUT, what is lost into err
    "$tool" convert -o "$@" > out 2> err || bad "convert -o $*: exit status $?: $(cat err)"
    equal "output of convert" "" "$(cat out)"
}

begin "pprof to OTLP to pprof is the same, for all that pprof has"
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$python" "$pprof" gen in.pb.gz $seed
    show in.pb.gz > want
    convert direct.pb in.pb.gz
    show direct.pb > got
    cmp -s want got || bad "seed $seed: pprof to pprof: $(diff want got | head -n 3 | cut -c 1-200)"
    for via in a.otlp a.otlp.gz a.jsonl a.jsonl.zst a.otep239; do
        convert $via in.pb.gz
        convert back.pb $via
        show back.pb > got
        cmp -s want got || bad "seed $seed: through $via: $(diff want got | head -n 3 | cut -c 1-200)"
        [ $via = a.otep239 ] || cmp -s direct.pb back.pb || bad "seed $seed: through $via: not the same bytes"
    done
done
end

begin "what comes of pprof conforms to the format"
for seed in 21 22 23; do
    "$python" "$pprof" gen in.pb $seed
    convert a.otlp in.pb
    "$tool" check a.otlp > said || bad "seed $seed: $(cat said)"
done
end

begin "OTLP to JSON to OTLP is the same"
"$python" "$here/otlp_gen.py" good in.otlp stacks=40 depth=9
convert a.otlp in.otlp
convert a.jsonl a.otlp
convert b.otlp a.jsonl
cmp -s a.otlp b.otlp || bad "through JSON: not the same bytes"
[ ! -s err ] || bad "something is lost: $(cat err)"
for type in samples cpu alloc_space inuse_space; do
    "$tool" top --json -t $type in.otlp > want
    "$tool" top --json -t $type b.otlp > got
    "$tool" top --json -t $type a.jsonl > got2
    equal "functions of $type" "$(sed 's/"samples": [0-9]*//' want)" "$(sed 's/"samples": [0-9]*//' got)"
    equal "functions of $type in JSON" "$(cat got)" "$(cat got2)"
done
end

begin "the published examples of the format come back byte for byte"
convert cpu.otlp "$top/tests/golden/cpu.otlp"
cmp -s cpu.otlp "$top/tests/golden/cpu.otlp" || bad "the CPU profile"
convert linked.otlp --refer "$top/tests/golden/linked.otlp"
cmp -s linked.otlp "$top/tests/golden/linked.otlp" || bad "the one with resource attributes and a link"
[ ! -s err ] || bad "something is lost: $(cat err)"
convert slices.otep239.gz "$top/tests/golden/slices.otep239"
gzip -dc slices.otep239.gz | cmp -s - "$top/tests/golden/slices.otep239" || bad "the one with slices"
"$tool" info "$top/tests/golden/container.otep239" > said
for word in OTEP-0239 "cpu/samples  2 samples, 1 timestamps, total 300"; do
    grep -q "$word" said || bad "the container: no \"$word\": $(cat said)"
done
convert plain.otlp "$top/tests/golden/linked.otlp"
"$tool" info plain.otlp | grep -q 'service.name *my-service' || bad "attributes without references"
end

begin "losses are counted from the start of a process: those of its last flush count, over processes they add"
n=0
for what in "pid=11 time=0 scale=3" "pid=11 time=20" "pid=11 time=40" "pid=12" "pid=12 time=20"; do
    n=$((n + 1))
    # shellcheck disable=SC2086
    "$python" "$here/otlp_gen.py" good $n.otlp stacks=3 depth=2 $what
    equal "loss in flush $n" 12 "$(judge note otelprof.dropped.ring_full $n.otlp)"
done
"$tool" merge -o one.otlp 1.otlp 2.otlp 3.otlp || bad "merge fails"
equal "losses of one process" 12 "$(judge note otelprof.dropped.ring_full one.otlp)"
"$tool" merge --squash -o all.otlp 4.otlp 2.otlp 1.otlp 3.otlp 5.otlp || bad "merge fails"
equal "losses of two" 24 "$(judge note otelprof.dropped.ring_full all.otlp)"
"$tool" merge -o again.otlp one.otlp 4.otlp 5.otlp || bad "merge fails"
equal "losses of each, and of a sum" "24" "$(judge note otelprof.dropped.ring_full again.otlp)"
end

types="samples cpu alloc_objects alloc_space inuse_objects inuse_space"
ids() { # FILE: those of all types, in their order
    for type in $types; do
        judge id $type "$1"
    done
}

begin "ids of profiles come back from a container, which has one"
"$python" "$here/otlp_gen.py" good in.otlp stacks=20 depth=5
ids in.otlp > want
equal "different ids" 6 "$(sort -u want | wc -l)"
for via in a.otep239 a.otep239.zst a.jsonl; do
    convert $via in.otlp
    equal "what is said of $via" "" "$(cat err)"
    convert b.otlp $via
    equal "what is said of the way back from $via" "" "$(cat err)"
    ids b.otlp | cmp -s want - || bad "ids by $via: $(ids b.otlp)"
    "$tool" check --strict b.otlp > said 2>&1 || bad "by $via: $(cat said)"
    "$tool" merge -o c.otlp $via 2> err || bad "merge: $(cat err)"
    ids c.otlp | cmp -s want - || bad "ids by merge of $via: $(ids c.otlp)"
done
end

begin "a profile that becomes two, of sums and of observations, has two ids"
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good(stacks=4, depth=3)
for p in d["profiles"]:
    p["samples"][0].update(times=[p["time"] + 5, p["time"] + 7], values=[3, 4])
with open("mixed.otlp", "wb") as f:
    f.write(otlp_gen.encode(d))
P
for out in mixed2.otlp mixed2.jsonl; do
    convert $out mixed.otlp
    "$tool" check --strict $out > said 2>&1 || bad "$(cat said)"
    convert mixed3.otlp $out
    ids mixed3.otlp > got
    equal "ids" "12 12" "$(wc -l < got) $(sort -u got | wc -l)"
    ids mixed.otlp | while read -r id; do grep -q "$id" got || echo "$id"; done > missing
    [ ! -s missing ] || bad "ids of the input that are gone: $(cat missing)"
    for type in cpu inuse_space; do
        equal "total of $type" "$("$tool" top --json -t $type mixed.otlp | grep '"total"')" \
            "$("$tool" top --json -t $type $out | grep '"total"')"
    done
done
end

begin "profiles of a container of others, with one id or none, get ids of their own, and that is said"
cat > foreign.py << 'P'
import sys
sys.path.insert(0, sys.argv[1])
from otlp_gen import fixed, num, packed, raw

def kind(t, u):
    return num(1, t) + num(2, u)

def container(id):
    strings = [b"", b"cpu", b"nanoseconds", b"samples", b"count", b"f", b"wall"]
    sample = packed(2, [10, 3, 7]) + num(8, 1)
    profile = (raw(1, kind(1, 2)) + raw(1, kind(3, 4)) + raw(1, kind(6, 2)) + raw(2, sample)
               + raw(4, num(1, 1) + raw(4, num(1, 0)))
               + raw(5, num(1, 1) + num(2, 5)) + b"".join(raw(6, s) for s in strings) + packed(15, [0]))
    return raw(2, (raw(1, id) if id else b"") + fixed(2, 10**18) + fixed(3, 10**18 + 5) + raw(8, profile))

with open("foreign.otep239", "wb") as f:
    f.write(raw(1, raw(1, b"") + raw(2, container(bytes(range(1, 17))) + container(b""))))
P
"$python" foreign.py "$here"
convert out.otlp foreign.otep239
equal "new ids" "otelprof convert: out.otlp: new ids for profiles that had none: 5" "$(cat err)"
types="cpu samples wall"
ids out.otlp > got
equal "different ids" 6 "$(sort -u got | wc -l)"
equal "bytes of ids" 32 "$(awk '{ print length($1) }' got | sort -u)"
equal "the container's own id" 0102030405060708090a0b0c0d0e0f10 "$(head -n 1 got)"
"$tool" check out.otlp > said 2>&1 || bad "$(cat said)"
convert again.otlp foreign.otep239
cmp -s out.otlp again.otlp || bad "other ids the second time"
equal "in JSON" 5 "$("$tool" convert --json -o json.otlp foreign.otep239 | sed -n 's/.*"new_profile_ids": *\([0-9]*\).*/\1/p')"
convert same.otep239 foreign.otep239
equal "container to container" "" "$(cat err)"
end

# Samples with a link, by trace, span and type, with their sums; each line of JSON in the file is one message.
cat > "$work/links.py" << 'P'
import collections, json, sys
sums = collections.Counter()
for line in open(sys.argv[1]):
    data = json.loads(line)
    d = data["dictionary"]
    for r in data["resourceProfiles"]:
        for s in r["scopeProfiles"]:
            for p in s["profiles"]:
                type = d["stringTable"][p["sampleType"].get("typeStrindex", 0)]
                for x in p.get("samples", []):
                    keys = [d["stringTable"][d["attributeTable"][a]["keyStrindex"]] for a in x.get("attributeIndices", [])]
                    assert "trace_id" not in keys and "span_id" not in keys, keys
                    link = d["linkTable"][x.get("linkIndex", 0)]
                    sums[link.get("traceId", ""), link.get("spanId", ""), type] += sum(int(v) for v in x["values"])
for key, sum in sorted(sums.items()):
    print(*key, sum)
P

begin "spans go into pprof as labels and come back as links"
for seed in 1 2 3 4 5 6; do
    "$python" - "$here" $seed << 'P'
import random, sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
seed = int(sys.argv[2])
d = otlp_gen.good(stacks=seed * 40, depth=5 + seed, seed=seed)
r = random.Random(seed)
d["links"] += [(r.randbytes(16), r.randbytes(8)) for _ in range(4 * seed)]
for p in d["profiles"]:
    for s in p["samples"]:
        s["link"] = r.choice([0, r.randrange(len(d["links"]))])
open("in.otlp", "wb").write(otlp_gen.encode(d))
P
    convert in.jsonl in.otlp
    "$python" "$work/links.py" in.jsonl > want || bad "seed $seed: $(tail -n 1 want)"
    [ "$(grep -c '^[0-9a-f]\{32\} [0-9a-f]\{16\} ' want)" -ge 20 ] || bad "seed $seed: few links: $(cat want)"
    for via in a.pb a.pb.zst; do
        convert $via in.otlp
        grep -E 'link|label|sample attributes' err && bad "seed $seed: something of a sample is lost"
        convert back.jsonl $via
        [ ! -s err ] || bad "seed $seed: on the way back something is lost: $(cat err)"
        "$python" "$work/links.py" back.jsonl > got || bad "seed $seed: $(tail -n 1 got)"
        cmp -s want got || bad "seed $seed: $(diff want got | head -n 3)"
    done
    convert again.pb back.jsonl
    show a.pb > a.text
    show again.pb > again.text
    cmp -s a.text again.text || bad "seed $seed: pprof and back: $(diff a.text again.text | head -n 3 | cut -c 1-200)"
done
convert linked.pb "$top/tests/golden/linked.otlp"
convert linked.jsonl linked.pb
"$python" "$work/links.py" linked.jsonl > got
convert golden.jsonl "$top/tests/golden/linked.otlp"
"$python" "$work/links.py" golden.jsonl > want
same_file want got "the link of the published example"
grep -q '^[0-9a-f]\{32\} [0-9a-f]\{16\} ' want || bad "no link in the published example"
end

begin "what pprof cannot carry is named"
"$python" "$here/otlp_gen.py" good in.otlp stacks=9 depth=4
convert a.pb in.otlp
for word in "resource attributes" "profile ids"; do
    grep -q "not carried: .*$word" err || bad "\"$word\" is not named: $(cat err)"
done
grep -v "^otelprof convert: a.pb: not carried: " err && bad "other lines than losses"
"$tool" top --json -t cpu in.otlp | grep -o '"total": [0-9]*' > want
"$tool" top --json -t cpu a.pb | grep -o '"total": [0-9]*' > got
equal "total" "$(cat want)" "$(cat got)"
end

begin "the original is kept on demand"
"$python" "$pprof" gen in.pb 5
convert a.otlp in.pb
convert b.otlp --keep-original in.pb
"$tool" info a.otlp | grep -q "original payload" && bad "an original without being asked for"
"$tool" info b.otlp | grep -q "original payload pprof, $(wc -c < in.pb) bytes" || bad "no original"
convert b.jsonl b.otlp
convert again.otlp b.jsonl
convert again.jsonl again.otlp
for file in b.jsonl again.jsonl; do
    "$python" - $file in.pb << 'P' || bad "$file: the original is not what was given"
import base64, json, sys
given = open(sys.argv[2], "rb").read()
profiles = [p for line in open(sys.argv[1]) for r in json.loads(line)["resourceProfiles"] for s in r["scopeProfiles"] for p in s["profiles"]]
kept = [(p["originalPayloadFormat"], base64.b64decode(p["originalPayload"])) for p in profiles if "originalPayload" in p]
sys.exit(len(profiles) < 2 or kept != [("pprof", given)])
P
done
end

begin "merge adds up, whichever order files come in"
for i in 1 2 3; do
    "$python" "$pprof" gen $i.pb 31
done
"$python" "$pprof" gen 3.pb 32
convert 2.otlp 2.pb
"$tool" merge -o m.pb 1.pb 2.otlp 3.pb 2> err || bad "merge: $(cat err)"
"$tool" merge -o n.pb 3.pb 1.pb 2.otlp 2> err || bad "merge: $(cat err)"
"$python" "$pprof" totals m.pb | sort > got
"$python" "$pprof" totals n.pb | sort > got2
{ "$python" "$pprof" totals 1.pb; "$python" "$pprof" totals 2.pb; "$python" "$pprof" totals 3.pb; } |
    awk '{ sum[$1] += $2 } END { for (t in sum) print t, sprintf("%.0f", sum[t]) }' | sort > want
equal "totals" "$(cat want)" "$(cat got)"
equal "totals in another order" "$(cat want)" "$(cat got2)"
end

begin "merge keeps resources apart, unless told otherwise; of in-use types the last flush counts"
g() {
    "$python" "$here/otlp_gen.py" good "$@"
}
g a0.otlp pid=1 time=0 seed=1
g a1.otlp pid=1 time=20 seed=2 scale=3
g b0.otlp pid=2 time=5 seed=4
"$tool" merge -o m.otlp a0.otlp a1.otlp b0.otlp 2> err || bad "merge: $(cat err)"
"$tool" check m.otlp > said || bad "$(cat said)"
equal "resources" 2 "$("$tool" info m.otlp | grep -c '^  resource')"
"$tool" merge --squash -o s.otlp a0.otlp a1.otlp b0.otlp 2> err || bad "merge: $(cat err)"
equal "resources when squashed" 1 "$("$tool" info s.otlp | grep -c '^  resource')"
for type in samples cpu alloc_objects alloc_space inuse_objects inuse_space; do
    for f in m.otlp s.otlp; do
        "$tool" top --json -t $type a0.otlp a1.otlp b0.otlp | grep -o '"total": [0-9]*' > want
        "$tool" top --json -t $type $f | grep -o '"total": [0-9]*' > got
        equal "total of $type in $f" "$(cat want)" "$(cat got)"
    done
done
end

begin "diff finds what changed, and nothing where nothing did"
g a0.otlp pid=1 seed=1
"$tool" diff a0.otlp a0.otlp > out 2> err
equal "exit status without a difference" 0 $?
g b0.otlp pid=1 seed=1 scale=3
"$tool" diff -t cpu --json a0.otlp b0.otlp > out 2> err
equal "exit status with one" 1 $?
"$python" - << 'END' || bad "the difference is not what was made: $(head -c 300 out)"
import json, sys
d = json.load(open("out"))
sys.exit(not d["functions"] or d["new_total"] != 3 * d["base_total"] or
         any(f["new_flat"] != 3 * f["base_flat"] or f["new_cum"] != 3 * f["base_cum"] for f in d["functions"]))
END
end

begin "go tool pprof reads what is written"
if need go; then
    "$python" "$pprof" gen in.pb 41
    convert a.otlp in.pb
    convert a.pb a.otlp
    for f in in.pb a.pb; do
        go tool pprof -top -nodecount=1000 $f 2> err | sed '/^File/d; /^Build/d; /^Main/d' | sort > $f.top || bad "$(cat err)"
    done
    [ -s in.pb.top ] || bad "go tool pprof says nothing: $(cat err)"
    equal "go tool pprof -top" "$(cat in.pb.top)" "$(cat a.pb.top)"
fi
end

begin "wrong usage"
for arguments in "in.pb" "-o out.txt in.pb" "-o"; do
    # shellcheck disable=SC2086
    "$tool" convert $arguments > out 2> err
    equal "exit status of convert $arguments" 2 $?
done
"$python" "$pprof" gen in.pb 5
"$tool" convert -o /nowhere/x.pb in.pb > out 2> err
equal "exit status when nothing can be written" 3 $?
one_line err "/nowhere/x.pb"
"$tool" convert -o x.pb missing > out 2> err
equal "exit status without input" 3 $?
[ ! -e x.pb ] || bad "a file was written"
end

begin "profiles without samples come through, alone and among others"
"$python" - << 'P'
def varint(n):
    return (bytes([n & 127 | 128]) + varint(n >> 7)) if n > 127 else bytes([n])
def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content
profile = field(1, b"\x08\x01\x10\x02")
words = b"".join(field(5, w) for w in (b"", b"contentions", b"count"))
open("none.otlp", "wb").write(field(1, field(2, field(2, profile))) + field(2, words))
P
"$python" "$here/otlp_gen.py" good some.otlp
for out in none2.otlp none2.pb none2.jsonl none2.otep239; do
    "$tool" convert -o $out none.otlp 2> err
    equal "exit status ($out)" 0 $?
    "$tool" info $out | grep -q '] contentions/count  0 samples' || bad "$out: $("$tool" info $out | grep '\[0\]')"
    "$tool" merge -o all.otlp none.otlp some.otlp $out 2> err
    equal "exit status of merge ($out)" 0 $?
    equal "totals of all ($out)" "$(judge totals some.otlp)" "$(judge totals all.otlp | grep -v '^contentions 0$')"
done
end

# gperf FILE: what somebody else's eyes see in it.
gperf() {
    "$python" "$here/gperftools.py" "$1" 2>&1
}
# ours TYPE FILE…: the total of the type.
ours() {
    type=$1
    shift
    "$tool" top --json -t "$type" "$@" | sed -n 's/.*"total": \([0-9]*\).*/\1/p' | head -n 1
}

begin "gperftools' CPU and heap profiles have the same totals, of one file and of several processes"
"$python" "$here/otlp_gen.py" good one.otlp stacks=300 depth=20
"$python" "$here/otlp_gen.py" good two.otlp stacks=200 depth=20 pid=12 seed=3 scale=7 time=2
convert one.pb one.otlp
looked=0
for files in one.otlp one.pb "one.otlp two.otlp"; do
    # shellcheck disable=SC2086
    for out in cpu.prof cpu.prof.gz; do
        convert $out $files
        # Times are whole microseconds, and not of the period.
        equal "CPU time of $files" "cpu period 1 total $((($(ours cpu $files) + 500) / 1000))" "$(gperf $out | head -n 1)"
    done
    # shellcheck disable=SC2086
    convert all.heap $files
    grep -q "not carried: [0-9]* profiles of other types: .*samples" err && looked=$((looked + 1))
    # shellcheck disable=SC2086
    equal "heap of $files" "heap in use $(ours inuse_objects $files) $(ours inuse_space $files) allocated $(ours alloc_objects $files) $(ours alloc_space $files)" \
        "$(gperf all.heap | head -n 1)"
    for out in cpu.prof all.heap; do
        gperf $out | awk '$1 == "stacks" && $2 >= 300 && $4 > 100 && $4 == $6 && $8 == 3 { ok = 1 } END { exit !ok }' ||
            bad "$out of $files: $(gperf $out)"
    done
done
equal "inputs whose other types are named" 3 $looked
for word in "resource attributes" "names and lines" "profile ids" "mapping attributes" "sample attributes: thread.name" "links"; do
    grep -q "not carried: .*$word" err || bad "\"$word\" is not named: $(cat err)"
done
grep -v "^otelprof convert: all.heap: not carried: " err && bad "other lines than losses"
"$tool" convert --json -o cpu.prof one.otlp > said 2> err || bad "--json: exit status $?"
[ ! -s err ] || bad "--json: $(cat err)"
"$python" -c 'import json, sys; print(*sorted(i["what"] for i in json.load(open("said"))["not_carried"]), sep="\n")' > items
grep -q "^profiles of other types" items || bad "--json: $(cat items)"
end

begin "gperftools' files are read: the same totals, and a CPU profile comes back byte for byte"
"$python" "$here/otlp_gen.py" good one.otlp stacks=300 depth=20
convert one.prof one.otlp
convert one.heap one.otlp
equal "samples of a microsecond each" "$((($(ours cpu one.otlp) + 500) / 1000))" "$(ours samples one.prof)"
equal "CPU time" "$((($(ours cpu one.otlp) + 500) / 1000 * 1000))" "$(ours cpu one.prof)"
for type in alloc_objects alloc_space inuse_objects inuse_space; do
    equal "$type" "$(ours $type one.otlp)" "$(ours $type one.heap)"
done
for via in otlp jsonl.gz pb otep239; do
    convert way.$via one.prof
    convert back.prof way.$via
    cmp one.prof back.prof || bad "through $via"
    convert way.$via one.heap
    for type in alloc_space inuse_objects; do
        equal "$type through $via" "$(ours $type one.otlp)" "$(ours $type way.$via)"
    done
done
"$tool" check way.otlp > said || bad "check: $(head -n 2 said)"
# Of all files that were loaded only those count that a frame lies in.
printf '7f0000000000-7f0000100000 r-xp 00000000 00:00 2          /lib/other.so\n' > more
cat one.prof more > loaded.prof
cat one.heap more > loaded.heap
for type in prof heap; do
    convert way.otlp loaded.$type
    "$tool" check way.otlp > said || bad "check of a .$type with more files: $(head -n 2 said)"
    judge mappings way.otlp | grep -q other.so && bad "a file that no frame lies in"
done
gzip -k one.prof
equal "packed" "$(ours cpu one.prof)" "$(ours cpu one.prof.gz)"
head -c 4000 one.prof > cut.prof
"$tool" top cut.prof > out 2> err
equal "exit status of one that is cut" 3 $?
one_line err "gperftools: the end of the profile is missing"
end

begin "gperftools' formats of odd inputs: nothing, no mappings, no addresses, types that they do not have"
"$python" - << 'P'
def varint(n):
    return (bytes([n & 127 | 128]) + varint(n >> 7)) if n > 127 else bytes([n])
def field(number, content):
    return (varint(number << 3 | 2) + varint(len(content)) + content) if isinstance(content, bytes) else varint(number << 3) + varint(content)
words = b"".join(field(6, w) for w in (b"", b"samples", b"count", b"space", b"bytes", b"script.py:f", b"wall"))
def pprof(name, types, *rest):
    types = b"".join(field(1, field(1, t) + field(2, u)) for t, u in types)
    open(name, "wb").write(types + b"".join(rest) + words)
named = field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 5))
bare = field(4, field(1, 2) + field(3, 0x7f0000001234))
pprof("nothing.pb", [(1, 2), (3, 4)])
pprof("named.pb", [(1, 2), (3, 4)], field(2, field(1, b"\1") + field(2, b"\7\x20")), named)
pprof("bare.pb", [(1, 2), (3, 4)], field(2, field(1, b"\2\2") + field(2, b"\7\x20")), bare)
pprof("stackless.pb", [(1, 2), (3, 4)], field(2, field(2, b"\7\x20")))
pprof("wall.pb", [(6, 2)], field(2, field(1, b"\1") + field(2, b"\7")), named)
P
while read -r name addresses; do
    convert x.prof $name.pb
    [ "$name" = nothing ] || equal "samples of $name" "cpu period 1 total 7" "$(gperf x.prof | head -n 1)"
    convert x.heap $name.pb
    [ "$name" = nothing ] || equal "bytes of $name" "heap in use 1 32 allocated 0 0" "$(gperf x.heap | head -n 1)"
    for out in x.prof x.heap; do
        equal "addresses in $out of $name" "stacks ${addresses% *} addresses ${addresses#* } inside 0 files 0" "$(gperf $out | tail -n 1)"
    done
    case $name in
    named) grep -q "1 locations without an address" err || bad "$name: $(cat err)" ;;
    stackless) grep -q "1 stacks without frames" err || bad "$name: $(cat err)" ;;
    esac
done << 'L'
nothing 0 0
named 1 1
bare 1 1
stackless 1 1
L
rm -f x.prof x.heap
for out in x.prof x.heap; do
    "$tool" convert -o $out wall.pb > said 2> err
    equal "exit status for other types" 3 $?
    one_line err "no profile is of"
    [ ! -e $out ] || bad "a file was written"
done
for seed in 1 2 3 4 5 6; do
    "$python" "$pprof" gen in.pb $seed
    for out in r.prof r.heap; do
        rm -f $out
        if "$tool" convert -o $out in.pb 2> err; then
            gperf $out > said || bad "seed $seed, $out: $(cat said)"
        else
            one_line err "no profile is of"
        fi
    done
done
end

begin "JSON that is written while it is made is that which is made whole"
"$python" "$here/otlp_gen.py" good large.otlp stacks=9000 depth=12
"$tool" convert -o large.jsonl large.otlp
"$tool" convert -o large.jsonl.gz large.otlp
[ "$(stat -c %s large.jsonl)" -gt 3000000 ] || bad "only $(stat -c %s large.jsonl) bytes"
gzip -dc large.jsonl.gz | cmp - large.jsonl || bad "they differ"
end
finish
