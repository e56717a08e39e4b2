#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# flame.sh: the three kinds of flame graph hold the values of the profile, and no name can break out of them.
. "$(dirname "$0")/../common.sh"
"$python" "$here/otlp_gen.py" good "$work/good.otlp"

begin "folded stacks add up to the totals of each type"
for type in samples cpu alloc_objects alloc_space inuse_objects inuse_space; do
    "$tool" flame -t $type -o out.folded "$work/good.otlp" || bad "$type: exit status $?"
    total=$("$tool" top --json -t $type "$work/good.otlp" | "$python" -c 'import json,sys; print(json.load(sys.stdin)["total"])')
    equal "sum of $type" "$total" "$(awk '{ sum += $NF } END { printf "%d", sum }' out.folded)"
done
grep -q '^main;' out.folded || bad "no stack begins with main: $(head -n 2 out.folded)"
end

begin "the page holds each type's values, and needs nothing from outside"
"$tool" flame -o out.html "$work/good.otlp" || bad "exit status $?"
"$python" - out.html << 'P' > said || bad "$(cat said)"
import json, re, sys
page = open(sys.argv[1]).read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
n = len(data["depth"])
assert n == len(data["name"]) and data["depth"][0] == 0 and min(data["depth"][1:]) == 1
assert all(b <= a + 1 for a, b in zip(data["depth"], data["depth"][1:])), "not a preorder"
totals = [sum(pairs[1::2]) for pairs in data["self"]]
assert [t["type"] for t in data["types"]][:2] == ["samples", "cpu"] and len(totals) == 6, data["types"]
assert all(t > 0 for t in totals) and data["base"] is None
outside = re.findall(r'(?:src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org)', page)
assert not outside, outside
assert page.count("<script") == 2 and page.count("</script") == 2
print(n, "frames looked at")
P
end

begin "hostile names stay text"
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good(stacks=20)
names = ['</script><script>document.title="broken"</script>', "<img src=x onerror=alert(1)>", "\"'`${1}\\",
         "\u2028\u2029\u202e", "\x1b[31mred\x07", b"\xff\xfe", "a;b c", "--><!--", "]]>", "&amp;&#x41;"]
for f, name in zip(d["functions"][1:], names):
    d["strings"][f[0]] = name
d["strings"][d["mappings"][1][3]] = "/x/</script>"
d["resource"]["service.name"] = "</title><script>alert(2)</script>"
open("hostile.otlp", "wb").write(otlp_gen.encode(d))
P
for kind in html svg folded; do
    "$tool" flame -o out.$kind hostile.otlp || bad "$kind: exit status $?"
done
equal "scripts in the page" 2 "$(grep -c '</script' out.html)"
! grep -q '<img\|</title><script' out.html || bad "markup of a name is in the page"
"$python" -c 'import xml.dom.minidom as m; m.parse("out.svg")' 2> err || bad "the picture is not XML: $(tail -n 1 err)"
! grep -q '<script\|<img' out.svg || bad "markup of a name is in the picture"
equal "stacks with a control character" 0 "$(LC_ALL=C grep -c "$(printf '\033')" out.folded)"
"$tool" top hostile.otlp > top
equal "lines of top with a control character" 0 "$(LC_ALL=C grep -c "$(printf '\033')" top)"
cp out.html "$work/hostile.html"
end

begin "hostile names stay text in a browser"
if need chromium; then
    mkdir home
    HOME=$d/home chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync --user-data-dir="$d/home/data" \
        --virtual-time-budget=2000 --dump-dom "file://$work/hostile.html#view=table" > dom 2> /dev/null
    grep -q '<title>&lt;/title&gt;' dom || bad "the title is $(grep -o '<title>.*</title>' dom)"
    grep -q 'tr class="row"' dom || bad "the table has no rows"
fi
end

begin "differences"
"$python" "$here/otlp_gen.py" good new.otlp scale=3 seed=2
for kind in html svg folded; do
    "$tool" flame --diff "$work/good.otlp" -t cpu -o out.$kind new.otlp || bad "$kind: exit status $?"
done
for column in NF-1:good.otlp NF:new.otlp; do
    name=${column#*:}
    [ "$name" = new.otlp ] || name=$work/$name
    total=$("$tool" top --json -t cpu "$name" | "$python" -c 'import json,sys; print(json.load(sys.stdin)["total"])')
    equal "sum of column ${column%:*}" "$total" "$(awk "{ sum += \$(${column%:*}) } END { printf \"%d\", sum }" out.folded)"
done
grep -q '"base":\[' out.html || bad "the page has no base"
end

begin "programs get a level of their own when there are several"
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good(pid=2)
d["resource"]["process.executable.name"] = "other"
open("other.otlp", "wb").write(otlp_gen.encode(d))
P
"$tool" flame -o out.folded "$work/good.otlp" other.otlp
equal "first names" "demo other" "$(sed 's/;.*//' out.folded | sort -u | tr '\n' ' ' | sed 's/ $//')"
end

begin "many frames: small ones are taken together, nothing is lost"
"$python" "$here/otlp_gen.py" good big.otlp stacks=20000 depth=24
"$tool" flame -o out.html big.otlp
"$tool" top --json big.otlp > top
"$python" - out.html top << 'P' > said || bad "$(cat said)"
import json, re, sys
page = open(sys.argv[1]).read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
total = json.load(open(sys.argv[2]))["total"]
assert 1000 < len(data["depth"]) < 250000 and data["note"], len(data["depth"])
assert sum(data["self"][0][1::2]) == total, (sum(data["self"][0][1::2]), total)
P
end

begin "many threads: the first keep their values, only those after them are one"
"$python" - "$here" many.otlp truth << 'P'
import json, sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good(stacks=310)
key = d["strings"].index("thread.name")
first = len(d["attributes"])
d["attributes"] += [(key, "thread-%d" % n, 0) for n in range(300)]
truth = []
for p in d["profiles"]:
    sums = {}
    for i, s in enumerate(p["samples"]):
        s["attrs"] = [first + i % 300]
        name = "thread-%d" % (i % 300) if i % 300 < 256 else "[other threads]"
        sums[name] = sums.get(name, 0) + s["values"][0]
    truth.append(sums)
open(sys.argv[2], "wb").write(otlp_gen.encode(d))
json.dump(truth, open(sys.argv[3], "w"))
P
"$tool" flame -o out.html many.otlp || bad "exit status $?"
"$python" - out.html truth << 'P' > said 2>&1 || bad "$(tail -n 1 said)"
import json, re, sys
page = open(sys.argv[1]).read()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
truth = json.load(open(sys.argv[2]))
assert len(data["threads"]) == 257 and len(data["by_thread"]) == len(truth) == 6, len(data["threads"])
for flat, expected in zip(data["by_thread"], truth):
    sums = {}
    for thread, value in zip(flat[1::3], flat[2::3]):
        name = data["threads"][thread]
        sums[name] = sums.get(name, 0) + value
    assert sums == expected, "%d threads have values, %d expected" % (len(sums), len(expected))
P
end

begin "what cannot be written"
"$tool" flame -o out.png "$work/good.otlp" 2> err
equal "exit status of another kind" 2 $?
"$tool" flame "$work/good.otlp" 2> err
equal "exit status without -o" 2 $?
"$tool" flame -o /nowhere/out.html "$work/good.otlp" 2> err
equal "exit status of a missing folder" 3 $?
one_line err "/nowhere/out.html"
"$tool" flame -o ./nothing/../out.html "$work/good.otlp" 2> err
equal "exit status of a path through nothing" 3 $?
equal "files left behind" 0 "$(ls -a | grep -c '\.new$')"
end
finish
