#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""spans.py classes OUTPUT FILE...: CPU time by class of spans against what the program measured.
spans.py log LOG FILE...: every observation with a time lies in a moment in which its thread had that span.
Says what is wrong, one line each; the last line says how much was looked at."""
import bisect
import collections
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import judge  # noqa: E402

LATE_NS = 50_000  # from the reading of the clock to the change of the span, and the other way round


def classes(output, files):
    truth = {}
    for line in open(output):
        name, spans, us = line.split()
        truth[name] = (int(spans), int(us) / 1e6)
    found = collections.Counter()
    links = set()
    period = 0
    for f in files:
        for p in f.profiles:
            if p.type != "cpu":
                continue
            period = max(period, p.period / 1e9)
            for value, frames, attributes, _, link in p.samples:
                if "burn_span" not in str(frames):
                    continue
                found[attributes.get("route", "-")] += value / 1e9
                links.add(link[1])
    bad = 0
    for name, (_, seconds) in sorted(truth.items()):
        # Samples come once a period at random: the count of a share p of n has the deviation of a binomial one. What a
        # tick waits for (4 ms on most kernels) makes some of them stand for several periods.
        step = max(period, 0.004)
        sigma = math.sqrt(seconds * step)
        if abs(found[name] - seconds) > 4 * sigma + 0.02 * seconds:
            print("class %s: %.3f s in the profile, %.3f s by the clock, sigma %.3f" % (name, found[name], seconds, sigma))
            bad += 1
    if found["-"] > 0.02 * sum(found.values()):
        print("%.3f s in burn_span without a class" % found["-"])
        bad += 1
    spans = sum(n for n, _ in truth.values())
    print("looked at %d classes, %d spans, %d of them sampled" % (len(truth), spans, len(links)))
    return bad == 0 and len(links) > 50


def log(path, files):
    begins = collections.defaultdict(list)
    for line in open(path):
        tid, span, begin, end = line.split()
        begins[int(tid)].append((int(begin), int(end), span))
    for entries in begins.values():
        entries.sort()
    looked = linked = bad = 0
    for f in files:
        for times, tid, span, frames in observations(f):
            entries = begins.get(tid, [])
            for t in times:
                looked += 1
                linked += span != "-"
                at = bisect.bisect_right(entries, (t + LATE_NS, 1 << 63, "")) - 1
                near = [e for e in entries[max(at - 3, 0):at + 1] if e[0] - LATE_NS <= t <= e[1] + LATE_NS]
                inside = [e for e in entries[max(at - 3, 0):at + 1] if e[0] + LATE_NS <= t <= e[1] - LATE_NS]
                if span != "-" and span not in [e[2] for e in near]:
                    print("thread %d at %d: span %s, by the log %s" % (tid, t, span, [e[2] for e in near]))
                    bad += 1
                elif span == "-" and inside and "burn_span" in str(frames):
                    print("thread %d at %d: no span in burn_span, by the log %s" % (tid, t, inside[0][2]))
                    bad += 1
    print("looked at %d observations, %d with a span" % (looked, linked))
    return bad == 0 and linked > 100


def observations(f):
    for raw in judge.fields(judge.load(f.path))[1]:
        for scope in judge.fields(raw)[2]:
            for profile in judge.fields(scope)[2]:
                for raw_sample in judge.fields(profile)[2]:
                    s = judge.fields(raw_sample)
                    data = b"".join(s[5])
                    times = struct.unpack("<%dQ" % (len(data) // 8), data)
                    attributes = dict(f.attributes[i] for i in judge.numbers(s[2]))
                    frames, _ = f.stacks[judge.one(s, 1)]
                    yield times, attributes.get("thread.id", 0), f.links[judge.one(s, 3)][1], frames


if __name__ == "__main__":
    verb, what, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    loaded = [judge.File(n) for n in names]
    sys.exit(0 if (classes if verb == "classes" else log)(what, loaded) else 1)
