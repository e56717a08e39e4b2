#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# twice.sh: the same flush given twice, in two formats or sent again, is said in one line; what only looks like it is not.
. "$(dirname "$0")/../common.sh"

gen() { # FILE, arguments of the generator…
    "$python" "$here/otlp_gen.py" good "$@"
}
total() { # TYPE FILE…
    type=$1
    shift
    "$tool" top --json -t "$type" "$@" 2> /dev/null | sed -n 's/.*"total": \([0-9]*\).*/\1/p' | head -n 1
}
# said COMMAND FIRST SECOND WHY: the line about these two.
said() {
    one_line err "otelprof $1: $3 holds the same flush as $2 (the same $4): what is added up counts twice"
}
# quiet WHAT FILE…: nothing is said of these files.
quiet() {
    what=$1
    shift
    "$tool" top -t cpu "$@" > out 2> err || bad "$what: exit status $?"
    [ ! -s err ] || bad "$what: $(cat err)"
    looked=$((looked + 1))
}

begin "what the library wrote side by side, in each command"
make -s -C "$top" BUILD="${build#"$top"/}" "${build#"$top"/}/libotelprof.so" > make.out 2>&1 || bad "$(tail -n 3 make.out)"
OTELPROF_HEAP_INTERVAL=1 OTELPROF_OUTPUT="file:$d/a.otlp,file:$d/b.pb,file:$d/c.jsonl,file:$d/e.otep239,file:$d/f.otlp.zst" LD_PRELOAD=$lib \
    "$python" -c 'x = [list(range(50)) for _ in range(20000)]' || bad "exit status $?"
once=$(total alloc_space a.otlp)
[ "${once:-0}" -gt 1000000 ] || bad "nothing was allocated: $once"
time="start, length and totals"
for command in "top -t alloc_space" "flame -o out.html" "flame -o out.folded" "merge -o out.otlp" "convert -o out.pb" "symbolize -o out.otlp"; do
    # shellcheck disable=SC2086
    "$tool" $command a.otlp b.pb > out 2> all || bad "$command: exit status $?"
    grep 'same flush' all > err
    said "${command%% *}" a.otlp b.pb "$time"
    # shellcheck disable=SC2086
    "$tool" $command b.pb a.otlp > out 2> all || bad "$command: exit status $?"
    grep 'same flush' all > err
    said "${command%% *}" b.pb a.otlp "$time"
done
for other in c.jsonl e.otep239 f.otlp.zst; do
    "$tool" top a.otlp $other > out 2> err || bad "$other: exit status $?"
    said top a.otlp $other "profile id"
done
"$tool" top b.pb b.pb > out 2> err
said top b.pb b.pb "$time"
equal "what it adds up to" $((2 * once)) "$(total alloc_space a.otlp b.pb)"
equal "in use is of the last flush, once" "$(total inuse_space a.otlp)" "$(total inuse_space a.otlp b.pb)"
"$tool" top --json a.otlp b.pb > out 2> err
said top a.otlp b.pb "$time"
"$python" -c 'import json; json.load(open("out"))' || bad "--json is none any more"
end

begin "of many one is named, the others are counted"
gen one.otlp pid=1
gen two.otlp pid=1 seed=2 time=20
gen three.otlp pid=3 seed=3
for f in one two three; do
    "$tool" convert -o $f.pb $f.otlp 2> /dev/null
done
"$tool" top ./*.otlp ./*.pb > out 2> err
one_line err "otelprof top: ./one.pb holds the same flush as ./one.otlp (the same $time): what is added up counts twice; so it is with 2 more"
end

begin "nothing is said of what is not the same"
looked=0
gen a.otlp pid=1
gen b.otlp pid=2
"$tool" convert -o b.pb b.otlp 2> /dev/null
quiet "two processes that did the same at the same time" a.otlp b.otlp
quiet "two processes, one in pprof" a.otlp b.pb
gen later.otlp pid=1 time=20
gen more.otlp pid=1 seed=2 scale=3
"$tool" convert -o later.pb later.otlp 2> /dev/null
"$tool" convert -o more.pb more.otlp 2> /dev/null
quiet "two flushes of a process" a.otlp later.otlp
quiet "two flushes of a process, one in pprof" a.otlp later.pb
quiet "the same time, other values" a.otlp more.pb
"$python" "$here/pprof_text.py" gen p.pb 5
"$python" "$here/pprof_text.py" gen q.pb 6
"$tool" merge -o none.otlp p.pb q.pb 2> err || bad "merge: exit status $?"
grep "same flush" err && bad "two files of pprof"
equal "what was looked at" 5 $looked
"$tool" diff a.otlp a.otlp > out 2> err
[ ! -s err ] || bad "diff: $(cat err)"
for command in info check; do
    "$tool" $command a.otlp a.otlp > out 2> err
    [ ! -s err ] || bad "$command: $(cat err)"
done
end

begin "messages without a time, or without values, are told by their ids alone"
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
from otlp_gen import encode, good
for name, change in (("timeless", lambda p: p.update(time=0, duration=0)), ("nameless", lambda p: p.update(time=0, duration=0, id=b""))):
    d = good(stacks=20, depth=5)
    for p in d["profiles"]:
        change(p)
    open(name + ".otlp", "wb").write(encode(d))
P
cp timeless.otlp again.otlp
"$tool" top timeless.otlp again.otlp > out 2> err
said top timeless.otlp again.otlp "profile id"
cp nameless.otlp other.otlp
"$tool" top nameless.otlp other.otlp > out 2> err
[ ! -s err ] || bad "nobody can know that: $(cat err)"
end
finish
