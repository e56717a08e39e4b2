#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Are the profiles that arrived those that were sent? compare.py [--again] SENT_FOLDER STREAM...

SENT_FOLDER holds what the library wrote to files: one ProfilesData each. A STREAM is what a Collector's
file exporter wrote: u32 big-endian length and one message, again and again. Every profile is brought into
a form in which neither the numbers of the tables nor the order of anything counts, found on the other side
by its id, and compared whole. Each must have arrived once; with --again at least once, and what came again
must be the same. Prints "N profiles, M samples, arrived in K messages" or what differs; exit status 1.
"""
import glob
import gzip
import hashlib
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from judge import fields, numbers, one, signed  # noqa: E402


def digest(value):
    """Short, and the same for equal values: tables may be large."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]


def profile_ids(top):
    for raw in top[1]:
        for scope in fields(raw)[2]:
            for p in fields(scope)[2]:
                yield one(fields(p), 7, b"")


class Message:
    def __init__(self, top):
        d = fields(one(top, 2, b""))
        self.strings = [s.decode() for s in d[5]]
        self.attributes = [self.attribute(raw) for raw in d[6]]
        self.mappings = [self.mapping(raw) for raw in d[1]]
        self.functions = [self.function(raw) for raw in d[3]]
        self.locations = [digest(self.location(raw)) for raw in d[2]]
        self.stacks = [digest([self.locations[i] for i in numbers(fields(raw)[1])]) for raw in d[7]]
        self.links = [self.link(raw) for raw in d[4]]
        self.profiles = {}
        for raw in top[1]:
            rp = fields(raw)
            resource = self.plain_attributes(fields(one(rp, 1, b""))[1])
            for scope_raw in rp[2]:
                sp = fields(scope_raw)
                scope = fields(one(sp, 1, b""))
                name = (one(scope, 1, b""), one(scope, 2, b""), self.plain_attributes(scope[3]))
                for p in sp[2]:
                    self.profile(fields(p), (resource, name, one(rp, 3, b""), one(sp, 3, b"")))

    def value(self, raw):
        m = fields(raw)
        if 8 in m:
            return ("string", self.strings[one(m, 8)])
        if 1 in m:
            return ("string", one(m, 1).decode())
        if 3 in m:
            return ("int", signed(one(m, 3)))
        if 5 in m:
            return ("array", tuple(self.value(v) for v in fields(one(m, 5))[1]))
        return ("raw", raw)

    def attribute(self, raw):
        m = fields(raw)
        return (self.strings[one(m, 1)], self.value(one(m, 2, b"")), self.strings[one(m, 3)])

    def plain_attributes(self, raws):
        out = []
        for raw in raws:
            m = fields(raw)
            key = self.strings[one(m, 3)] if 3 in m else one(m, 1, b"").decode()
            out.append((key, self.value(one(m, 2, b""))))
        return tuple(sorted(out))

    def listed(self, raws):
        return tuple(sorted(self.attributes[i] for i in numbers(raws)))

    def mapping(self, raw):
        m = fields(raw)
        return (one(m, 1), one(m, 2), one(m, 3), self.strings[one(m, 4)], self.listed(m[5]))

    def function(self, raw):
        m = fields(raw)
        return tuple(self.strings[one(m, i)] for i in (1, 2, 3)) + (one(m, 4),)

    def location(self, raw):
        m = fields(raw)
        lines = tuple((self.functions[one(f, 1)], one(f, 2), one(f, 3)) for f in map(fields, m[3]))
        return (self.mappings[one(m, 1)], one(m, 2), lines, self.listed(m[4]))

    def link(self, raw):
        m = fields(raw)
        return (one(m, 1, b"").strip(b"\0"), one(m, 2, b"").strip(b"\0"))

    def kind(self, raw):
        m = fields(raw)
        return (self.strings[one(m, 1)], self.strings[one(m, 2)])

    def profile(self, p, around):
        samples = []
        for raw in p[2]:
            s = fields(raw)
            times = tuple(struct.unpack("<%dQ" % (len(v) // 8), v) for v in s[5])
            samples.append((self.stacks[one(s, 1)], self.listed(s[2]), self.links[one(s, 3)],
                            tuple(numbers(s[4])), times))
        head = (self.kind(one(p, 1, b"")), one(p, 3, bytes(8)), one(p, 4), self.kind(one(p, 5, b"")),
                one(p, 6), one(p, 8), one(p, 9, b""), one(p, 10, b""), self.listed(p[11]))
        profile_id = one(p, 7, b"")
        self.profiles.setdefault(profile_id, []).append((around, head, sorted(samples)))


def sent_messages(folder):
    for name in sorted(glob.glob(os.path.join(folder, "*.otlp*"))):
        with open(name, "rb") as f:
            data = f.read()
        yield gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def arrived_messages(paths):
    for path in paths:
        with open(path, "rb") as f:
            data = f.read()
        at = 0
        while at + 4 <= len(data):
            size = struct.unpack(">I", data[at:at + 4])[0]
            yield data[at + 4:at + 4 + size]
            at += 4 + size


def collect(messages, wanted=None):
    """Profile id -> profiles, and from how many messages; of those without a wanted one nothing."""
    out, count = {}, 0
    for data in messages:
        top = fields(data)
        if wanted is not None and wanted.isdisjoint(profile_ids(top)):
            continue
        count += 1
        for profile_id, profiles in Message(top).profiles.items():
            out.setdefault(profile_id, []).extend(profiles)
    return out, count


def main():
    words = [w for w in sys.argv[1:] if w != "--again"]
    may_come_again = len(words) < len(sys.argv) - 1
    sent, _ = collect(sent_messages(words[0]))
    arrived, message_count = collect(arrived_messages(words[1:]), set(sent))
    problems = []
    samples = 0
    for profile_id, profiles in sent.items():
        got = arrived.get(profile_id, [])
        samples += sum(len(p[2]) for p in profiles)
        if len(profiles) != 1 or not got or (len(got) > 1 and not may_come_again):
            problems.append("%s: sent %d times, arrived %d times" % (profile_id.hex(), len(profiles), len(got)))
        for other in (g for g in got if g != profiles[0]):
            what = [n for n, a, b in zip(("resource and scope", "head", "samples"), other, profiles[0]) if a != b]
            problems.append("%s: %s differ" % (profile_id.hex(), ", ".join(what)))
    if not sent:
        problems.append("nothing was sent")
    for problem in problems[:5]:
        print(problem)
    print("%d profiles, %d samples, arrived in %d messages" % (len(sent), samples, message_count))
    sys.exit(1 if problems else 0)


main()
