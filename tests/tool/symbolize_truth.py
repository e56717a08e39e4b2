#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""symbolize_truth.py PROFILE.jsonl MODULE FILE: each location of MODULE has what addr2line says of it in FILE.

Functions are compared by the name without parameters and namespaces, files by their last part, lines as they are. The
name of the function itself may be that of another symbol at the same place; and binutils calls the innermost inlined
function after the symbol around it. Prints what it looked at.
"""
import json
import re
import subprocess
import sys


def bare(name):
    """The last part of a name without its parameters."""
    while True:
        shorter = re.sub(r"\([^()]*\)|<[^<>]*>", "", name)
        if shorter == name:
            break
        name = shorter
    return name.replace(" const", "").split("::")[-1].split(" ")[-1]


def truth(path, addresses):
    out = subprocess.run(["addr2line", "-a", "-i", "-f", "-C", "-e", path], input="\n".join(hex(a) for a in addresses),
                         capture_output=True, text=True, check=True).stdout.split("\n")
    found, at = {}, None
    i = 0
    while i < len(out) and out[i]:
        if re.fullmatch(r"0x[0-9a-f]+", out[i]):
            at = int(out[i], 16)
            found[at] = []
            i += 1
            continue
        place = re.sub(r" \(discriminator \d+\)", "", out[i + 1])
        file, line = place.rsplit(":", 1)
        found[at].append((bare(out[i]), file, int(line) if line.isdigit() else 0))
        i += 2
    return found


def main():
    d = json.loads(open(sys.argv[1]).readline())["dictionary"]
    strings, functions = d["stringTable"], d["functionTable"]
    maps = d["mappingTable"]
    wanted = {}
    for l in d["locationTable"]:
        m = maps[l.get("mappingIndex", 0)]
        if strings[m.get("filenameStrindex", 0)].endswith("/" + sys.argv[2]):
            wanted[int(l.get("address", 0))] = [
                (bare(strings[functions[x.get("functionIndex", 0)].get("nameStrindex", 0)]),
                 strings[functions[x.get("functionIndex", 0)].get("filenameStrindex", 0)], int(x.get("line", 0)))
                for x in l.get("lines", [])]
    expected = truth(sys.argv[3], sorted(wanted))
    wrong = placed = inlined = 0
    for address, lines in sorted(wanted.items()):
        want = expected[address]
        if want[0][2] == 0:
            continue
        placed += 1
        inlined += len(want) > 1
        same = len(lines) == len(want) and all(
            a[1].split("/")[-1] == b[1].split("/")[-1] and a[2] == b[2] and (a[0] == b[0] or k == len(want) - 1 or (k == 0 and b[0] == want[-1][0]))
            for k, (a, b) in enumerate(zip(lines, want)))
        if not same:
            wrong += 1
            print("    %#x: %s, and not %s" % (address, lines, want))
    print("%d locations, %d with lines, %d with inlined calls, %d wrong" % (len(wanted), placed, inlined, wrong))
    sys.exit(wrong > 0 or placed == 0)


main()
