#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# json.sh: --json of every command that prints a result is JSON, strictly, and says what the text says.
. "$(dirname "$0")/../common.sh"
"$python" "$here/otlp_gen.py" good "$work/a.otlp" pid=1
"$python" "$here/otlp_gen.py" good "$work/b.otlp" pid=2 seed=2 scale=3
mkdir "$work/broken"
"$python" "$here/otlp_gen.py" broken "$work/broken" > "$work/rules" || exit 1
# Texts and values of every kind, also bytes that are no text.
"$python" - "$here" "$work/odd.otlp" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good()
odd = "quote \" backslash \\ tab \t line\nend \x01 \x7f </script> ä 漢 \U0001f600 \u2028"
d["resource"].update({
    "odd " + odd: odd, "true": True, "false": False, "int": -(2**63), "big": 2**63 - 1, "real": 0.1, "huge": 1e308, "nan": float("nan"),
    "inf": float("inf"), "ninf": float("-inf"), "bytes": bytes(range(256)), "none": None, "empty": "", "list": [1, "two", [3.5, [], {}], None],
    "map": {"a": {"b": {"c": [True, b"\xff\x00"]}}, "x\ny": odd}, "deep": [[[[[[["7"]]]]]]],
})
d["scope"] = (odd, odd)
for i, s in enumerate(d["strings"]):
    if len(s) > 12:
        d["strings"][i] = odd + str(i)
open(sys.argv[2], "wb").write(otlp_gen.encode(d))
P
# Reads standard input strictly: no key twice, no NaN, nothing behind it; then runs $1 on it as `v`.
cat > "$work/j.py" << 'P'
import json, sys
def pairs(items):
    assert len({k for k, _ in items}) == len(items), "a key twice: %r" % [k for k, _ in items]
    return dict(items)
def refuse(word):
    raise ValueError(word)
data = sys.stdin.buffer.read().decode()
assert data.endswith("}\n") and "\r" not in data, "the end is %r" % data[-20:]
v = json.loads(data, object_pairs_hook=pairs, parse_constant=refuse)
exec(sys.argv[1])
P
is_json() { # CODE COMMAND…: the command's output, as v, passes the code
    code=$1
    shift
    "$tool" "$@" > json.out 2> json.err
    json_status=$?
    "$python" "$work/j.py" "$code" < json.out > said 2>&1 || bad "$*: $(tail -n 1 said) $(head -n 1 json.err)"
    looked=$((looked + 1))
}
looked=0

begin "every command that prints a result has --json"
seen=0
for command in $("$tool" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    case $command in
    run | flame | completion | man | help) continue ;; # the program's own output, a file, a script, text for people
    esac
    "$tool" help "$command" | grep -q -e '--json' || bad "$command has no --json"
    seen=$((seen + 1))
done
[ $seen -ge 12 ] || bad "only $seen commands"
end

begin "info: all values, against the same file as OTLP/JSON"
for file in "$work/a.otlp" "$work/odd.otlp"; do
    "$tool" convert -o like.jsonl "$file" 2> err || bad "$(cat err)"
    is_json '
import base64
want = json.loads(open("like.jsonl").readline())
def plain(a):
    for k, x in (a or {}).items():
        if k == "intValue": return int(x)
        if k == "doubleValue": return x if isinstance(x, str) else float(x)
        if k == "bytesValue": return base64.b64decode(x).hex()
        if k == "arrayValue": return [plain(i) for i in x.get("values", [])]
        if k == "kvlistValue": return {i["key"]: plain(i.get("value")) for i in x.get("values", [])}
        return x
    return None
