#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of gperftools' profiles, strict: knows nothing of the project's own code.

gperftools.py FILE   the type, period and totals, how many stacks, frames and mapped files; frames that lie in a file
"""
import gzip
import re
import struct
import sys

LINE = re.compile(r"([0-9a-f]{8,})-([0-9a-f]{8,}) r-xp ([0-9a-f]{8,}) 00:00 0 (\S.*)$")


def maps(text):
    found = []
    for line in text.splitlines():
        m = LINE.match(line)
        if m is None:
            sys.exit("no line of maps: %r" % line)
        start, limit, _ = (int(m.group(i), 16) for i in (1, 2, 3))
        if start >= limit or any(start < b and a < limit for a, b, _ in found):
            sys.exit("ranges overlap or are empty: %r" % line)
        found.append((start, limit, m.group(4)))
    return found


def cpu(data):
    words = [struct.unpack_from("<Q", data, i)[0] for i in range(0, len(data) - 7, 8)]
    if words[:3] != [0, 3, 0] or words[4] != 0:
        sys.exit("no header: %r" % words[:5])
    at, stacks, total = 5, [], 0
    while words[at : at + 3] != [0, 1, 0]:
        count, depth = words[at : at + 2]
        pcs = words[at + 2 : at + 2 + depth]
        if count == 0 or depth == 0 or len(pcs) != depth or pcs[0] == 0:
            sys.exit("record %d" % len(stacks))
        stacks.append([pcs[0]] + [pc - 1 for pc in pcs[1:]])
        total += count
        at += 2 + depth
    print("cpu period", words[3], "total", total * words[3])
    return stacks, maps(data[(at + 3) * 8 :].decode())


def heap(data):
    head, _, rest = data.decode().partition("\n")
    body, mark, text = rest.partition("\nMAPPED_LIBRARIES:\n")
    sums = re.fullmatch(r"heap profile: (\d+): (\d+) \[(\d+): (\d+)\] @ heapprofile", head)
    if sums is None or not mark:
        sys.exit("no header or no maps: %r" % head)
    stacks, total = [], [0] * 4
    for line in body.splitlines():
        m = re.fullmatch(r"(\d+): (\d+) \[(\d+): (\d+)\] @((?: 0x[0-9a-f]{8,})+)", line)
        if m is None:
            sys.exit("no stack: %r" % line)
        v = [int(m.group(i)) for i in range(1, 5)]
        if (v[0] == 0 < v[1]) or (v[2] == 0 < v[3]):
            sys.exit("bytes without objects: %r" % line)
        total = [a + b for a, b in zip(total, v)]
        pcs = [int(x, 16) for x in m.group(5).split()]
        stacks.append([pcs[0]] + [pc - 1 for pc in pcs[1:]])
    if total != [int(x) for x in sums.groups()]:
        sys.exit("sums %r are not those of the stacks, %r" % (sums.groups(), total))
    print("heap in use", total[0], total[1], "allocated", total[2], total[3])
    return stacks, maps(text)


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    stacks, files = (heap if data.startswith(b"heap") else cpu)(data)
    frames = {pc for s in stacks for pc in s}
    inside = sum(any(a <= pc < b for a, b, _ in files) for pc in frames)
    print("stacks", len(stacks), "addresses", len(frames), "inside", inside, "files", len(files))


main()
