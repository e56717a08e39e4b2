#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of OTLP profiles, for the tests: knows nothing of the project's own code.

judge.py totals FILE...           type, sum of values, over all files (in-use: the last file of each process)
judge.py flat TYPE FILE...        value, function of the innermost frame, most first
judge.py cum TYPE FILE...         value, function anywhere in the stack, most first
judge.py site TYPE NAME FILE...   sum over the samples with function NAME in the stack
judge.py heap PREFIX FILE...      for each function of such a name: it and its four heap values
judge.py stacks TYPE FILE...      value, the whole stack, innermost first, most first
judge.py attr KEY FILE            a resource attribute
judge.py note KEY FILE...         a profile attribute, summed when it is a number
judge.py note-of TYPE KEY FILE... the same of the profiles of that type
judge.py period TYPE FILE         the period of that profile
judge.py sample-attr KEY FILE...  the values that samples have for this attribute, one a line
judge.py links TYPE FILE...       value, trace id, span id, most first; "-" and "-" for samples without
judge.py joined TYPE FILE...      value, outermost function named burn_… or else the innermost, first byte of the span id
judge.py span-sites TYPE NAME FILE...  span id, value of the samples with function NAME in the stack
judge.py by KEY TYPE FILE...      value, value of that sample attribute, most first; "-" for samples without
judge.py apart KEY TYPE FILE...   value, span id and value of that attribute, of samples that have only one of both
judge.py dropped TYPE FILE...     the sum of the profiles' counts of dropped attributes
judge.py id TYPE FILE...          profile ids, one a line
judge.py mappings FILE...         file names of the mappings that frames lie in
judge.py profiles FILE...         type, number of samples, duration in ns
judge.py conform FILE...          what receivers trip over, one a line; then how many samples it looked at

