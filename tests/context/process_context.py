#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What another process reads of a process context, by the letter of OTEP 4719: process_context.py PID

Prints a line "key=value" for each attribute of its resource, sorted; what is not as it should be on lines that begin
with "bad: ". Without a context: one line, "none"."""
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from judge import fields, one, signed  # noqa: E402

pid = int(sys.argv[1])
found = []
with open("/proc/%d/maps" % pid) as f:
    for line in f:
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ +(.*)$", line)
        if m and re.match(r"(\[anon_shmem:OTEL_CTX\]|\[anon:OTEL_CTX\]|/memfd:OTEL_CTX)", m[4]):
            found.append((int(m[1], 16), int(m[2], 16), m[3]))
if not found:
    print("none")
    sys.exit(0)
if len(found) != 1:
    print("bad: %d mappings" % len(found))
start, end, rights = found[0]
if rights[0] != "r" or rights[2] != "-":
    print("bad: rights", rights)
with open("/proc/%d/mem" % pid, "rb") as mem:
    mem.seek(start)
    signature, version, size, published, address = struct.unpack("<8sIIQQ", mem.read(32))
    if signature != b"OTEL_CTX" or version != 2:
        print("bad: signature or version", signature, version)
    if not 0 < published <= time.clock_gettime_ns(time.CLOCK_BOOTTIME):
        print("bad: published at", published)
    if not 0 < size <= 65536:
        print("bad: size", size)
    mem.seek(address)
    payload = mem.read(size)
    mem.seek(start + 16)
    if struct.unpack("<Q", mem.read(8))[0] != published:
        print("bad: it changes all the time")
resource = fields(one(fields(payload), 1, b""))
for raw in sorted(resource[1]):
    attribute = fields(raw)
    value = fields(one(attribute, 2, b""))
    text = one(value, 1).decode() if 1 in value else str(signed(one(value, 3))) if 3 in value else "?"
    print("%s=%s" % (one(attribute, 1, b"").decode(), text))
