#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memory.sh: a command that gets no memory says so in one line and ends with 3; it never says less than there is.
. "$(dirname "$0")/../common.sh"
"$python" - "$here" "$work" << 'P' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good(stacks=8000)
# More samples than there are entries in any table: to compare them takes the most memory.
p = d["profiles"][-1]
first = len(d["attributes"])
d["attributes"] += [(d["strings"].index("thread.name"), "another-%d" % n, 0) for n in range(8)]
p["samples"] += [dict(s, attrs=[first + n]) for n in range(8) for s in p["samples"][:8000]]
open(sys.argv[2] + "/good.otlp", "wb").write(otlp_gen.encode(d))
# Its only fault is its last sample.
p["samples"].append(dict(p["samples"][0]))
open(sys.argv[2] + "/twice.otlp", "wb").write(otlp_gen.encode(d))
P

# sweep STATUS WORDS…: the command with ever less memory ends as it does with enough, or with 3 and one line.
sweep() {
    "$python" - "$tool" "$@" << 'P' > said 2>&1 || bad "$(tail -n 1 said)"
import resource, subprocess, sys
wanted, command = int(sys.argv[2]), [sys.argv[1]] + sys.argv[3:]
written = command[command.index("-o") + 1] if "-o" in command else None
def content(): # of the file that was written; ids are drawn anew each time
    if written is None:
        return None
    if written.endswith((".folded", ".svg", ".html")):
        return open(written, "rb").read()
    top = subprocess.run([sys.argv[1], "top", "-n", "0", "--json", written], stdout=subprocess.PIPE)
    assert top.returncode == 0, "what was written cannot be read"
    return top.stdout
def run(kib):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
whole = run(4 << 20)
assert whole.returncode == wanted, "with enough memory: %d, %r" % (whole.returncode, whole.stderr)
first = content()
low, high = 1 << 10, 4 << 20
while high - low > 64: # the least that it needs
    middle = (low + high) // 2
    low, high = (low, middle) if run(middle).returncode == wanted else (middle, high)
refused = 0
for kib in range(high, max(high - 12288, 8192), -192):
    r = run(kib)
    if r.returncode == wanted:
        assert r.stdout == whole.stdout, "with %d KiB it says something else" % kib
        assert content() == first, "with %d KiB it writes something else" % kib
        continue
    assert r.returncode == 3, "with %d KiB: exit status %d, %r" % (kib, r.returncode, r.stderr)
    assert r.stderr.count(b"\n") == 1 and b"memory" in r.stderr, "with %d KiB: %r" % (kib, r.stderr)
    refused += 1
assert refused > 10, "only %d were refused" % refused
print(high, "KiB are enough;", refused, "refused")
P
    [ -z "${VERBOSE:-}" ] || cat said
}

begin "check"
sweep 1 check --strict "$work/twice.otlp"
end

begin "top, by function and by thread"
sweep 0 top "$work/good.otlp"
sweep 0 top --by thread "$work/good.otlp"
end

begin "what reads, compares and writes files"
sweep 0 info "$work/good.otlp"
sweep 0 diff "$work/good.otlp" "$work/twice.otlp"
for out in out.folded out.svg out.html; do
    sweep 0 flame -o $out "$work/good.otlp"
done
for out in out.otlp out.jsonl out.pb.gz out.otep239.zst; do
    sweep 0 convert -o $out "$work/good.otlp"
done
sweep 0 merge -o out.otlp "$work/good.otlp" "$work/twice.otlp"
sweep 0 symbolize -o out.otlp "$work/good.otlp"
equal "files left behind" 0 "$(ls -a | grep -c '\.new$')"
end
finish
