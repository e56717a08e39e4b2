#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# merge.sh: what convert and merge write of files of any kinds conforms, strictly, and says of memory in use what they
# say; a process is known in each format.
. "$(dirname "$0")/../common.sh"

inuse() { # FILE…: total of inuse_space, 0 when there is no such type
    "$tool" top --json -t inuse_space "$@" 2> inuse.err | sed -n 's/^ *"total": *\([0-9]*\).*/\1/p' | grep . || echo 0
}

# Files by what is special about them.
cat > "$work/kinds.py" << 'P'
import copy, sys
sys.path.insert(0, sys.argv[1])
from otlp_gen import encode, good

def write(name, d, wire="1.10"):
    with open(name + ".otlp", "wb") as f:
        f.write(encode(d, wire))

def only(d, *types):
    d = copy.deepcopy(d)
    d["profiles"] = [p for p in d["profiles"] if d["strings"][p["type"][0]] in types]
    return d

def each(d, **fields):
    d = copy.deepcopy(d)
    for p in d["profiles"]:
        p.update(fields)
    return d

def timed(d):
    """Observations with a time in the CPU profiles, the last one at the end of the range."""
    d = copy.deepcopy(d)
    for p in d["profiles"][:2]:
        end = p["time"] + p["duration"] - 1
        for n, s in enumerate(p["samples"]):
            s["times"] = [p["time"] + n, end]
            s["values"] = [1, 1] if p is d["profiles"][0] else [10**7, 10**7]
    return d

a0, a1, b0 = (good(stacks=20, depth=5, **k) for k in (
    dict(pid=1, time=0, seed=1), dict(pid=1, time=20, seed=2, scale=3), dict(pid=2, time=5, seed=4)))
heap = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
write("a0", a0)
write("a1", a1)
write("b0", b0)
write("a_cpu", only(good(stacks=20, depth=5, pid=1, time=40, seed=5), "samples", "cpu"))
write("b_heap", only(good(stacks=20, depth=5, pid=2, time=15, seed=6), *heap))
write("a_folded", only(timed(each(good(stacks=20, depth=5, pid=1, time=30, seed=7), period=5000000)), "cpu"))
write("a_timed", timed(good(stacks=20, depth=5, pid=1, time=50, seed=8)))
write("b_old", good(stacks=20, depth=5, pid=2, time=25, seed=9), "1.8")
write("no_time", each(good(stacks=20, depth=5, pid=3, seed=10), time=0, duration=0))
write("no_start", each(good(stacks=20, depth=5, pid=1, seed=11), time=0))
mixed = good(stacks=20, depth=5, pid=4, seed=12)
for p in mixed["profiles"][2:]:
    p["time"] += 7
    p["duration"] -= 5
write("mixed", mixed)
P
mkdir "$work/in"
(cd "$work/in" && "$python" "$work/kinds.py" "$here") || exit 1

written=0 live=0
each_way() { # FILE…: by each command into each format
    want=$(inuse "$@")
    [ "$want" = 0 ] || live=$((live + 1))
    for how in convert merge "merge --squash"; do
        for out in out.otlp out.jsonl out.otep239 out.pb; do
            # shellcheck disable=SC2086
            "$tool" $how -o $out "$@" 2> err || bad "$how -o $out $*: $(cat err)"
            "$tool" check --strict $out > said 2>&1 || bad "$how -o $out $*: $(head -n 2 said)"
            equal "in use in $out of $how $*" "$want" "$(inuse $out)"
            written=$((written + 1))
        done
    done
}

begin "in use by files of pprof, of containers and of OTLP, alone and beside each other: the last flush of each process"
cp "$work"/in/a0.otlp "$work"/in/a1.otlp "$work"/in/b0.otlp .
for f in a0 a1 b0; do
    for format in pb otep239 jsonl; do
        "$tool" convert -o $f.$format $f.otlp 2> err || bad "convert: $(cat err)"
    done
