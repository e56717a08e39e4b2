# SPDX-License-Identifier: Apache-2.0
"""Single calls: allocator pairs, samples, live objects, unwinding; and the curves over threads, stacks, objects."""
import os
import shutil

from common import HOSTS, alternate, fresh, host, median, ours, output, peers, quick
from report import curve, ns, row, table

SIZES = (16, 64, 256, 1024, 4096)
ROUNDS = quick(2, 4)


def pairs(mode, size, threads, count):
    command = [host("pairs"), mode, str(size), str(threads), "20", str(count)]
    return lambda settings: float(output(command, settings).split()[-1])


def least(results):
    return {name: min(values) for name, values in results.items()}


def base():
    return {"bare": {}, "empty": {"LD_PRELOAD": host("empty.so")}, "ours": ours()}


def unsampled():
    have = peers()
    variants = dict(base(), **{k: v for k, v in have.items() if k.split(",")[0] in ("tcmalloc", "jemalloc")
                               or k.startswith("async")})
    variants.pop("jemalloc, prof every", None)
    lines, over = [], {}
    for mode in ("tight", "slots"):
        for size in SIZES:
            got = least(alternate(pairs(mode, size, 1, quick(100000, 200000)), variants, ROUNDS))
            lines.append(["%s %d B" % (mode, size)] + [ns(got[v]) for v in variants])
            over[mode, size] = (got["ours"] - got["empty"], got["ours"] - got["bare"], got)
    table("pairs", "Unsampled pairs, one thread, heap every 512 KiB and CPU at 100 Hz", "ns of CPU time per malloc and free, the "
          "least of %d runs of 9 rounds. tight: freed at once; slots: a random one of 4096 blocks is replaced." % ROUNDS,
          [""] + list(variants), lines)
    small = [v for (m, s), v in over.items() if m == "tight" and s < 1032]
    worst, worst_bare = max(v[0] for v in small), max(v[1] for v in small)
    other = [v[2].get("jemalloc, prof 512 KiB", 0) - v[2].get("jemalloc", 0) for v in small]
    row("pair", "unsampled pair, 16 B to 1 KiB, 1 thread, at 512 KiB", "≤ 1.5 ns over the empty interposer",
        "+%.1f ns at most (+%.1f over glibc)" % (worst, worst_bare),
        "jemalloc prof over itself +%.1f" % max(other) if "jemalloc" in have else "", worst <= 1.5)
    large = over["tight", 4096]
    per_sample = large[0] * 128
    row("pair4096", "the same, 4 KiB", "≤ 1.5 ns over the empty interposer", "+%.1f ns" % large[0],
        "; ".join("%s +%.0f" % (n, large[2][n] - large[2][b]) for n, b in (
            ("jemalloc, prof 512 KiB", "jemalloc"), ("tcmalloc, sampling 512 KiB", "tcmalloc")) if n in large[2]),
        large[0] <= 1.5, "each 128th is sampled: %.0f ns a sample; 1.5 ns a pair would be 190 ns a sample with its stack" % per_sample)


def two_threads():
    variants = base()
    lines, worst = [], 0
    for size in (64, 1024):
        for threads in (1, 2):
            got = least(alternate(pairs("tight", size, threads, quick(100000, 300000)), variants, ROUNDS + 1))
            lines.append(["%d B, %d threads" % (size, threads)] + [ns(got[v]) for v in variants])
            if threads == 1:
                one = got["ours"]
            else:
                worst = max(worst, got["ours"] / one - 1)
    table("threads2", "The same in two threads", "", [""] + list(variants), lines)
    row("threads2", "pair at 2 threads against 1", "≤ 10 % more", "%+.1f %%" % (worst * 100),
        "", worst <= 0.10)


def cross():
    variants = dict(base(), **{k: v for k, v in peers().items() if k in ("jemalloc", "jemalloc, prof 512 KiB")})
    got = least(alternate(pairs("cross", 64, 1, quick(100000, 300000)), variants, ROUNDS + 2))
    table("cross", "Allocated in one thread, freed in another", "64 B, sum of both halves.", list(variants),
          [[ns(got[v]) for v in variants]])
    added = got["ours"] - got["empty"]
    row("cross", "pair freed by another thread", "≤ 2.5 ns more", "+%.1f ns over the empty interposer" % added,
        "", added <= 2.5)


