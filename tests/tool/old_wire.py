#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""old_wire.py VERSION OUT: one profile in the layout of opentelemetry-proto 1.4, 1.5, 1.6 or 1.7.

Two sample types; three stacks, one of them with an inlined call, one in no mapping; attributes with a unit, a link, times.
"""
import struct
import sys

VERSION = sys.argv[1]


def varint(v):
    v &= 0xFFFFFFFFFFFFFFFF
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def num(field, v):
    return varint(field << 3) + varint(v)


def raw(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def text(field, s):
    return raw(field, s.encode())


def packed(field, items):
    return raw(field, b"".join(varint(i) for i in items))


STRINGS = ["", "samples", "count", "cpu", "nanoseconds", "/bin/prog", "leaf", "inner", "outer", "main", "prog.c", "a comment",
           "thread.id", "1"]
S = STRINGS.index


def value(s):
    return raw(2, text(1, s))


strings = [s.encode() for s in STRINGS]
attrs = [text(1, "process.executable.build_id.gnu") + value("00112233445566778899aabbccddeeff00112233"),
         text(1, "thread.name") + value("first"),
         text(1, "thread.id") + raw(2, num(3, 77)),
         text(1, "note") + value("of the profile")]
units = [num(1, S("thread.id")) + num(2, S("1"))]
links = [raw(1, bytes(range(16))) + raw(2, bytes(range(1, 9)))]
mappings = [num(1, 0x1000) + num(2, 0x9000) + num(3, 0x1000) + num(4, S("/bin/prog")) + packed(5, [0]) + num(6, 1)]
functions = [num(1, S("leaf")) + num(2, S("leaf")) + num(3, S("prog.c")) + num(4, 10),
             num(1, S("inner")) + num(3, S("prog.c")), num(1, S("outer")) + num(3, S("prog.c")), num(1, S("main"))]
# The first entries of mappings, functions, locations, attributes and links are in use: 0 is not "none" here.
locations = [num(1, 0) + num(2, 0x1100) + raw(3, num(1, 0) + num(2, 12)),
             num(1, 0) + num(2, 0x1200) + raw(3, num(1, 1) + num(2, 21)) + raw(3, num(1, 2) + num(2, 33) + num(3, 4)),
             num(1, 0) + num(2, 0x1300) + raw(3, num(1, 3)),
             num(2, 0x77)]
indices = [0, 1, 2, 1, 2, 3]
TIME = 1700000000000000000
samples = [num(1, 0) + num(2, 3) + packed(3, [3, 30000000]) + packed(4, [1, 2]) + num(5, 0),
           num(1, 3) + num(2, 2) + packed(3, [2, 20000000]) + packed(6, [TIME + 5, TIME + 6]),
           num(1, 5) + num(2, 1) + packed(3, [1, 10000000])]
types = [num(1, S("samples")) + num(2, S("count")) + num(3, 1), num(1, S("cpu")) + num(2, S("nanoseconds")) + num(3, 1)]
period_type = num(1, S("cpu")) + num(2, S("nanoseconds"))
ID = bytes(range(100, 116))


def many(field, entries):
    return b"".join(raw(field, e) for e in entries)


def own():
    p = many(1, types) + many(2, samples) + many(3, mappings) + many(4, locations) + packed(5, indices)
    p += many(6, functions) + many(7, attrs) + many(8, units) + many(9, links) + many(10, strings)
    p += num(11, TIME) + num(12, 1000000000) + raw(13, period_type) + num(14, 10000000) + packed(15, [S("a comment")])
    p += num(16, S("cpu")) + raw(17, ID) + num(19, 2)
    return p + (raw(18, attrs[3]) if VERSION == "1.4" else packed(22, [3])), b""


# A field that may be there once is there so often that to look all others up for each takes hours; the last one counts.
DEFAULTS = num(9, 5) * 500000 if "many" in sys.argv[3:] else b""


def shared(first):
    p = many(1, types) + many(2, samples) + packed(3, indices) + num(4, TIME) + num(5, 1000000000) + raw(6, period_type)
    p += num(7, 10000000) + packed(8, [S("a comment")]) + DEFAULTS + num(9, 1) + raw(10, ID) + num(11, 2) + packed(14, [3])
    tables = [mappings, locations, functions, links, strings, attrs, units]
    return p, b"".join(many(first + i, t) for i, t in enumerate(tables))


profile, tables = own() if VERSION in ("1.4", "1.5") else shared(2 if VERSION == "1.6" else 1)
resource = raw(1, raw(1, text(1, "service.name") + value("old")))
message = raw(1, resource + raw(2, raw(1, text(1, "writer")) + raw(2, profile)))
message += raw(2, tables) if VERSION == "1.7" else tables
framed = "framed" in sys.argv[3:]
with open(sys.argv[2], "wb") as f:
    f.write(struct.pack(">I", len(message)) + message if framed else message)