The input is bare, gzip or zstd, one ProfilesData, found out by content.
"""
import collections
import gzip
import signal
import struct
import subprocess
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at


def fields(data):
    """Number -> list of raw values of one message."""
    out = collections.defaultdict(list)
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value = data[at:at + 8]
            at += 8
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("a field runs past the end")
            value = data[at:at + size]
            at += size
        elif kind == 5:
            value = data[at:at + 4]
            at += 4
        else:
            raise ValueError("wire type %d" % kind)
        out[tag >> 3].append(value)
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def numbers(raw):
    """A repeated int64 or int32, packed or not."""
    out = []
    for value in raw:
        if isinstance(value, int):
            out.append(signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(signed(number))
    return out


def one(message, number, default=0):
    return message[number][-1] if message.get(number) else default


def any_value(raw):
    m = fields(raw)
    if 1 in m:
        return one(m, 1).decode()
    if 2 in m:
        return bool(one(m, 2))
    if 3 in m:
        return signed(one(m, 3))
    if 4 in m:
        return struct.unpack("<d", one(m, 4))[0]
    if 5 in m:
        return [any_value(v) for v in fields(one(m, 5))[1]]
    return None


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        data = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


class Profile:
    """One profile: what it counts, its samples as (value, [functions], {attribute: value}, [mappings], link)."""

    def __init__(self, file, raw, resource):
        m = fields(raw)
        kind = fields(one(m, 1, b""))
        self.type = file.strings[one(kind, 1)]
        self.time = struct.unpack("<Q", one(m, 3, bytes(8)))[0]
        self.duration = one(m, 4)
        self.period = one(m, 6)
        self.resource = resource
        self.id = one(m, 7, b"").hex()
        self.dropped = one(m, 8)
        self.notes = dict(file.attributes[i] for i in numbers(m[11]))
        self.samples = []
        for raw_sample in m[2]:
            s = fields(raw_sample)
            values = numbers(s[4])
            times = sum(len(v) // 8 for v in s[5])
            value = sum(values) if values else times
            frames, mappings = file.stacks[one(s, 1)]
            attributes = dict(file.attributes[i] for i in numbers(s[2]))
            self.samples.append((value, frames, attributes, mappings, file.links[one(s, 3)]))

    def total(self):
        return sum(s[0] for s in self.samples)


class File:
    def __init__(self, path):
        self.path = path
        data = fields(load(path))
        d = fields(one(data, 2, b""))
        self.strings = [s.decode() for s in d[5]]
        self.attributes = []
        for raw in d[6]:
            m = fields(raw)
            self.attributes.append((self.strings[one(m, 1)], any_value(one(m, 2, b""))))
        links = [fields(raw) for raw in d[4]]
        self.links = [(one(m, 1, b"").hex() or "-", one(m, 2, b"").hex() or "-") for m in links] or [("-", "-")]
        functions = [self.strings[one(fields(raw), 1)] for raw in d[3]]
        mappings = [self.strings[one(fields(raw), 4)] for raw in d[1]]
        locations = []
        for raw in d[2]:
            m = fields(raw)
            names = [functions[one(fields(line), 1)] for line in m[3]]
            mapping = mappings[one(m, 1)]
            locations.append((names or ["?%s+0x%x" % (mapping, one(m, 2))], mapping))
        self.stacks = []
        for raw in d[7]:
            frames, where = [], []
            for i in numbers(fields(raw)[1]):
                names, mapping = locations[i]
                frames += names
                where.append(mapping)
            self.stacks.append((frames, where))
        self.profiles = []
        for raw in data[1]:
            rp = fields(raw)
            resource = {}
            for kv in fields(one(rp, 1, b""))[1]:
                m = fields(kv)
                resource[one(m, 1, b"").decode()] = any_value(one(m, 2, b""))
            for scope in rp[2]:
                self.profiles += [Profile(self, p, resource) for p in fields(scope)[2]]


def is_zero(raw):
    """All fields of the message have their default."""
    return all(v in (0, b"", bytes(8)) for values in fields(raw).values() for v in values)


class Conformity:
    """One file against the rules of the format, from its raw fields."""

    def __init__(self, path):
        data = fields(load(path))
        self.problems = []
        self.samples = 0
        self.tables = fields(one(data, 2, b""))
        names = ("", "mapping", "location", "function", "link", "string", "attribute", "stack")
        for number, name in enumerate(names[1:], 1):
            first = self.tables[number][:1]
            if not first or first[0] != b"" and (number in (5, 7) or not is_zero(first[0])):
                self.problems.append("the first %s is not the zero value" % name)
        strings = self.tables[5]
        if any(s.decode(errors="replace").encode() != s for s in strings):
            self.problems.append("a string is not UTF-8")
        if len(set(strings)) != len(strings):
            self.problems.append("a string is there twice")
        self.references()
        profiles = [p for r in data[1] for s in fields(r)[2] for p in fields(s)[2]]
        if not profiles:
            self.problems.append("no profile")
        for raw in profiles:
            self.profile(fields(raw))

    def inside(self, table, indices, what):
        for i in indices:
            if not 0 <= i < len(self.tables[table]):
                self.problems.append("%s %d is out of range" % (what, i))

    def references(self):
        # Message's table, its field, the table that it points into.
        for table, field, to in ((1, 4, 5), (1, 5, 6), (2, 1, 1), (2, 4, 6), (3, 1, 5), (3, 2, 5), (3, 3, 5), (6, 1, 5),
                                 (6, 3, 5), (7, 1, 2)):
            for raw in self.tables[table]:
                self.inside(to, numbers(fields(raw)[field]), "table %d, field %d:" % (table, field))
        for raw in self.tables[2]:
            for line in fields(raw)[3]:
                self.inside(3, numbers(fields(line)[1]), "function of a line")

    def kind(self, raw, what):
        m = fields(raw)
        for number in (1, 2):
            self.inside(5, [one(m, number)], what)
            if one(m, number) == 0:
                self.problems.append("%s is not set" % what)

    def profile(self, m):
        self.kind(one(m, 1, b""), "sample_type")
        self.kind(one(m, 5, b""), "period_type")
        begin = struct.unpack("<Q", one(m, 3, bytes(8)))[0]
        end = begin + one(m, 4)
        for is_good, what in ((one(m, 6) > 0, "period"), (begin > 0, "time"), (end > begin, "duration"),
                              (len(one(m, 7, b"")) == 16, "profile_id"), (m[2], "samples")):
            if not is_good:
                self.problems.append("no " + what)
        self.inside(6, numbers(m[11]), "attribute of a profile")
        for raw in m[2]:
            self.sample(fields(raw), begin, end)

    def sample(self, s, begin, end):
        self.samples += 1
        self.inside(7, [one(s, 1)], "stack")
        self.inside(6, numbers(s[2]), "attribute of a sample")
        self.inside(4, [one(s, 3)], "link")
        values = numbers(s[4])
        times = [t for raw in s[5] for (t,) in struct.iter_unpack("<Q", raw)]
        if len(values) not in ((0, len(times)) if times else (1,)):
            self.problems.append("%d values and %d times" % (len(values), len(times)))
        if any(not begin <= t < end for t in times):
            self.problems.append("a time that is not within the profile's")


def conform(paths):
    looked_at = 0
    for path in paths:
        c = Conformity(path)
        looked_at += c.samples
        for problem in sorted(set(c.problems)):
            print("%s: %s" % (path, problem))
    print(looked_at, "samples")


def wanted(files, kind):
    """The profiles of a type that count: of in-use ones the last of each process."""
    found = sorted((p for f in files for p in f.profiles if p.type == kind), key=lambda p: p.time)
    if kind.startswith("inuse"):
        last = {(p.resource.get("process.pid"), p.resource.get("service.instance.id")): p for p in found}
        found = list(last.values())
    return found


def ranked(files, kind, key):
    sums = collections.Counter()
    for p in wanted(files, kind):
        for value, frames, *_ in p.samples:
            for name in key(frames):
                sums[name] += value
    for name, value in sums.most_common():
        print(value, name)


def grouped(files, kind, key):
    sums = collections.Counter()
    for p in wanted(files, kind):
        for sample in p.samples:
            sums[key(sample)] += sample[0]
    for name, value in sums.most_common():
        print(value, name)


def burner(frames):
    return ([f for f in frames if f.startswith("burn_")] or frames[:1])[-1]


def heap_table(files, prefix):
    table = {}
    for column, kind in enumerate(("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")):
        for p in wanted(files, kind):
            for value, frames, *_ in p.samples:
                for name in set(frames):
                    if name.startswith(prefix):
                        table.setdefault(name, [0, 0, 0, 0])[column] += value
    for name in sorted(table):
        print(name, *table[name])


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    verb, rest = sys.argv[1], sys.argv[2:]
    if verb == "conform":
        conform(rest)
        return
    words = {"totals": 0, "mappings": 0, "profiles": 0, "site": 2, "by": 2, "apart": 2, "span-sites": 2, "note-of": 2}.get(verb, 1)
    args, files = rest[:words], [File(p) for p in rest[words:]]
    profiles = [p for f in files for p in f.profiles]
    if verb == "totals":
        for kind in dict.fromkeys(p.type for p in profiles):
            print(kind, sum(p.total() for p in wanted(files, kind)))
    elif verb == "flat":
        ranked(files, args[0], lambda frames: frames[:1])
    elif verb == "cum":
        ranked(files, args[0], set)
    elif verb == "heap":
        heap_table(files, args[0])
    elif verb == "stacks":
        ranked(files, args[0], lambda frames: [" < ".join(frames)])
    elif verb == "site":
        print(sum(s[0] for p in wanted(files, args[0]) for s in p.samples if args[1] in s[1]))
    elif verb == "attr":
        print(profiles[0].resource.get(args[0], ""))
    elif verb in ("note", "note-of"):
        values = [p.notes[args[-1]] for p in profiles if args[-1] in p.notes and (verb == "note" or p.type == args[0])]
        is_number = bool(values) and all(isinstance(v, int) for v in values)
        print(sum(values) if is_number else " ".join(map(str, values)))
    elif verb == "period":
        print(wanted(files, args[0])[0].period)
    elif verb == "sample-attr":
        for value in sorted({str(s[2][args[0]]) for p in profiles for s in p.samples if args[0] in s[2]}):
            print(value)
    elif verb == "links":
        grouped(files, args[0], lambda s: "%s %s" % s[4])
    elif verb == "joined":
        grouped(files, args[0], lambda s: "%s %s" % (burner(s[1]), s[4][1][:2]))
    elif verb == "span-sites":
        sums = collections.Counter()
        for p in wanted(files, args[0]):
            for s in p.samples:
                if args[1] in s[1] and s[4][1] != "-":
                    sums[s[4][1]] += s[0]
        for span, value in sums.items():
            print(span, value)
    elif verb == "by":
        grouped(files, args[1], lambda s: s[2].get(args[0], "-"))
    elif verb == "apart":
        for s in (s for p in wanted(files, args[1]) for s in p.samples):
            if (s[4][1] != "-") != (args[0] in s[2]):
                print(s[0], s[4][1], s[2].get(args[0], "-"))
    elif verb == "dropped":
        print(sum(p.dropped for p in profiles if p.type == args[0]))
    elif verb == "id":
        print("\n".join(p.id for p in profiles if p.type == args[0]))
    elif verb == "mappings":
        for name in sorted({m for p in profiles for s in p.samples for m in s[3]}):
            print(name)
    elif verb == "profiles":
        for p in profiles:
            print(p.type, len(p.samples), p.duration)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
