#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bars.sh: top on a terminal: bars in proportion, lines that fit, colours where they are wanted; none of it in a pipe.
. "$(dirname "$0")/../common.sh"
unset COLUMNS NO_COLOR
"$python" "$here/otlp_gen.py" good "$work/a.otlp" stacks=400 depth=20
on_terminal() { # COLUMNS top's arguments…
    columns=$1
    shift
    "$python" "$here/terminal.py" "$columns" "$tool" top "$@" "$work/a.otlp"
}

# Rows of a list with bars, against the list as JSON: each bar as long as its value says, each line within the width.
cat > "$work/bars.py" << 'P'
import json, re, sys
columns, key, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
data = json.load(open(path))
rows = data.get("functions") or data["groups"]
lines = re.sub("\033\\[[0-9;]*m", "", sys.stdin.read()).split("\n")
bars = []
for line in lines[2:2 + len(rows)]:
    assert len(line) <= columns, "%d columns: %r" % (len(line), line)
    m = re.search("  ([\u2588-\u258f]+) *  \\S", line)
    bars.append(sum(8 - (ord(c) - 0x2588) for c in m.group(1)) if m else 0)
assert len(bars) == len(rows) > 2, (len(bars), len(rows))
full, largest = max(bars), max(abs(r[key]) for r in rows)
assert full % 8 == 0 and full >= 64, full
for bar, row in zip(bars, rows):
    wanted = full * abs(row[key]) / largest
    assert abs(bar - wanted) <= 0.51 or (bar == 1 and 0 < wanted < 1), (bar, wanted)
print(len(bars), full // 8)
P

begin "bars are in proportion and lines fit, at every width that has room"
seen=0
export TERM=xterm
for n in 3 30 0; do
    "$tool" top --json -n $n "$work/a.otlp" > flat.json
    "$tool" top --json -n $n --cum "$work/a.otlp" > cum.json
    for columns in 80 81 95 103 104 120 200 500; do
        on_terminal $columns -n $n > out || bad "exit status $?"
        "$python" "$work/bars.py" $columns flat flat.json < out > said 2>&1 || bad "$columns columns, -n $n: $(tail -n 1 said)"
        on_terminal $columns -n $n --cum > out
        "$python" "$work/bars.py" $columns cum cum.json < out > said 2>&1 || bad "$columns columns, -n $n --cum: $(tail -n 1 said)"
        seen=$((seen + 2))
    done
done
"$tool" top --json --by thread "$work/a.otlp" > by.json
on_terminal 80 --by thread | "$python" "$work/bars.py" 80 value by.json > said 2>&1 || bad "--by thread: $(tail -n 1 said)"
equal "lists" 48 $seen
end

begin "a wide line keeps whole names and the running sum, a narrow one says what it cut"
on_terminal 200 > wide
grep -q 'sum%' wide || bad "no running sum: $(sed -n 2p wide)"
grep -q 'are cut to the width' wide && bad "names are cut: $(tail -n 2 wide)"
on_terminal 80 > narrow
grep -q 'sum%' narrow && bad "$(sed -n 2p narrow)"
grep -q "names are cut to the width of the line" narrow || bad "$(tail -n 2 narrow)"
end

begin "where there is no room there are no bars, and the list is as in a pipe"
"$tool" top "$work/a.otlp" > plain
for columns in 1 20 60 75; do
    on_terminal $columns --color never > out
    same_file plain out "the list at $columns columns"
done
end

begin "a pipe has neither bars nor colours, unless they are asked for"
export TERM=xterm
"$tool" top "$work/a.otlp" > plain
grep -q "$(printf '\033')" plain && bad "escapes in a pipe"
grep -q '█' plain && bad "bars in a pipe"
on_terminal 120 --bars never --color never > out
same_file plain out "the list without bars and colours on a terminal"
COLUMNS=100 "$tool" top --bars always "$work/a.otlp" > out
"$tool" top --json -n 30 "$work/a.otlp" > flat.json
"$python" "$work/bars.py" 100 flat flat.json < out > said 2>&1 || bad "--bars always: $(tail -n 1 said)"
grep -q "$(printf '\033')" out && bad "--bars always brings colours into a pipe"
"$tool" top --color always "$work/a.otlp" | sed 's/\x1b\[[0-9;]*m//g' > out
same_file plain out "--color always, without the colours"
"$tool" top --color always "$work/a.otlp" | grep -q "$(printf '\033')" || bad "--color always has no colours"
COLUMNS=1 "$tool" top --bars always -n 3 "$work/a.otlp" | grep -q '████████' || bad "no bar on a line of one column"
end

begin "COLUMNS is the width where it is a number; NO_COLOR and dumb terminals have no colours; no UTF-8, no blocks"
export TERM=xterm
on_terminal 80 > at80
on_terminal 130 > at130
cmp -s at80 at130 && bad "80 and 130 columns give the same"
COLUMNS=80 on_terminal 130 > out
same_file at80 out "the list with COLUMNS=80"
for value in '' 0 x -5 80x; do
    COLUMNS=$value on_terminal 130 > out
    same_file at130 out "the list with COLUMNS=$value"
done
grep -q "$(printf '\033\[36m')" at130 || bad "a terminal without colours"
NO_COLOR=1 on_terminal 130 > out
grep -q "$(printf '\033')" out && bad "NO_COLOR has colours"
grep -q '█' out || bad "NO_COLOR has no bars"
TERM=dumb on_terminal 130 > out
grep -q "$(printf '\033')" out && bad "a dumb terminal has colours"
LC_ALL=C on_terminal 130 > out
grep -q '#####' out || bad "no bars without UTF-8"
grep -q '█' out && bad "blocks without UTF-8"
end

begin "names of any kind fit"
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good()
kinds = ["ä" * 100, "漢字" * 60, "\U0001f600" * 50, "a\nb" * 40, "\u202e" * 90, "e\u0301" * 50]
d["strings"] = [s if i == 0 or len(s) < 8 else kinds[i % len(kinds)] + str(i) for i, s in enumerate(d["strings"])]
open("odd.otlp", "wb").write(otlp_gen.encode(d))
P
"$tool" top -n 0 odd.otlp > plain 2> err || bad "exit status $?: $(cat err)"
for columns in 80 100 140; do
    "$python" "$here/terminal.py" $columns "$tool" top --color never -n 0 odd.otlp > out
    "$python" - $columns << 'P' < /dev/null > said 2>&1 || bad "$(tail -n 1 said)"
import sys, unicodedata
columns, seen = int(sys.argv[1]), 0
for line in open("out").read().split("\n")[2:]:
    if "\u2588" in line or "\u258f" in line:
        wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        assert wide <= columns, (wide, line)
        seen += 1
assert seen > 10, seen
P
done
end

begin "words that are none"
for option in --bars --color; do
    "$tool" top $option sometimes "$work/a.otlp" > out 2> err
    equal "exit status of $option sometimes" 2 $?
    one_line err "auto, always or never"
done
end
finish
