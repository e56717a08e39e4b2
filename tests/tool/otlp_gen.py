#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes OTLP profiles for tests: its own writer of the protobuf encoding, so that the tool's reader
is tested against something else than the library's encoder.

    otlp_gen.py good OUT [key=value ...]   a conforming file; keys: stacks depth seed pid time scale wire
    otlp_gen.py broken DIR                 one file per rule, each breaking just that rule; names on stdout
"""
import copy
import random
import struct
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


def fixed(field, n):
    return varint(field << 3 | 1) + struct.pack("<Q", n) if n else b""


def raw(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def text(field, data):
    return raw(field, data) if data else b""


def packed(field, numbers):
    return raw(field, b"".join(varint(n) for n in numbers)) if numbers else b""


def value(v):
    if v is None:
        return b""
    if isinstance(v, bool):
        return varint(2 << 3) + varint(v)
    if isinstance(v, int):
        return varint(3 << 3) + varint(v)
    if isinstance(v, float):
        return varint(4 << 3 | 1) + struct.pack("<d", v)
    if isinstance(v, bytes):
        return raw(7, v)
    if isinstance(v, list):
        return raw(5, b"".join(raw(1, value(x)) for x in v))
    if isinstance(v, dict):
        return raw(6, b"".join(raw(1, key_value(k, x)) for k, x in v.items()))
    return raw(1, v)


def key_value(k, v):
    return raw(1, k) + raw(2, value(v))


def types(t):
    return num(1, t[0]) + num(2, t[1])


def sample(s, wire):
    attrs, link, values = (2, 3, 4) if wire == "1.10" else (3, 4, 2)
    parts = {
        1: num(1, s["stack"]),
        attrs: packed(attrs, s.get("attrs", [])),
        link: num(link, s.get("link", 0)),
        values: packed(values, s.get("values", [])),
        5: raw(5, struct.pack("<%dQ" % len(s["times"]), *s["times"])) if s.get("times") else b"",
    }
    return b"".join(parts[k] for k in sorted(parts)) + s.get("extra", b"")


def profile(p, wire):
    shift = 1 if wire == "1.8" else 0
    return (
        raw(1, types(p["type"]))
        + b"".join(raw(2, sample(s, wire)) for s in p["samples"])
        + fixed(3, p["time"])
        + num(4, p["duration"])
        + (raw(5, types(p["period_type"])) if p.get("period_type") else b"")
        + num(6, p.get("period", 0))
        + text(7 + shift, p.get("id", b""))
        + num(8 + shift, p.get("dropped", 0))
        + text(9 + shift, p.get("format", ""))
        + text(10 + shift, p.get("payload", b""))
        + packed(11 + shift, p.get("attrs", []))
        + p.get("extra", b"")
    )


def mapping(m):
    return num(1, m[0]) + num(2, m[1]) + num(3, m[2]) + num(4, m[3]) + packed(5, m[4])


def location(loc):
    lines = b"".join(raw(3, num(1, f) + num(2, n) + num(3, c)) for f, n, c in loc[2])
    return num(1, loc[0]) + num(2, loc[1]) + lines + packed(4, loc[3])


def function(f):
    return num(1, f[0]) + num(2, f[1]) + num(3, f[2]) + num(4, f[3])


def attribute(a):
    return num(1, a[0]) + (raw(2, value(a[1])) if a[1] is not None else b"") + num(3, a[2])


def encode(d, wire="1.10"):
    """d: resource (dict), scope (name, version), profiles, and the tables."""
    scope = raw(1, raw(1, d["scope"][0]) + raw(2, d["scope"][1]))
    scopes = scope + b"".join(raw(2, profile(p, wire)) for p in d["profiles"] or [])
    resource = raw(1, b"".join(raw(1, key_value(k, v)) for k, v in d["resource"].items()))
    tables = (
        b"".join(raw(1, mapping(m)) for m in d["mappings"])
        + b"".join(raw(2, location(x)) for x in d["locations"])
        + b"".join(raw(3, function(f)) for f in d["functions"])
        + b"".join(raw(4, text(1, t) + text(2, s)) for t, s in d["links"])
        + b"".join(raw(5, s) for s in d["strings"])
        + b"".join(raw(6, attribute(a)) for a in d["attributes"])
        + b"".join(raw(7, packed(1, s)) for s in d["stacks"])
    )
    out = raw(1, resource + raw(2, scopes)) if d["profiles"] is not None else b""
    return out + (raw(2, tables) if d.get("has_dictionary", True) else b"") + d.get("extra", b"")


TYPES = [
    ("samples", "count", "cpu", "nanoseconds"),
    ("cpu", "nanoseconds", "cpu", "nanoseconds"),
    ("alloc_objects", "count", "space", "bytes"),
    ("alloc_space", "bytes", "space", "bytes"),
    ("inuse_objects", "count", "space", "bytes"),
    ("inuse_space", "bytes", "space", "bytes"),
]
START = 1790000000 * 10**9


def good(stacks=40, depth=12, seed=1, pid=4711, time=0, scale=1, wire="1.10"):
    rnd = random.Random(seed)
    strings = [""]
    index = {"": 0}

    def s(x):
        if x not in index:
            index[x] = len(strings)
            strings.append(x)
        return index[x]

    attributes = [(0, None, 0)]
    attr_index = {}

    def a(k, v, unit=""):
        key = (k, v, unit)
        if key not in attr_index:
            attr_index[key] = len(attributes)
            attributes.append((s(k), v, s(unit)))
        return attr_index[key]

    build_ids = "process.executable.build_id."
    mappings = [(0, 0, 0, 0, [])]
    for n, f in enumerate(("/usr/bin/demo", "/usr/lib/libdemo.so.1", "/usr/lib/libc.so.6")):
        ids = [a(build_ids + "gnu", "%040x" % (n + 77)), a(build_ids + "htlhash", "%032x" % (n + 5))]
        mappings.append((0x1000, 0x900000, 0x1000, s(f), ids))
    native = a("profile.frame.type", "native")
    names = ["main", "run_loop", "handle_request", "parse", "operator new(unsigned long)", "memcpy"]
    functions = [(0, 0, 0, 0)]
    locations = [(0, 0, [], [])]
    for i in range(max(12, stacks // 2)):
        name = names[i] if i < len(names) else "std::vector<worker_%d>::step(int)" % i
        functions.append((s(name), s("_Z" + name.split("(")[0]), s("src/file_%d.cc" % (i % 9)), i))
        lines = [(len(functions) - 1, 10 + i, 3)]
        if i % 5 == 4:
            lines.insert(0, (i, 7, 0))
        if i % 7 == 6:
            lines = []
        locations.append((1 + i % 3, 0x1000 + 16 * i, lines, [native]))
    # Nothing may be left over: names of functions that were taken away again, functions of no line.
    used = {f for loc in locations for f, _, _ in loc[2]}
    keep = [0] + sorted(used)
    renumber = {old: new for new, old in enumerate(keep)}
    functions = [functions[old] for old in keep]
    locations = [(m, ad, [(renumber[f], n, c) for f, n, c in ls], at) for m, ad, ls, at in locations]

    stack_table = [[]]
    seen = {()}
    usable = list(range(1, len(locations)))
    possible = 1 + sum(len(usable) ** n for n in range(depth))  # the first has all locations, the others are drawn
    if stacks > possible:
        sys.exit("otlp_gen.py: there are %d different stacks with depth=%d, not %d" % (possible, depth, stacks))

    while len(stack_table) <= stacks:
        n = 1 + rnd.randrange(depth)
        st = tuple(rnd.choice(usable) for _ in range(n - 1)) + (1,)
        if len(stack_table) == 1:
            st = tuple(usable)  # so that each location is used
        if st not in seen:
            seen.add(st)
            stack_table.append(list(st))
    threads = [a("thread.name", "worker-%d" % n) for n in range(3)]
    link = (bytes(range(1, 17)), bytes(range(1, 9)))
    profiles = []
    begin = START + time * 10**9
    for k, (t, u, pt, pu) in enumerate(TYPES):
        samples = []
        for i in range(1, len(stack_table)):
            v = scale * (1 + (i * 7919 + k * 104729) % 1000) * (1 if u == "count" else 4096)
            samples.append({"stack": i, "attrs": [threads[i % 3]], "values": [v], "link": 1 if k == 0 and i == 1 else 0})
        profiles.append(
            {
                "type": (s(t), s(u)),
                "period_type": (s(pt), s(pu)),
                "period": 10**7 if k < 2 else 524288,
                "time": begin,
                "duration": 10**10,
                "id": bytes([pid % 255 + 1, k + 1, time % 256, seed % 256]) * 4,
                "samples": samples,
            }
        )
    if scale % 2:
        profiles[0]["attrs"] = [a("otelprof.dropped.ring_full", 12)]
    used_strings = {0}
    for m in mappings:
        used_strings.add(m[3])
    for f in functions:
        used_strings.update(f[:3])
    for k, _, u in attributes:
        used_strings.update((k, u))
    for p in profiles:
        used_strings.update(p["type"] + p["period_type"])
    order = sorted(used_strings)
    new = {o: n for n, o in enumerate(order)}
    return {
        "resource": {
            "service.name": "demo",
            "service.instance.id": "00000000-0000-4000-8000-%012x" % pid,
            "process.pid": pid,
            "process.executable.name": "demo",
            "host.name": "testhost",
        },
        "scope": ("otelprof", "0.1.0"),
        "profiles": [
            dict(p, type=tuple(new[x] for x in p["type"]), period_type=tuple(new[x] for x in p["period_type"]))
            for p in profiles
        ],
        "mappings": [m[:3] + (new[m[3]],) + m[4:] for m in mappings],
        "locations": locations,
        "functions": [tuple(new[x] for x in f[:3]) + f[3:] for f in functions],
        "links": [(b"", b""), link],
        "strings": [strings[o] for o in order],
        "attributes": [(new[k], v, new[u]) for k, v, u in attributes],
        "stacks": stack_table,
    }


# What is broken, how, and by which kind of check it is seen: base, shapes, dupes, orphans, strict.
BREAKS = []


def breaks(kind):
    def add(f):
        BREAKS.append((kind, f.__name__, f))
        return f

    return add


@breaks("base")
def no_profiles(d):
    d["profiles"] = []


@breaks("base")
def no_resource(d):
    d["profiles"] = None


@breaks("base")
def sample_stack_out_of_range(d):
    d["profiles"][1]["samples"][3]["stack"] = 999999


@breaks("base")
def sample_link_out_of_range(d):
    d["profiles"][1]["samples"][3]["link"] = 7


@breaks("base")
def sample_link_negative(d):
    d["profiles"][0]["samples"][3]["link"] = -1


@breaks("base")
def sample_attribute_out_of_range(d):
    d["profiles"][2]["samples"][0]["attrs"] = [99999]


@breaks("base")
def sample_attribute_key_twice(d):
    a = d["profiles"][0]["samples"][1]["attrs"][0]
    b = d["profiles"][0]["samples"][0]["attrs"][0]
    d["profiles"][0]["samples"][0]["attrs"] = [a, b]


@breaks("base")
def profile_attribute_out_of_range(d):
    d["profiles"][3]["attrs"] = [-3]


@breaks("base")
def sample_type_out_of_range(d):
    d["profiles"][3]["type"] = (1, 99999)


@breaks("base")
def period_type_out_of_range(d):
    d["profiles"][3]["period_type"] = (99999, 1)


@breaks("base")
def timestamp_at_end(d):
    p = d["profiles"][0]
    for x in p["samples"]:
        x["values"] = []
        x["times"] = [p["time"]]
    p["samples"][2]["times"] = [p["time"] + p["duration"]]


@breaks("base")
def timestamp_before_start(d):
    p = d["profiles"][0]
    for x in p["samples"]:
        x["values"] = []
        x["times"] = [p["time"], p["time"] + 5]
    p["samples"][2]["times"] = [p["time"] - 1]


def zero_break(table, entry):
    def f(d):
        d[table][0] = entry

    f.__name__ = "zero_of_" + table
    return f


for table, entry in (
    ("mappings", (1, 2, 0, 0, [])),
    ("locations", (0, 1, [], [])),
    ("functions", (0, 0, 0, 1)),
    ("links", (bytes(16), bytes(8))),
    ("attributes", (1, None, 0)),
    ("stacks", [1]),
):
    breaks("base")(zero_break(table, entry))


@breaks("base")
def zero_of_attribute_has_value(d):
    d["attributes"][0] = (0, "x", 0)


@breaks("base")
def zero_of_strings(d):
    d["strings"][0] = "not empty"


@breaks("base")
def empty_function_table(d):
    for loc in range(len(d["locations"])):
        d["locations"][loc] = d["locations"][loc][:2] + ([],) + d["locations"][loc][3:]
    d["functions"] = []


@breaks("base")
def mapping_filename_out_of_range(d):
    d["mappings"][2] = d["mappings"][2][:3] + (99999,) + d["mappings"][2][4:]


@breaks("base")
def mapping_start_behind_limit(d):
    d["mappings"][2] = (0x900000, 0x1000) + d["mappings"][2][2:]


@breaks("base")
def mapping_start_is_limit(d):
    d["mappings"][2] = (0x1000, 0x1000) + d["mappings"][2][2:]


@breaks("base")
def mapping_attribute_out_of_range(d):
    d["mappings"][1] = d["mappings"][1][:4] + ([1, 2, 4444],)


@breaks("base")
def location_mapping_out_of_range(d):
    d["locations"][4] = (9,) + d["locations"][4][1:]


@breaks("base")
def location_attribute_key_twice(d):
    d["locations"][4] = d["locations"][4][:3] + (d["locations"][4][3] * 2,)


@breaks("base")
def line_function_out_of_range(d):
    d["locations"][4] = d["locations"][4][:2] + ([(4444, 1, 1)],) + d["locations"][4][3:]


@breaks("base")
def line_negative(d):
    f = d["locations"][4][2][0][0]
    d["locations"][4] = d["locations"][4][:2] + ([(f, -1, 1)],) + d["locations"][4][3:]


@breaks("base")
def column_negative(d):
    f = d["locations"][4][2][0][0]
    d["locations"][4] = d["locations"][4][:2] + ([(f, 1, -1)],) + d["locations"][4][3:]


@breaks("base")
def function_name_out_of_range(d):
    d["functions"][4] = (99999,) + d["functions"][4][1:]


@breaks("base")
def function_system_name_out_of_range(d):
    d["functions"][4] = (d["functions"][4][0], 99999) + d["functions"][4][2:]


@breaks("base")
def function_file_out_of_range(d):
    d["functions"][4] = d["functions"][4][:2] + (99999, 1)


@breaks("base")
def function_start_line_negative(d):
    d["functions"][4] = d["functions"][4][:3] + (-4,)


@breaks("base")
def link_trace_id_short(d):
    d["links"][1] = (b"abc", d["links"][1][1])


@breaks("base")
def link_span_id_long(d):
    d["links"][1] = (d["links"][1][0], bytes(9))


@breaks("base")
def attribute_key_out_of_range(d):
    d["attributes"][1] = (99999,) + d["attributes"][1][1:]


@breaks("base")
def attribute_unit_out_of_range(d):
    d["attributes"][1] = d["attributes"][1][:2] + (99999,)


@breaks("base")
def stack_location_out_of_range(d):
    d["stacks"][1] = d["stacks"][1] + [99999]


@breaks("base")
def string_not_utf8(d):
    d["strings"][5] = b"\xff\xfe"


@breaks("shapes")
def sample_without_anything(d):
    d["profiles"][0]["samples"][0]["values"] = []


@breaks("shapes")
def sample_two_values(d):
    d["profiles"][0]["samples"][0]["values"] = [1, 2]


@breaks("shapes")
def sample_values_and_times_differ(d):
    p = d["profiles"][0]
    for x in p["samples"]:
        x["times"] = [p["time"]]
    p["samples"][0]["times"] = [p["time"], p["time"]]


@breaks("shapes")
def sample_shapes_mixed(d):
    p = d["profiles"][0]
    p["samples"][1].update(values=[], times=[p["time"]])


@breaks("dupes")
def string_twice(d):
    d["strings"].append(d["strings"][3])
    m = d["mappings"][1]
    d["attributes"].append((len(d["strings"]) - 1, 1, 0))
    d["mappings"][1] = m[:4] + (m[4] + [len(d["attributes"]) - 1],)


@breaks("dupes")
def mapping_twice(d):
    d["mappings"].append(d["mappings"][1])
    d["locations"][4] = (len(d["mappings"]) - 1,) + d["locations"][4][1:]


@breaks("orphans")
def string_unused(d):
    d["strings"].append("nobody needs me")


@breaks("orphans")
def attribute_unused(d):
    d["attributes"].append((1, "nobody", 0))


@breaks("orphans")
def mapping_unused(d):
    d["mappings"].append((1, 2, 3, 0, [1, 2]))


@breaks("orphans")
def function_unused(d):
    d["functions"].append((1, 2, 3, 4444))


@breaks("orphans")
def location_unused(d):
    d["locations"].append((1, 0x4444, [], []))


@breaks("orphans")
def stack_unused(d):
    d["stacks"].append([1, 2, 3, 4, 5, 4, 3, 2, 1])


@breaks("orphans")
def link_unused(d):
    d["links"].append((bytes(range(2, 18)), bytes(range(2, 10))))


@breaks("strict")
def location_twice(d):
    d["locations"].append(d["locations"][3])
    d["stacks"][2].insert(0, len(d["locations"]) - 1)


@breaks("strict")
def function_twice(d):
    d["functions"].append(d["functions"][3])
    loc = d["locations"][3]
    d["locations"][3] = loc[:2] + (loc[2] + [(len(d["functions"]) - 1, 1, 1)],) + loc[3:]


@breaks("strict")
def link_twice(d):
    d["links"].append(d["links"][1])
    d["profiles"][0]["samples"][4]["link"] = 2


@breaks("strict")
def attribute_twice(d):
    a = d["profiles"][0]["samples"][0]["attrs"][0]
    d["attributes"].append(d["attributes"][a])
    d["profiles"][0]["samples"][0]["attrs"] = [len(d["attributes"]) - 1]


@breaks("strict")
def stack_twice(d):
    d["stacks"].append(d["stacks"][3])
    d["profiles"][0]["samples"].append({"stack": len(d["stacks"]) - 1, "values": [1]})


@breaks("strict")
def sample_identity_twice(d):
    d["profiles"][2]["samples"].append(dict(d["profiles"][2]["samples"][5]))


@breaks("strict")
def sample_identity_twice_in_other_order(d):
    k = len(d["attributes"])
    d["attributes"].append((d["attributes"][1][0], "another", 0))
    s = d["profiles"][2]["samples"]
    s[5]["attrs"] = [s[5]["attrs"][0], k]
    s.append(dict(s[5], attrs=s[5]["attrs"][::-1]))


@breaks("strict")
def address_outside_mapping(d):
    d["locations"][4] = (d["locations"][4][0], 0x900000) + d["locations"][4][2:]


@breaks("strict")
def mapping_without_build_id(d):
    k = len(d["attributes"])
    d["attributes"].append((d["attributes"][1][0] + 0, "x", 0))
    d["attributes"].pop()
    d["locations"][4] = (len(d["mappings"]),) + d["locations"][4][1:]
    d["mappings"].append((0x1000, 0x8000, 0, d["mappings"][1][3], []))
    del k


@breaks("strict")
def function_without_names(d):
    d["functions"].append((0, 0, 0, 5))
    loc = d["locations"][3]
    d["locations"][3] = loc[:2] + (loc[2] + [(len(d["functions"]) - 1, 1, 1)],) + loc[3:]


@breaks("strict")
def payload_without_format(d):
    d["profiles"][1]["payload"] = b"abc"


@breaks("strict")
def payload_format_alone(d):
    d["profiles"][1]["format"] = "pprof"


@breaks("strict")
def profile_id_short(d):
    d["profiles"][1]["id"] = b"abc"


@breaks("strict")
def profile_id_zero(d):
    d["profiles"][1]["id"] = bytes(16)


@breaks("strict")
def time_ranges_differ(d):
    d["profiles"][1]["duration"] += 1


def negative_value(k):
    def f(d):
        d["profiles"][k]["samples"][3]["values"] = [-5]

    f.__name__ = "negative_" + TYPES[k][0]
    return f


for k in range(len(TYPES)):
    breaks("strict")(negative_value(k))


@breaks("strict")
def period_zero(d):
    for p in d["profiles"][:2]:
        p["period"] = 0


@breaks("strict")
def period_negative(d):
    d["profiles"][4]["period"] = -524288


@breaks("strict")
def achieved_period_negative(d):
    d["strings"].append("otelprof.cpu.achieved_period")
    d["attributes"].append((len(d["strings"]) - 1, -1, 0))
    d["profiles"][1]["attrs"] = [len(d["attributes"]) - 1]


@breaks("strict")
def period_of_twin(d):
    d["profiles"][0]["period"] = 10**7 + 1


@breaks("strict")
def unknown_field_on_top(d):
    d["extra"] = num(9, 1)


@breaks("strict")
def unknown_field_in_sample(d):
    d["profiles"][1]["samples"][3]["extra"] = raw(14, b"who")


@breaks("strict")
def unknown_field_in_profile(d):
    d["profiles"][1]["extra"] = num(20, 4)


def main():
    if len(sys.argv) >= 3 and sys.argv[1] == "good":
        args = dict(a.split("=") for a in sys.argv[3:])
        wire = args.get("wire", "1.10")
        d = good(**{k: v if k == "wire" else int(v) for k, v in args.items()})
        with open(sys.argv[2], "wb") as f:
            f.write(encode(d, wire))
    elif len(sys.argv) == 3 and sys.argv[1] == "broken":
        base = good()
        for kind, name, f in BREAKS:
            d = copy.deepcopy(base)
            f(d)
            with open("%s/%s.%s.otlp" % (sys.argv[2], kind, name), "wb") as out:
                out.write(encode(d))
            print(kind, name)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