done
one=$(inuse a1.otlp)
two=$((one + $(inuse b0.otlp)))
[ "$(inuse a0.otlp)" -gt 0 ] && [ "$one" -gt 0 ] && [ $two -gt "$one" ] || bad "nothing is in use"
for x in pb otep239 jsonl otlp; do
    for y in pb otep239 jsonl otlp; do
        equal "in use, a0.$x a1.$y" "$one" "$(inuse a0.$x a1.$y)"
        equal "in use, a1.$y a0.$x" "$one" "$(inuse a1.$y a0.$x)"
        equal "in use, a0.$x a1.$y b0.$x" "$two" "$(inuse a0.$x a1.$y b0.$x)"
        equal "in use, the last one twice: a1.$x a1.$y" "$one" "$(inuse a0.otlp a1.$x a1.$y)"
        "$tool" merge -o m.pb a0.$x a1.$y 2> err || bad "merge: $(cat err)"
        equal "in use in m.pb of a0.$x a1.$y, and b0.$y" "$two" "$(inuse m.pb a0.$y b0.$y)"
    done
done
end

begin "the process is told in pprof by a comment, which comes back as resource and scope"
cp "$work"/in/a1.otlp .
"$tool" convert -o a.pb a1.otlp 2> err
for word in process.pid service.instance.id host.name "scopes: otelprof"; do
    grep -q "$word" err && bad "$word is said not to be carried: $(cat err)"
done
grep -q 'resource attributes: service.name, process.executable.name$' err || bad "other attributes are not named: $(cat err)"
line="otelprof.process: process.pid=1,service.instance.id=00000000-0000-4000-8000-000000000001,host.name=testhost,otel.scope.name=otelprof,otel.scope.version=0.1.0"
gzip -dc a.pb | grep -aqF "$line" || bad "no line in the file"
"$tool" info a.pb > said
for word in '^    process.pid  *1$' '^    host.name  *testhost$' '^  scope otelprof 0.1.0$'; do
    grep -q "$word" said || bad "info: no '$word': $(head -n 8 said)"
done
grep -q comment said && bad "it is a comment as well: $(grep comment said)"
"$tool" convert -o b.otlp a.pb 2> err
"$tool" convert -o b.pb b.otlp 2> err
grep -v 'not carried: 6 profile ids$' err && bad "more is lost on the way back: $(cat err)"
"$python" "$here/pprof_text.py" show a.pb > want
"$python" "$here/pprof_text.py" show b.pb > got
cmp -s want got || bad "pprof to OTLP to pprof: $(diff want got | head -n 3 | cut -c 1-200)"
grep -qF "$line" got || bad "the line is not there any more"
if need go; then
    equal "go tool pprof -comments" "$line" "$(go tool pprof -comments a.pb 2> err)"
fi
end

begin "no process is told where there are several, and lines that we would not write are comments"
cat > lines.py << 'P'
import sys
sys.path.insert(0, sys.argv[1])
from otlp_gen import encode, good

def write(name, comments, **resource):
    d = good(stacks=5, depth=3, pid=1)
    d["resource"].update(resource)
    d["resource"] = {k: v for k, v in d["resource"].items() if v is not None}
    d["strings"].append("pprof.profile.comment")
    d["attributes"].append((len(d["strings"]) - 1, comments, 0))
    for p in d["profiles"]:
        p["attrs"] = [len(d["attributes"]) - 1]
    with open(name + ".otlp", "wb") as f:
        f.write(encode(d))

known = "otelprof.process: process.pid=77,otel.scope.name=x"
write("several", ["hello", known])
write("hosts", ["hello"], **{"host.name": "other", "service.instance.id": None})
write("plain", ["hello"], **{"service.instance.id": None})
write("odd", ["hello"], **{"host.name": "a,b=c%d\u00e9 e", "service.instance.id": "\t,"})
nobody = {"process.pid": None, "service.instance.id": None}
write("told", ["hello", known], **nobody)
for n, line in enumerate((
        "otelprof.process: ", "otelprof.process: process.pid=", "otelprof.process: process.pid=x",
        "otelprof.process: process.pid=-1", "otelprof.process: process.pid=9223372036854775808",
        "otelprof.process: host.name=h", "otelprof.process: process.pid=1,", "otelprof.process: process.pid=1,process.pid=1",
        "otelprof.process: host.name=h,process.pid=1", "otelprof.process: process.pid=1,host.name=%4",
        "otelprof.process: process.pid=1,host.name=%41", "otelprof.process: process.pid=1,host.name=%2C%",
        "otelprof.process: process.pid=1,host.name=a b", "otelprof.process: process.pid=1,thread.id=1")):
    write("bad%d" % n, [line], **nobody)