def every_one():
    have = peers()
    variants = {"bare": {}, "ours, every": ours(HEAP_INTERVAL=1)}
    variants.update({k: v for k, v in have.items() if k in ("heaptrack", "jemalloc, prof every")})
    both = least(alternate(pairs("tight", 64, 1, quick(20000, 50000)), variants, ROUNDS))
    frees = least(alternate(pairs("free", 64, 1, quick(20000, 50000)), {k: variants[k] for k in ("bare", "ours, every")}, ROUNDS))
    coarse = {"empty": {"LD_PRELOAD": host("empty.so")}, "ours": ours()}
    at_512 = least(alternate(pairs("tight", 4096, 1, quick(100000, 200000)), coarse, ROUNDS))
    a_sample = (at_512["ours"] - at_512["empty"]) * 128
    table("every", "Every allocation recorded, with its stack of 24 frames", "64 B, freed at once.", list(variants),
          [[ns(both[v]) for v in variants]])
    pair, free = both["ours, every"] - both["bare"], frees["ours, every"] - frees["bare"]
    row("sampled", "sampled allocation with its free, 20-frame unwind and recording", "≤ 2 µs, aim 1 µs",
        "%.2f µs at interval 1, %.2f µs at 512 KiB (4 KiB blocks)" % (pair / 1e3, a_sample / 1e3),
        "; ".join("%s %.2f" % (k, (both[k] - both["bare"]) / 1e3) for k in variants if k in have),
        max(pair, a_sample) <= 2000)
    row("free", "sampled free", "≤ 150 ns", "%.0f ns" % free, "", free <= 150)
    others = [both[k] for k in variants if k in have]
    row("every", "every allocation recorded (interval 1), a pair", "≤ 1.2 µs", "%.2f µs" % (both["ours, every"] / 1e3),
        "%.2f µs the best other" % (min(others) / 1e3) if others else "", both["ours, every"] <= 1200)


def parts():
    """Costs inside, with the core linked into the measuring program."""
    values = {}
    for _ in range(quick(1, 2)):
        for line in output([os.path.join(HOSTS, "parts")]).splitlines():
            name, value = line.split()
            values[name] = min(float(value), values.get(name, float("inf")))
    signal = min(float(output([host("signals")])) for _ in range(3))
    live = sorted((int(k.rsplit("_", 1)[1]), v) for k, v in values.items() if k.startswith("live_miss_"))
    curve("live", "live sampled objects", "ns a look-up of another address", {
        "not there": live, "taken out and put in": sorted((int(k.rsplit("_", 1)[1]), v) for k, v in values.items()
                                                         if k.startswith("live_remove_"))})
    stacks = sorted((int(k[7:]), v) for k, v in values.items() if k.startswith("ledger_"))
    curve("stacks", "distinct stacks of 30 frames", "ns to book one", {"account": stacks})
    flat = (live[-1][1] - live[0][1]) / 128
    row("live", "pair with 0 to 1,000,000 live sampled objects", "≤ 10 % more",
        "%+.2f ns a pair (1 free in 128 is looked up, %.0f to %.0f ns)" % (flat, live[0][1], max(v for _, v in live)),
        "", flat <= 1.2)
    depth = values["unwind_30"]
    whole = depth + signal + values["ledger_100"]
    row("tick", "CPU sample at depth 30, -O2 without frame pointers, warm", "≤ 5 µs",
        "%.2f µs: unwinding %.2f, the kernel's signal %.2f, the record less than %.2f" % (
            whole / 1e3, depth / 1e3, signal / 1e3, values["ledger_100"] / 1e3), "", whole <= 5000)
    table("unwind", "Unwinding", "ns, warm, -O2 without frame pointers.",
          ["frames"] + [k[7:] for k in values if k.startswith("unwind_") and "frame" not in k],
          [["whole"] + [ns(v) for k, v in values.items() if k.startswith("unwind_") and "frame" not in k],
           ["a frame"] + [ns(v) for k, v in values.items() if k.startswith("unwind_frame_")]])


def marks():
    """What a program pays that says what it is doing."""
    both = {}
    for name, settings in (("without", {}), ("ours", ours())):
        lines = [line.split() for _ in range(3) for line in output([host("marks")], settings).splitlines()]
        both[name] = {kind: min(float(v) for k, v in lines if k == kind) for kind in ("span", "label")}
    row("span", "span set and cleared, both", "≤ 5 ns", "%.1f ns (%.1f without the library); a label pushed and popped %.1f" % (
        both["ours"]["span"], both["without"]["span"], both["ours"]["label"]), "", both["ours"]["span"] <= 5)


def scale_threads():
    variants = base()
    lines = {name: [] for name in variants}
    for threads in (1, 2, 4, 8, 16, 32, 64):
        got = least(alternate(pairs("tight", 64, threads, quick(20000, 50000)), variants, 2))
        for name in variants:
            lines[name].append((threads, got[name]))
    curve("threads", "threads (2 processors)", "ns of CPU time a pair, 64 B", lines)


def scale_objects():
    folder = fresh("objects")
    files = []
    counts = quick((10, 100, 500), (10, 100, 1000, 2000))
    for i in range(counts[-1]):
        files.append(os.path.join(folder, "leaf%d.so" % i))
        shutil.copyfile(host("leaf.so"), files[-1])
    lines = {"bare": [], "every allocation recorded": []}
    for count in counts:
        for name, settings in (("bare", {}), ("every allocation recorded", ours(HEAP_INTERVAL=1))):
            lines[name].append((count, float(output([host("objects")] + files[:count], settings))))
    shutil.rmtree(folder)
    curve("objects", "objects loaded, an allocation in each in turn", "ns a pair", lines)
    first, last = lines["every allocation recorded"][0][1], lines["every allocation recorded"][-1][1]
    row("objects", "scale: objects loaded, 10 to %d" % counts[-1], "flat or logarithmic",
        "%.0f to %.0f ns a recorded pair" % (first, last), "", last <= 3 * first)


def run():
    unsampled()
    two_threads()
    parts()
    cross()
    every_one()
    marks()
    scale_threads()
    scale_objects()


__all__ = ["run", "median"]