message, = v["files"][0]["messages"]
resource, = message["resources"]
wanted = {a["key"]: plain(a.get("value")) for a in want["resourceProfiles"][0]["resource"]["attributes"]}
assert resource["attributes"] == wanted, [(k, wanted.get(k), x) for k, x in resource["attributes"].items() if wanted.get(k) != x][:1]
scope, = resource["scopes"]
assert scope["name"] == want["resourceProfiles"][0]["scopeProfiles"][0]["scope"]["name"]
d = want["dictionary"]
profiles = want["resourceProfiles"][0]["scopeProfiles"][0]["profiles"]
assert len(scope["profiles"]) == len(profiles) == 6
for p, w in zip(scope["profiles"], profiles):
    assert p["type"] == d["stringTable"][w["sampleType"]["typeStrindex"]]
    assert p["total"] == sum(int(x) for s in w["samples"] for x in s["values"])
    assert p["samples"] == len(w["samples"]) and p["profile_id"] == w["profileId"]
    assert str(p["time_unix_nano"]) == w["timeUnixNano"] and str(p["duration_nano"]) == w["durationNano"]
assert message["tables"]["stacks"] == len(d["stackTable"])
print(len(wanted))' info --json "$file"
done
is_json 'assert [f["file"].rsplit("/")[-1] for f in v["files"]] == ["a.otlp", "b.otlp"], v' info --json "$work/a.otlp" "$work/b.otlp"
is_json 'assert v == {"files": []}' info --json /dev/null
equal "exit status of a file that cannot be read" 3 $json_status
end

begin "top and diff: functions by any name"
for type in samples cpu inuse_space; do
    is_json 'assert len(v["functions"]) > 5 and v["type"] and all(isinstance(f["flat"], int) for f in v["functions"])
assert sum(f["flat"] for f in v["functions"]) == v["total"] > 0' top --json -t $type "$work/odd.otlp"
    is_json 'assert sum(g["value"] for g in v["groups"]) == v["total"] > 0' top --json --by thread -t $type "$work/odd.otlp"
    is_json 'assert sum(f["new_flat"] - f["base_flat"] for f in v["functions"]) == v["new_total"] - v["base_total"] != 0' \
        diff --json -t $type "$work/a.otlp" "$work/b.otlp"
    equal "exit status of diff" 1 $json_status
done
end

