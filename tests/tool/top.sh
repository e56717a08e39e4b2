#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# top.sh: flat and cumulative values are those that the profiles were generated from, for one file and for many.
. "$(dirname "$0")/../common.sh"
gen() { # FILE key=value…: writes FILE and the arguments that made it
    file=$1
    shift
    "$python" "$here/otlp_gen.py" good "$file" "$@" && echo "$@" > "$file.args"
}

expect() { # TYPE FILE…
    type=$1
    shift
    "$tool" top --json -t "$type" "$@" > json 2> err || bad "exit status $?: $(cat err)"
    # shellcheck disable=SC2046
    "$python" "$here/expect.py" "$type" $(printf '%s.args ' "$@") < json > said || bad "$type: $(cat said)"
}

for size in "stacks=1 depth=1" "stacks=40 depth=12" "stacks=700 depth=30"; do
    begin "values by function, $size"
    # shellcheck disable=SC2086
    gen a.otlp $size
    for type in samples cpu alloc_objects alloc_space inuse_objects inuse_space; do
        expect $type a.otlp
    done
    end
done

begin "several files add up, in-use values are the last of each process"
gen a0.otlp pid=1 time=0 seed=1
gen a1.otlp pid=1 time=20 seed=2 scale=3
gen a2.otlp pid=1 time=10 seed=3 scale=5
gen b0.otlp pid=2 time=5 seed=4
for type in samples cpu alloc_space inuse_objects inuse_space; do
    expect $type a0.otlp a1.otlp a2.otlp b0.otlp
    expect $type b0.otlp a2.otlp a1.otlp a0.otlp
done
end

begin "nothing is in use when the last flush says nothing of it; a file read twice counts once"
gen a0.otlp pid=1 time=0
gen b0.otlp pid=2 time=5
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good(pid=1, time=60)
d["profiles"] = d["profiles"][:2]
open("a1.otlp", "wb").write(otlp_gen.encode(d))
P
expect inuse_space b0.otlp
mv json alone
"$tool" top --json -t inuse_space a0.otlp a1.otlp b0.otlp > json
same_file alone json "the list with a process that has nothing in use any more"
"$tool" top --json -t inuse_space b0.otlp b0.otlp > json
same_file alone json "the list of the same file twice"
"$tool" top -t inuse_space a0.otlp a1.otlp > out || bad "exit status $?"
grep -q 'total 0 in 0 samples' out || bad "$(head -n 1 out)"
end

begin "packed and framed files, standard input, wires of 1.8 and 1.9 give the same"
gen a.otlp
for wire in 1.8 1.9; do
    gen $wire.otlp wire=$wire
done
gzip -k a.otlp
zstd -q a.otlp
"$python" - << 'P'
import struct
data = open("a.otlp", "rb").read()
open("framed", "wb").write(struct.pack(">I", len(data)) + data)
P
for file in a.otlp a.otlp.gz a.otlp.zst framed 1.8.otlp 1.9.otlp; do
    "$tool" top -n 0 $file > "out" 2> err || bad "$file: $(cat err)"
    [ $file = a.otlp ] && cp out first
    same_file first out "the list of $file"
done
"$tool" top -n 0 - < a.otlp.gz > out || bad "standard input: exit status $?"
same_file first out "the list of standard input"
end

begin "rows, order, default type"
gen a.otlp
equal "rows of -n 3" 3 "$("$tool" top -n 3 a.otlp | grep -c '\[\|+0x')"
"$tool" top -n 0 --cum a.otlp | awk 'NR > 2 { print $4 }' > cum
sort -rn cum > sorted
same_file sorted cum "the order by cumulative value"
case $("$tool" top a.otlp | head -n 1) in
"type samples,"*) ;;
*) bad "the first profile is not the default" ;;
esac
"$tool" top -t nothing a.otlp > out 2> err
equal "exit status of an unknown type" 2 $?
one_line err "nothing" "inuse_space"
end
finish
