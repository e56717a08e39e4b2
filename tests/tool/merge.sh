#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# merge.sh: what convert and merge write of files of any kinds conforms, strictly, and says of memory in use what they say.
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
