#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `otelprof top` has to say of generated profiles, computed from what they were generated from.

    expect.py TYPE FILE.args... < top.json    each FILE.args holds the arguments of `otlp_gen.py good`

Compares with the JSON on stdin; prints the differences, and how many functions were looked at.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import otlp_gen  # noqa: E402


def model(path):
    with open(path) as f:
        args = dict(a.split("=") for a in f.read().split())
    return otlp_gen.good(**{k: v if k == "wire" else int(v) for k, v in args.items()})


def frame_names(d, location):
    m, address, lines, _ = d["locations"][location]
    if not lines:
        module = d["strings"][d["mappings"][m][3]].split("/")[-1]
        return ["%s+0x%x" % (module, address)]
    return [d["strings"][d["functions"][f][0]] for f, _, _ in lines]


def count(d, wanted, flat, cum):
    total = 0
    for p in d["profiles"]:
        if d["strings"][p["type"][0]] != wanted:
            continue
        for s in p["samples"]:
            v = sum(s["values"])
            total += v
            names = [n for x in d["stacks"][s["stack"]] for n in frame_names(d, x)]
            if names:
                flat[names[0]] = flat.get(names[0], 0) + v
            for n in set(names):
                cum[n] = cum.get(n, 0) + v
    return total


def main():
    wanted = sys.argv[1]
    models = [model(p) for p in sys.argv[2:]]
    if wanted.startswith("inuse"):  # the last of each process
        last = {}
        for d in models:
            last[d["resource"]["process.pid"]] = max(
                d, last.get(d["resource"]["process.pid"], d), key=lambda x: x["profiles"][0]["time"]
            )
        models = list(last.values())
    flat, cum = {}, {}
    total = sum(count(d, wanted, flat, cum) for d in models)
    got = json.load(sys.stdin)
    bad = []
    if got["type"] != wanted or got["total"] != total:
        bad.append("%s total %s, expected %s" % (got["type"], got["total"], total))
    rows = {f["name"]: (f["flat"], f["cum"]) for f in got["functions"]}
    if len(rows) != len(got["functions"]):
        bad.append("a function is listed twice")
    for name in set(cum) | set(rows):
        want = (flat.get(name, 0), cum.get(name, 0))
        if rows.get(name) != want and want != (0, 0):
            bad.append("%s is %s, expected %s" % (name, rows.get(name), want))
    order = [abs(f["flat"]) for f in got["functions"]]
    if order != sorted(order, reverse=True):
        bad.append("not sorted by flat")
    print("\n".join(bad[:10]) if bad else "%d functions as expected" % len(rows))
    sys.exit(1 if bad or not rows else 0)


if __name__ == "__main__":
    main()