begin "check: what the text finds, with its place"
found=0
for file in "$work"/broken/*.otlp; do
    "$tool" check --strict "$file" > text 2> err
    status=$?
    is_json '
text = open("text").read().splitlines()
m, = v["messages"]
assert len(m["violations"]) == m["violation_count"] == len(text) - 1, (m["violation_count"], len(text))
for line, x in zip(text, m["violations"]):
    assert line == m["file"] + ": " + (x["place"] + ": " if x["place"] else "") + x["text"], (line, x)' check --strict --json "$file"
    equal "exit status for $file" $status $json_status
    found=$((found + 1))
done
[ $found -gt 50 ] || bad "only $found files"
is_json 'assert [m["violation_count"] for m in v["messages"]] == [0, 0]' check --json "$work/a.otlp" "$work/b.otlp"
is_json 'assert v["messages"][0]["violation_count"] > len(v["messages"][0]["violations"]) == 0' \
    check --strict --json --lines 0 "$(find "$work/broken" -type f | sort | head -n 1)"
end

begin "convert, merge, symbolize: what is not carried"
for command in convert merge symbolize; do
    rm -f x.pb
    "$tool" $command -o x.pb "$work/odd.otlp" > out 2> text
    rm -f x.pb
    is_json '
lines = [l for l in open("text") if "not carried" in l]
assert v["output"] == "x.pb" and v["profiles_read"] == 6
assert len(v["not_carried"]) == len(lines) > 1, (v["not_carried"], lines)
for line, x in zip(lines, v["not_carried"]):
    assert x["what"] in line and str(x.get("count", "")) in line, (line, x)
assert ("symbols" in v) == ("'$command'" == "symbolize")' $command --json -o x.pb "$work/odd.otlp"
    equal "standard error of $command --json" "" "$(cat json.err)"
    [ -s x.pb ] || bad "$command --json writes no file"
    rm -f x.otlp
    is_json 'assert v["not_carried"] == []' $command --json -o x.otlp "$work/a.otlp"
done
is_json 's = v["symbols"]
assert s["locations"] == sum(f["locations"] for f in s["files"]) > 0 and all(f["why"] for f in s["files"] if f["with_line"] < f["locations"])' \
    symbolize --json -o z.otlp "$work/a.otlp"
end

begin "doctor, version"
is_json 'assert v["kernel_tick_hz"] in (None, 100, 250, 300, 1000) and v["processors"] > 0 and "command" not in v' doctor --json
is_json 'assert v["command"]["is_profiled"] is True and v["command"]["name"] == "true"' doctor --json true
equal "exit status of doctor true" 0 $json_status
is_json 'assert v["command"]["is_profiled"] is False' doctor --json no-such-command
equal "exit status of doctor no-such-command" 1 $json_status
is_json 'assert v["proto"] == ["1.10", "1.11"] and v["version"]' version --json
end

begin "receive and send: a line for each event, and the counts"
"$tool" receive --json --listen "unix:$d/socket" -o stored -n 3 > events 2> err &
receiver=$!
pids="$pids $receiver"
wait_for 20 grep -q listening events || bad "it does not listen: $(cat err)"
is_json 'assert v["files_sent"] == 1 and v["profiles_sent"] == 6 and v["files_not_taken"] == 0' send --json -o "unix:$d/socket" "$work/a.otlp"
is_json 'assert v["files_sent"] == 1' send --json -o "unix:$d/socket" "$work/a.otlp"
is_json 'assert v["files_sent"] == 2' send --json -o "unix:$d/socket" "$work/b.otlp" "$work/odd.otlp"
wait $receiver
equal "exit status of receive" 0 $?
"$python" - << 'P' > said 2>&1 || bad "$(tail -n 1 said): $(cat events)"
import json
v = [json.loads(line) for line in open("events")]
kinds = [e["event"] for e in v]
assert kinds[0] == "listening" and kinds[-1] == "end" and kinds.count("stored") == v[-1]["stored"] == 3, kinds
assert kinds.count("there_already") == v[-1]["there_already"] and v[-1]["is_complete"] is True
assert all(open(e["file"], "rb").read().__len__() == e["bytes"] for e in v if e["event"] == "stored")
P
is_json 'assert v["files_not_taken"] == 1' send --json -o "unix:$d/nobody" -t 1 "$work/a.otlp"
equal "exit status when nobody listens" 1 $json_status
end

begin "ctl: each request"
OTELPROF_CONTROL=true OTELPROF_OUTPUT=none LD_PRELOAD=$lib sleep 60 &
host_pid=$!
pids="$pids $host_pid"
answers() { "$tool" ctl --json $host_pid status > ctl.out 2> /dev/null; }
wait_for 20 answers || bad "no control socket"
is_json 'assert v["process"]["pid"] == '$host_pid' and isinstance(v["cpu"], dict)' ctl --json $host_pid status
for request in stop start flush "set cpu-hz=50"; do
    # shellcheck disable=SC2086
    is_json 'assert v == {"done": True}' ctl --json $host_pid $request
    equal "exit status of $request" 0 $json_status
done
kill $host_pid
end

begin "texts that are none"
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good()
d["strings"] = [s if len(s) < 10 else s.encode() + b"\xff\xc0\x80\xed\xa0\x80\xe2\x80" for s in d["strings"]]
open("bad.otlp", "wb").write(otlp_gen.encode(d))
P
is_json 'assert "\ufffd" in json.dumps(v, ensure_ascii=False)' top --json bad.otlp
is_json 'assert v["messages"][0]["violation_count"] > 0' check --json bad.otlp
cp "$work/a.otlp" "$(printf 'n\377\n"')"
is_json 'assert v["files"][0]["file"] == "n\ufffd\n\""' info --json "$(printf 'n\377\n"')"
[ $looked -gt 90 ] || bad "only $looked outputs"
end
finish
