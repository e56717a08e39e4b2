#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# progress.sh: long work on one file says how far it is, on a terminal and nowhere else. What it says in the middle of each
# format is looked at by the unit tests of core/decode.
. "$(dirname "$0")/../common.sh"
"$python" "$here/otlp_gen.py" good "$work/big.otlp" stacks=3000 depth=24
for kind in jsonl pb otep239 otlp.zst; do
    "$tool" convert -o "$work/big.$kind" "$work/big.otlp" 2> "$work/err" || cat "$work/err"
done
gzip -kn "$work/big.jsonl"

# slow.py TERMINAL|PIPE FILE COMMAND…: the command with FILE as its standard input, which comes slowly: until it has said how much there is,
# or, in a pipe, for two seconds. What it says is in the file `said`.
cat > "$work/slow.py" << 'P'
import array, fcntl, os, pty, subprocess, sys, termios, threading, time
where, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
ours, theirs = os.pipe() if where == "PIPE" else pty.openpty()
child = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=theirs)
os.close(theirs)
said = bytearray()
def listen():
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError: # the terminal's last user is gone
            return
        if not data:
            return
        said.extend(data)
listener = threading.Thread(target=listen)
listener.start()
data, begun = open(path, "rb").read(), time.monotonic()
at = len(data) // 2
child.stdin.write(data[:at])
def is_enough():
    return time.monotonic() > begun + 2 if where == "PIPE" else b"MiB" in said or time.monotonic() > begun + 60
while not is_enough() and at < len(data) - 1:
    child.stdin.write(data[at:at + 1])
    child.stdin.flush()
    at += 1
    time.sleep(0.02)
child.stdin.write(data[at:])
child.stdin.flush()
def waits_for_more():
    left = array.array("i", [0])
    fcntl.ioctl(child.stdin, termios.FIONREAD, left)
    state = open("/proc/%d/stat" % child.pid).read().rsplit(")", 1)[1].split()[0]
    return left[0] == 0 and state in "SZX"
while not waits_for_more():
    time.sleep(0.01)
time.sleep(0.2) # longer than from one line to the next
child.stdin.close()
status = child.wait()
listener.join()
open("said", "wb").write(said)
sys.exit(status)
P

cat > "$work/lines.py" << 'P'
import re, sys
said, words = open("said", "rb").read().decode(), set()
assert said.endswith("\r\x1b[K"), "the last line stays: %r" % said[-60:]
for line in said.split("\r\x1b[K"):
    m = re.fullmatch(r"([a-z ]+) \(stdin\): ([\d.]+)(?: of ([\d.]+) MiB, (\d+) %| MiB)", line)
    assert m or not line, line
    if m:
        words.add(m[1] + (" of" if m[3] else ""))
        assert m[3] is None or float(m[2]) <= float(m[3]) and int(m[4]) <= 100, line
print(*sorted(words), sep=", ")
P

for kind in otlp otlp.zst jsonl jsonl.gz pb otep239; do
    begin "one file: $kind"
    "$tool" info - < "$work/big.$kind" > want
    "$python" "$work/slow.py" TERMINAL "$work/big.$kind" "$tool" info - > have || bad "exit status $?"
    same_file want have "the output"
    case $kind in otlp | jsonl) then="loading, reading of" ;; *) then="loading, unpacking of" ;; esac
    equal "what is said" "$then" "$("$python" "$work/lines.py" 2>&1 | tail -n 1)"
    end
done

begin "in a pipe nothing is said, however long it takes"
"$tool" info - < "$work/big.jsonl" > want
"$python" "$work/slow.py" PIPE "$work/big.jsonl" "$tool" info - > have || bad "exit status $?"
equal "what is said" "" "$(cat said)"
same_file want have "the output"
end
finish