P
"$python" lines.py "$here"
process_of() { # FILE: as pprof, and what is told of the process then
    "$tool" convert -o as.pb "$1" 2> err || bad "convert $1: $(cat err)"
    "$tool" info as.pb | sed -n 's/^    \(process.pid\|host.name\|service.instance.id\)  */\1=/p' | xargs -d '\n'
}
equal "the process of two lines" "" "$(process_of several.otlp)"
"$tool" info as.pb | grep -q 'comment.*"\?hello.*otelprof.process: process.pid=77' || bad "no comments: $("$tool" info as.pb | grep comment)"
equal "the process of one line of others" "process.pid=77" "$(process_of told.otlp)"
equal "the process of a resource" "process.pid=1 host.name=testhost" "$(process_of plain.otlp)"
equal "a process with odd names" "process.pid=1 service.instance.id=?, host.name=a,b=c%dé e" "$(process_of odd.otlp)"
gzip -dc as.pb | grep -aqF 'service.instance.id=%09%2c,host.name=a%2cb=c%25dé%20e' || bad "the line is another one"
"$tool" merge -o two.pb plain.otlp hosts.otlp 2> err || bad "merge: $(cat err)"
equal "the process of one number on two machines" "" "$(process_of two.pb)"
"$tool" merge --squash -o two.otlp plain.otlp hosts.otlp 2> err || bad "merge: $(cat err)"
equal "in OTLP" 0 "$("$tool" info two.otlp | grep -c 'process.pid')"
looked=0
for f in bad*.otlp; do
    equal "the process of $f" "" "$(process_of "$f")"
    "$tool" info as.pb | grep -q 'comment.*otelprof.process: ' || bad "$f: the line is no comment either"
    looked=$((looked + 1))
done
equal "lines looked at" 14 $looked
"$tool" convert -o a.pb told.otlp 2> err
"$tool" convert -o b.pb bad0.otlp 2> err
want=$(($(inuse a.pb) + $(inuse b.pb)))
equal "in use by one that is told and one that is not" "$want" "$(inuse a.pb b.pb)"
equal "in use by one that is not told, twice" $((2 * $(inuse b.pb))) "$(inuse b.pb b.pb)"
end

begin "in use by two processes of several flushes each, as the library writes them in each format"
host held -I"$top"
settings="OTELPROF_OUTPUT=file:$p/%p.pb,file:$p/%p.otlp,file:$p/%p.otep239 OTELPROF_HEAP_INTERVAL=1"
prof "$host" "$p"
equal "exit status" 0 "$status"
for format in pb otlp otep239; do
    between "flushes as $format" 4 8 "$(ls "$p"/*.$format | wc -l)"
    between "MiB in use by $format" 18 20 $(($(inuse "$p"/*.$format) / 1000000))
    equal "in use by $format" "$(inuse "$p"/*.otlp)" "$(inuse "$p"/*.$format)"
    "$tool" merge -o m.pb "$p"/*.$format 2> err || bad "merge: $(cat err)"
    equal "in use by the merge of $format" "$(inuse "$p"/*.otlp)" "$(inuse m.pb)"
done
equal "in use by all of them, each there three times" "$(inuse "$p"/*.otlp)" "$(inuse "$p"/*)"
end

begin "two files of any two kinds"
cp "$work"/in/*.otlp .
kinds=$(ls ./*.otlp | sed 's|./||; s|\.otlp||')
for x in $kinds; do
    for y in $kinds; do
        [ "$x" \< "$y" ] || continue
        each_way "$x.otlp" "$y.otlp"
    done
done
between "files written" 600 700 $written
between "pairs with memory in use" 40 60 $live
end
finish
