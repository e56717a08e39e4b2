#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pprof profiles for tests, with a reader and a writer of its own.

    pprof_text.py gen OUT [seed]   writes a profile with everything the format has
    pprof_text.py show FILE        prints what a profile says, in an order that does not depend on how it is laid out
    pprof_text.py totals FILE      prints each type and its total
"""
import gzip
import random
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def num(field, n):
    return varint(field << 3) + varint(n) if n else b""


def raw(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, numbers):
    return raw(field, b"".join(varint(n) for n in numbers)) if numbers else b""


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("wire type %d" % kind)
        yield tag >> 3, value


def signed(n):
    return n - (1 << 64) if n >> 63 else n


def numbers(value):
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        n, at = read_varint(value, at)
        out.append(n)
    return out


def load(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


class Profile:
    def __init__(self, data):
        self.types, self.samples, self.comments = [], [], []
        self.mapping, self.location, self.function, self.strings = {}, {}, {}, []
        self.mapping_order = []
        self.single = {}
        self.period_type = None
        raw_fields = list(fields(data))
        for f, v in raw_fields:
            if f == 6:
                self.strings.append(v.decode())
        for f, v in raw_fields:
            if f == 1:
                self.types.append(self.type(v))
            elif f == 2:
                self.samples.append(v)
            elif f in (3, 4, 5):
                entry = {}
                for g, w in fields(v):
                    entry.setdefault(g, []).append(w)
                (self.mapping, self.location, self.function)[f - 3][entry[1][0]] = entry
                if f == 3:
                    self.mapping_order.append(entry[1][0])
            elif f == 11:
                self.period_type = self.type(v)
            elif f == 13:
                self.comments += [self.strings[n] for n in numbers(v)]
            elif f != 6:
                self.single[f] = v

    def type(self, data):
        d = dict(fields(data))
        return self.strings[d.get(1, 0)] + "/" + self.strings[d.get(2, 0)]

    def text(self, entry, field):
        return self.strings[entry.get(field, [0])[0]]

    def show_mapping(self, number):
        m = self.mapping.get(number)
        if m is None:
            return "-"
        flags = "".join(str(m.get(f, [0])[0]) for f in (7, 8, 9, 10))
        return "%x-%x+%x %s %s %s" % (m.get(2, [0])[0], m.get(3, [0])[0], m.get(4, [0])[0], self.text(m, 5),
                                      self.text(m, 6), flags)

    def show_location(self, number):
        l = self.location[number]
        lines = []
        for data in l.get(4, []):
            d = dict(fields(data))
            f = self.function[d[1]]
            lines.append("%s|%s|%s:%d %d:%d" % (self.text(f, 2), self.text(f, 3), self.text(f, 4),
                                                signed(f.get(5, [0])[0]), signed(d.get(2, 0)), signed(d.get(3, 0))))
        return "{%s @%x %s folded=%d}" % (self.show_mapping(l.get(2, [0])[0]), l.get(3, [0])[0], ";".join(lines),
                                         l.get(5, [0])[0])

    def show_label(self, data):
        d = dict(fields(data))
        key = self.strings[d.get(1, 0)]
        if d.get(2, 0):
            return '%s="%s"' % (key, self.strings[d[2]])
        return "%s=%d %s" % (key, signed(d.get(3, 0)), self.strings[d.get(4, 0)])

    def rows(self):
        """What each sample is, and the sum of its values."""
        sums = {}
        for data in self.samples:
            where, values, labels = [], [], []
            for f, v in fields(data):
                if f == 1:
                    where += numbers(v)
                elif f == 2:
                    values += [signed(n) for n in numbers(v)]
                elif f == 3:
                    labels.append(self.show_label(v))
            key = " ".join(self.show_location(n) for n in where) + " " + ", ".join(sorted(labels))
            old = sums.setdefault(key, [0] * len(values))
            sums[key] = [a + b for a, b in zip(old, values)]
        return sums

    def show(self):
        def s(field):
            return self.strings[self.single.get(field, 0)]
        print("types", self.types, "default", s(14))
        print("period", self.period_type, self.single.get(12, 0))
        print("time", self.single.get(9, 0), self.single.get(10, 0))
        print("drop", s(7), "keep", s(8), "doc", s(15), "comments", self.comments)
        for number in self.mapping_order:
            print("mapping", self.show_mapping(number))
        for key, values in sorted(self.rows().items()):
            if any(values):
                print(values, key)

    def totals(self):
        for i, name in enumerate(self.types):
            print(name, sum(values[i] for values in self.rows().values()))


def generate(path, seed):
    r = random.Random(seed)
    strings = [""]

    def s(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    out = b""
    types = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("wall", "nanoseconds")][:r.randint(1, 3)]
    for name, unit in types:
        out += raw(1, num(1, s(name)) + num(2, s(unit)))
    ids = r.sample(range(1, 1000), 60)
    maps, functions, locations = ids[:3], ids[3:23], ids[23:]
    for i, number in enumerate(maps):
        m = num(1, number) + num(2, 0x1000 * (i + 1)) + num(3, 0x1000 * (i + 2)) + num(4, 0x200 * i)
        m += num(5, s("/lib/%d.so" % i)) + num(6, s("id%d" % i) if i else 0)
        for f in (7, 8, 9, 10):
            m += num(f, r.randint(0, 1))
        out += raw(3, m)
    for i, number in enumerate(functions):
        out += raw(5, num(1, number) + num(2, s("fn%d" % i)) + num(3, s("_Zfn%d" % i)) + num(4, s("src%d.c" % (i % 4)))
                   + num(5, r.randint(0, 50)))
    for number in locations:
        body = num(1, number) + num(2, r.choice([0] + maps)) + num(3, r.randint(1, 1 << 40)) + num(5, r.randint(0, 3) == 0)
        for _ in range(r.randint(0, 3)):
            body += raw(4, num(1, r.choice(functions)) + num(2, r.randint(0, 99)) + num(3, r.randint(0, 9)))
        out += raw(4, body)
    for _ in range(r.randint(1, 80)):
        body = packed(1, r.sample(locations, r.randint(0, 8)))
        body += packed(2, [r.choice([0, r.randint(-5, 10**6), r.randint(1, 10**12)]) for _ in types])
        for _ in range(r.randint(0, 3)):
            key = s("key%d" % r.randint(0, 4))
            if r.randint(0, 1):
                body += raw(3, num(1, key) + num(2, s("text%d" % r.randint(0, 3))))
            else:
                body += raw(3, num(1, key) + num(3, r.randint(-3, 3) or 7) + num(4, s("kilobytes")))
        out += raw(2, body)
    out += num(7, s("drop.*")) + num(8, s("keep.*")) + num(9, 1700000000 * 10**9 + seed) + num(10, 5 * 10**9)
    out += raw(11, num(1, s("space")) + num(2, s("bytes"))) + num(12, 524288)
    for text in ["a comment", "another one"][:r.randint(0, 2)]:
        out += num(13, s(text))
    if r.randint(0, 1):
        out += num(14, s(types[r.randrange(len(types))][0]))
    out += num(15, s("https://example.org/doc"))
    for text in strings:
        out += raw(6, text.encode())
    with open(path, "wb") as f:
        f.write(gzip.compress(out) if path.endswith("gz") else out)


if __name__ == "__main__":
    if sys.argv[1] == "gen":
        generate(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    else:
        getattr(Profile(load(sys.argv[2])), sys.argv[1])()
