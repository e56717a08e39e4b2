# SPDX-License-Identifier: Apache-2.0
"""Reads OTLP profiles off the wire: just what the accuracy suite compares, and nothing of the project's code."""
import gzip
import struct


def varint(data, at):
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7


def fields(data):
    """(number, raw value) of each field of a message."""
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a field runs past the end of its message")
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        else:
            raise ValueError("wire type %d" % kind)
        yield tag >> 3, value


def packed(raw):
    """Signed numbers of a packed field, or of a single one."""
    if isinstance(raw, int):
        raw = [raw]
    else:
        values, at = [], 0
        while at < len(raw):
            value, at = varint(raw, at)
            values.append(value)
        raw = values
    return [v - (1 << 64) if v >> 63 else v for v in raw]


def any_value(raw):
    for number, value in fields(raw):
        if number == 1:
            return value.decode()
        if number == 3:
            return packed(value)[0]
    return None


def single(data, wanted, default):
    for number, value in fields(data):
        if number == wanted:
            default = value
    return default


class Sample:
    """value: what it adds to its type; frames: function names, innermost first; attrs: name to value."""

    def __init__(self, data, tables):
        self.values, self.times, stack, attrs = [], [], 0, []
        for number, raw in fields(data):
            if number == 1:
                stack = raw
            elif number == 2:
                attrs += packed(raw)
            elif number == 4:
                self.values += packed(raw)
            elif number == 5:
                self.times += struct.unpack("<%dQ" % (len(raw) // 8), raw)
        self.frames = tables.stacks[stack]
        self.attrs = dict(tables.attrs[i] for i in attrs)
        self.value = sum(self.values) if self.values else len(self.times)


class Profile:
    def __init__(self, data, tables):
        self.samples, self.notes, self.time, self.duration, self.period = [], {}, 0, 0, 0
        self.type = ""
        for number, raw in fields(data):
            if number == 1:
                self.type = tables.strings[single(raw, 1, 0)]
            elif number == 2:
                self.samples.append(Sample(raw, tables))
            elif number == 3:
                self.time = raw
            elif number == 4:
                self.duration = raw
            elif number == 6:
                self.period = raw
            elif number == 11:
                self.notes.update(tables.attrs[i] for i in packed(raw))


class Tables:
    """The dictionary; functions of a location are its lines, inlined ones first."""

    def __init__(self, data):
        rows = {n: [] for n in range(1, 8)}
        for number, raw in fields(data):
            if number in rows:
                rows[number].append(raw)
        self.strings = [raw.decode() for raw in rows[5]]
        self.attrs = [(self.strings[single(raw, 1, 0)], any_value(single(raw, 2, b"")))
                      for raw in rows[6]]
        functions = [self.strings[single(raw, 1, 0)] for raw in rows[3]]
        objects = [self.strings[single(raw, 4, 0)].rsplit("/", 1)[-1] for raw in rows[1]]
        self.places = []
        for raw in rows[2]:
            names = [functions[single(v, 1, 0)] for n, v in fields(raw) if n == 3]
            where = objects[single(raw, 1, 0)]
            self.places.append(names or ["%s+0x%x" % (where, single(raw, 2, 0))])
        self.stacks = []
        for raw in rows[7]:
            places = [i for n, v in fields(raw) if n == 1 for i in packed(v)]
            self.stacks.append(tuple(name for i in places for name in self.places[i]))


def load(path):
    """All profiles of one file, by type name."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    tables = Tables(single(data, 2, b""))
    profiles = [Profile(p, tables) for n, r in fields(data) if n == 1
                for m, scope in fields(r) if m == 2 for k, p in fields(scope) if k == 2]
    return {p.type: p for p in profiles}
