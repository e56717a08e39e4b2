# SPDX-License-Identifier: Apache-2.0
"""Heap: what a site allocated and what of it is live, against what the program knows of itself."""
import math

import table
from table import QUICK, Run, exact, head, holds, host, spread, tell

KINDS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
K, M = 1024, 1024 * 1024


def variance(interval, size, count):
    """Of objects and of bytes: each block is sampled with probability p and then counts 1 / p."""
    if interval <= 1:
        return 0.0, 0.0
    p = -math.expm1(-(size + 1) / interval)
    objects = count * (1 - p) / p
    return objects, objects * size * size


def rounding_variance(interval, size, count):
    """Of objects, where each block has an identity of its own: a sample is 1 / p, rounded up or down by chance."""
    p = -math.expm1(-(size + 1) / interval)
    up = 1 / p % 1
    return count * p * up * (1 - up)


def few_missed(interval, size, count):
    """Nearly every block is sampled: the few that are not have a distribution with a longer tail."""
    return interval > 1 and 1e-7 < count * math.exp(-(size + 1) / interval) < 10


class Blocks:
    """Blocks of one site: [(size, count, kept)], as sites.c makes them by an API."""

    def __init__(self, api, spec):
        numbers = [int(v) for v in spec.split(":")] + [0]
        size, count, kept = numbers[:3]
        self.made, self.live = [(size, count)], [(size, kept)]
        if api == "realloc":
            self.made = [(size // 2, count), (size, count), (size // 4, count)]
            self.live = [(size // 4, kept)]

    def sigma(self, interval, kind, is_each_apart=False):
        blocks = self.made if kind.startswith("alloc") else self.live
        at = 0 if kind.endswith("objects") else 1
        skew = sum(0.6 * (s if at else 1) for s, n in blocks if few_missed(interval, s, n))
        apart = sum(rounding_variance(interval, s, n) for s, n in blocks) \
            if is_each_apart and not at else 0
        return math.sqrt(sum(variance(interval, s, n)[at] for s, n in blocks) + apart) + skew


def site_case(interval, api, specs, repetitions=1, settings=None):
    """The sum over the repetitions is compared: its spread shrinks with their number."""
    sums = {}
    for _ in range(repetitions):
        run = Run([host("sites"), api] + specs, dict(settings or {}, HEAP_INTERVAL=interval,
                                                          CPU="false"))
        truth = run.truth()
        for i in range(len(specs)):
            for at, kind in enumerate(KINDS):
                key = (i, kind)
                t, m = sums.get(key, (0, 0))
                sums[key] = (t + truth["site_%d" % i][at], m + run.site(kind, "site_%d" % i))
        if run.lost(KINDS):
            holds("%s at %d: nothing lost" % (api, interval), False, str(run.lost(KINDS)))
    return sums


def size_name(size):
    return "%d MiB" % (size // M) if size and size % M == 0 else \
        "%d KiB" % (size // K) if size and size % K == 0 else "%d B" % size


def judge_sites(interval, api, specs, repetitions=1, within=None, settings=None):
    sums = site_case(interval, api, specs, repetitions, settings)
    for i, spec in enumerate(specs):
        blocks = Blocks(api, spec)
        for kind in KINDS:
            truth, measured = sums[i, kind]
            if truth == 0 and measured == 0:
                continue
            sigma = blocks.sigma(interval, kind, api in ("span", "label")) * math.sqrt(repetitions)
            name = "%s %s at %s: %s" % (api, size_name(int(spec.split(":")[0])),
                                        size_name(interval), kind)
            # Whole objects are what a message holds: one may be rounded away.
            sigma = math.hypot(sigma, 0.5) if interval > 1 and kind.endswith("objects") else sigma
            spread(name, truth, measured, sigma, within)


def three_sites():
    head("three sites of 1 GiB each: 64 B, 64 KiB, 4 MiB at 512 KiB (within 3 % and 4 sigma)")
    specs = ["64:%d" % (1024 * M // 64), "65536:16384", "4194304:256"]
    repetitions = 3 if QUICK else 12
    judge_sites(512 * K, "malloc", specs, repetitions, None if QUICK else 0.03)


def sizes():
    head("sizes far below, near and far above the interval")
    sets = {
        4 * K: ["0:2000000:100000", "1:1500000:100000", "16:1000000:100000", "4095:20000:4000",
                "4096:20000:4000", "4097:20000:4000", "1048576:500:20", "67108864:20"],
        64 * K: ["16:6000000:500000", "1000:400000:40000", "65535:8000:1000", "65536:8000:1000",
                 "65537:8000:1000", "16777216:100"],
        256 * K: ["64:6000000:600000", "262143:4000:400", "262144:4000:400", "262145:4000:400",
                  "100000:10000:800"],
        512 * K: ["1:60000000", "16:30000000", "524287:4000:300", "524288:4000:300",
                  "524289:4000:300", "134217728:50"],
        4 * M: ["200:20000000:1500000", "65536:60000:6000", "4194303:2000:100",
                "4194305:2000:100", "300000000:20"],
    }
    for interval in ([4 * K, 512 * K] if QUICK else sorted(sets)):
        judge_sites(interval, "malloc", sets[interval])


def family():
    head("calloc, realloc (grow and shrink) and the aligned family")
    specs = ["64:150000:30000", "5000:20000:3000", "100000:1500:200"]
    wide = ["700:1000000:200000", "60000:20000:2000", "400000:3000:200"]
    for api in ("calloc", "realloc", "memalign", "posix", "aligned"):
        judge_sites(4 * K, api, specs)
        if not QUICK:
            judge_sites(512 * K, api, wide)
    # A program must not see which of its blocks are sampled: those would meet another fate.
    judge_sites(512 * K, "trim", wide[:2])


def identities():
    head("each block in a span or with a label of its own")
    # 1 / p is 1.26, 1.42, 1.74, 2.59 and 8.7: whole numbers are far from all of them.
    specs = ["6500:6000:1500", "5000:6000:1500", "3500:6000:1500", "2000:6000:1500",
             "500:20000:5000"]
    for api in ("span", "label"):
        for times in ("false", "true"):
            tell("timestamps: " + times)
            judge_sites(4 * K, api, specs, settings={"MAX_LABELS": 1000000, "TIMESTAMPS": times})


def compare(run, prefix, what, names=None):
    """Each site of an exact run, all four values; a truth of -1 is unknown."""
    truth = run.truth()
    for site in sorted(names or (n for n in truth if n.startswith(prefix))):
        for kind, value in zip(KINDS, truth[site]):
            if value >= 0:
                exact("%s %s: %s" % (what, site, kind), value, run.site(kind, site))
    holds("%s: nothing lost" % what, not run.lost(KINDS), str(run.lost(KINDS) or ""))


def exactness():
    head("every allocation sampled (interval 1): equal to the byte")
    one = {"HEAP_INTERVAL": 1, "CPU": "false"}
    specs = ["0:500:7", "1:5000:50", "16:3000:30", "4095:300:5", "1000000:20:2"]
    judge_sites(1, "malloc", specs)
    judge_sites(1, "realloc", specs[2:])
    compare(Run([host("exact"), 4, 10], one), "site_", "family, 4 threads:")
    compare(Run([host("operators"), 4, 60], one), "new_", "C++, 4 threads:")
    compare(Run([host("once"), 400, 1000], one), "once_", "400 threads:")
    compare(Run([host("operators"), 2, 100], {"HEAP_INTERVAL": 1, "CPU_HZ": 1000}), "new_",
            "C++, with CPU samples:")


def reuse():
    head("an address that one thread gives back and another gets the same instant")
    shared = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}
    rounds = 20000 if QUICK else 100000
    run = Run([host("reuse"), 4, rounds, 300], {"HEAP_INTERVAL": 1, "CPU": "false"}, env=shared)
    compare(run, "reuse_", "exact:")
    tell("addresses taken over from another thread: %d" % run.truth()["taken_over"][0])
    holds("addresses were taken over", run.truth()["taken_over"][0] > 0)
    for interval, size in ((4 * K, 900), (512 * K, 100000)):
        run = Run([host("reuse"), 4, rounds, size], {"HEAP_INTERVAL": interval, "CPU": "false"},
                  env=shared)
        truth = {k: v for k, v in run.truth().items() if k.startswith("reuse_")}
        for at, kind in enumerate(KINDS[1::2]):
            total = sum(v[2 * at + 1] for v in truth.values())
            measured = sum(run.site(kind, name) for name in truth)
            count = sum(v[2 * at] for v in truth.values())
            sigma = math.sqrt(variance(interval, size + 1.5, count)[1])
            spread("sampled at %s: %s" % (size_name(interval), kind), total, measured, sigma)


def first_allocation():
    head("10,000 threads that allocate once each")
    for interval, size in ((4 * K, 64), (512 * K, 100000)):
        for settings in ({}, {"CPU": "false"}):
            run = Run([host("once"), 10000, size], dict(settings, HEAP_INTERVAL=interval))
            truth = run.truth()["once_work"]
            for at, kind in enumerate(KINDS):
                sigma = math.sqrt(variance(interval, size, truth[at & 2])[at & 1])
                spread("%d B at %s%s: %s" % (size, size_name(interval), " and CPU" if not settings
                                            else "", kind), truth[at],
                       run.site(kind, "once_work"), math.hypot(sigma, 0.5))
        if QUICK:
            break


LIVE_SIZES = (48, 300, 5000, 70000)


def live_flushes(interval, seconds, slots):
    run = Run([host("live"), seconds, slots], {"HEAP_INTERVAL": interval, "CPU": "false",
                                               "INTERVAL": "300ms"})
    rows = []
    for flush in run.flushes:
        rows.append({(site, kind): sum(s.value for s in flush[kind].samples if site in s.frames)
                     for site in ("leak_once", "churn") for kind in KINDS if kind in flush})
    return run, rows


def live_sigma(interval, blocks_each, at):
    return math.sqrt(sum(variance(interval, s, blocks_each)[at] for s in LIVE_SIZES))


def live():
    head("a known leak and a known live set that is replaced all the time, flush by flush")
    seconds, slots = (1.5, 2000) if QUICK else (4, 2000)
    for interval in (1, 32 * K, 512 * K):
        run, rows = live_flushes(interval, seconds, slots)
        truth, name = run.truth(), size_name(interval)
        tell("%d flushes, %d blocks replaced" % (len(rows), truth["churn"][0]))
        holds("live at %s: several flushes" % name, len(rows) >= 4)
        for at, kind in enumerate(KINDS):
            total = truth["churn"][at]
            sigma = math.sqrt(sum(variance(interval, s, truth["churn"][0] / 4)[at & 1]
                                  for s in LIVE_SIZES)) if at < 2 \
                else live_sigma(interval, slots / 4, at & 1)
            # Each account's objects are rounded once a flush.
            sigma = math.hypot(sigma, len(rows)) if interval > 1 and at % 2 == 0 else sigma
            spread("churn at %s: %s" % (name, kind), total, run.site(kind, "churn"), sigma)
            spread("leak at %s: %s" % (name, kind), truth["leak_once"][at],
                   run.site(kind, "leak_once"), live_sigma(interval, 1000, at & 1))
        for kind in KINDS[2:]:
            values = {r.get(("leak_once", kind)) for r in rows}
            exact("leak at %s: distinct values of %s" % (name, kind), 1, len(values))
        drift(interval, name, rows, slots)


def drift(interval, name, rows, slots):
    """The later half of the flushes against the earlier one, without those that begin and end it."""
    values = [r["churn", "inuse_space"] for r in rows[1:-1]]
    half = len(values) // 2
    early, late = sum(values[:half]) / half, sum(values[-half:]) / half
    sigma = live_sigma(interval, slots / 4, 1) * math.sqrt(2 / half)
    # A thread that is about to free what it has just replaced has a block more.
    slack = 2 * LIVE_SIZES[-1] / table.LIMIT
    spread("churn at %s: live bytes, late against early" % name, early, late, sigma + slack)


def all_cases():
    table.each(three_sites, sizes, family, identities, exactness, reuse, first_allocation, live)
