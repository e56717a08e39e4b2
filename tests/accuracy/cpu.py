# SPDX-License-Identifier: Apache-2.0
"""CPU: the time that threads and functions used, against the threads' own CPU clocks."""
import math

from table import QUICK, Run, at_least, exact, head, holds, host, spread, tell, within
import table

MS = 10**6
TICK = 1e9 / 100 / 2.5  # nanoseconds between the kernel's looks at CPU timers, at the usual 250 Hz
NAMED = {"HEAP": "false"}


def thread(sample):
    return sample.attrs.get("thread.name")


def share_sigma(total, part, period):
    """Of the time in a part of what runs: each sample is in it with the probability of its share."""
    share = part / total
    return math.sqrt(max(total / period, 1) * share * (1 - share)) * period


def total_sigma(period, threads=1, each=None):
    """
    Of the time of threads: the end of the first period is drawn, so a thread of any length counts a
    whole number of periods, the one below or the one above what it used.
    """
    part = 0.5 if each is None else each % period / period
    # A thread reads its clock a little before its end.
    return math.sqrt(threads * max(part * (1 - part), 1 / 6)) * period


def shares():
    head("functions of known shares on threads of known shares")
    for hz in (1000,) if QUICK else (100, 1000):
        run = Run([host("cpu"), "shares", 500 if QUICK else 1000], dict(NAMED, CPU_HZ=hz))
        truth = {k: v[0] for k, v in run.truth().items()}
        for t in ("t0", "t1", "t2", "t3"):
            spread("%d Hz, thread %s" % (hz, t), truth[t], run.by("cpu", thread).get(t, 0),
                   total_sigma(1e9 / hz))
            for f in ("burn_a", "burn_b", "burn_c"):
                key = t + "." + f
                # Of one that has all but what begins the thread there is nothing to tell.
                if 0 < truth[key] < 0.99 * truth[t]:
                    sigma = math.hypot(share_sigma(truth[t], truth[key], sample_period(run)),
                                       1e9 / hz / 2)
                    spread("%d Hz, %s in %s" % (hz, f, t), truth[key], run.site("cpu", f, t), sigma)


def sample_period(run):
    """CPU time that a sample stands for, as it came out, with room for threads that fare worse."""
    profile = run.profiles("cpu")[0]
    return 1.3 * max(profile.period, profile.notes.get("otelprof.cpu.achieved_period", 0))


def equal_work():
    head("the same work by one thread and by several; many threads of equal work")
    cases = [(1, 603), (8, 77)] if QUICK else [(1, 8003), (8, 1007), (64, 133)]
    for threads, ms in cases:
        run = Run([host("cpu"), "split", threads, ms], NAMED)
        truth = sum(v[0] for k, v in run.truth().items() if k.startswith("w"))
        spread("%d x %d ms" % (threads, ms), truth, run.site("cpu", "burn_until"),
               total_sigma(1e7, threads, truth / threads))
        by_thread = [run.by("cpu", thread).get("w%03d" % i, 0) for i in range(threads)]
        worst = max(by_thread, key=lambda v: abs(v - truth / threads))
        spread("%d x %d ms: the thread farthest off" % (threads, ms), truth / threads, worst,
               # The largest of many deviations; each of them is one period at most.
               1e7 / table.LIMIT * 1.01)


def total():
    head("the total against getrusage, at 100 Hz (within 1 %)")
    ms = 800 if QUICK else 5500
    run = Run([host("cpu"), "split", 2, ms])
    within("%.0f s of CPU, heap profile on" % (2 * ms / 1000), run.truth()["rusage"][0],
           run.total("cpu"), 0.01)
    exact("samples x period", run.total("samples") * 10**7, run.total("cpu"))


def ranges():
    head("time ranges of consecutive flushes")
    run = Run([host("cpu"), "split", 2, 600 if QUICK else 2000],
              {"INTERVAL": "100ms" if QUICK else "1s"})
    found = [(f["cpu"].time, f["cpu"].duration) for f in run.flushes if "cpu" in f]
    tell("%d flushes" % len(found))
    holds("several flushes", len(found) >= 2)
    gaps = [b[0] - (a[0] + a[1]) for a, b in zip(found, found[1:])]
    exact("time between consecutive flushes", 0, sum(abs(g) for g in gaps))
    same = all(len({(p.time, p.duration) for p in f.values()}) == 1 for f in run.flushes)
    holds("all profiles of a flush have one time range", same)
    spread("cpu: the sum over all flushes", sum(run.truth()[t][0] for t in ("w000", "w001")),
           run.site("cpu", "burn_until"), total_sigma(1e7, 2))


def fine():
    head("1,000 Hz asked on a kernel that looks at CPU timers less often")
    for engine in ("timer", "perf", "auto"):
        run = Run([host("cpu"), "split", 2, 400 if QUICK else 1000],
                  dict(NAMED, CPU_HZ=1000, CPU_ENGINE=engine))
        truth, profile = run.truth(), run.profiles("cpu")[0]
        used = profile.notes["otelprof.cpu.engine"]
        for t in ("w000", "w001"):
            spread("%s: thread %s" % (engine, t), truth[t][0], run.by("cpu", thread).get(t, 0),
                   total_sigma(1e6))
        exact(engine + ": period in the profile", 1000000, profile.period)
        achieved = profile.notes.get("otelprof.cpu.achieved_period", profile.period)
        tell("asked for %s, used %s: %.0f samples per second" % (engine, used, 1e9 / achieved))
        holds(engine + ": the engine is named", used in ("timer", "perf") and
              (engine == "auto" or used == engine or used == "timer"))


def kernel():
    head("a thread that is inside the kernel half of its time")
    for how, function in (("kernel", "burn_kernel"), ("faults", "burn_faults")):
        for engine in ("timer", "perf"):
            run = Run([host("cpu"), how, 400 if QUICK else 2000],
                      dict(NAMED, CPU_HZ=1000, CPU_ENGINE=engine))
            truth = {k: v[0] for k, v in run.truth().items()}
            spread("%s, %s: the thread" % (how, engine), truth["both"],
                   run.by("cpu", thread).get("both", 0), total_sigma(1e6))
            for f in ("burn_a", function):
                sigma = share_sigma(truth["both"], truth[f], max(sample_period(run), TICK))
                spread("%s, %s: %s" % (how, engine, f), truth[f], run.site("cpu", f), sigma)


def burst():
    head("threads that sleep between bursts (of 12 ms, 2 ms, 0.3 ms)")
    run = Run([host("cpu"), "burst", 300 if QUICK else 2000], NAMED)
    truth = {k: v[0] for k, v in run.truth().items()}
    for t in ("steady", "long", "short", "tiny"):
        spread("thread " + t, truth[t], run.by("cpu", thread).get(t, 0), total_sigma(1e7))
        if t != "steady":
            key = t + ".burn_a"
            sigma = share_sigma(truth[t], truth[key], sample_period(run))
            spread("burn_a in " + t, truth[key], run.site("cpu", "burn_a", t), sigma)


def short_lives():
    count, us = (600, 2000) if QUICK else (10000, 2000)
    head("%d threads that live for %d us of CPU each" % (count, us))
    for way, engine, hz in (("short", "timer", 100), ("short", "timer", 1000), ("short", "perf", 1000),
                            ("exit", "timer", 1000), ("cancelled", "timer", 1000), ("cancelled", "perf", 1000),
                            ("c11", "timer", 1000)):
        run = Run([host("cpu"), way, count, us], dict(NAMED, CPU_HZ=hz, CPU_ENGINE=engine))
        truth = run.truth()["short_work"][0]
        # Where one ends in a period the next goes on: chance is that of the four at a time, and of the
        # first thread before them. Each uses some more between its look at the clock and its end: its
        # frames are unwound before that by cancellation, and by thrd_exit.
        more_ns = 1e4 if way in ("cancelled", "c11") else 2e3
        spread("%s, %s, %d Hz: all of them, by their function" % (way, engine, hz), truth,
               run.site("cpu", "short_" + way if way != "short" else "short_work"),
               math.hypot(total_sigma(1e9 / hz, 5), more_ns * count))


def blocked():
    head("a thread that keeps all signals blocked, 150 of each 250 ms")
    run = Run([host("cpu"), "blocked", 300 if QUICK else 2000], NAMED)
    truth = run.truth()
    for t in ("blocks", "free"):
        spread("thread " + t, truth[t][0], run.by("cpu", thread).get(t, 0), total_sigma(1e7))


def phases():
    head("a thread that has signals open for 3 ms and blocked for 6, in turn, at 1,000 Hz")
    for engine in ("timer", "perf"):
        run = Run([host("cpu"), "phases", 1000 if QUICK else 4000],
                  dict(NAMED, CPU_HZ=1000, CPU_ENGINE=engine))
        truth = {k: v[0] for k, v in run.truth().items()}
        spread(engine + ": the thread", truth["phases"], run.by("cpu", thread).get("phases", 0),
               total_sigma(1e6))
        sigma = share_sigma(truth["phases"], truth["signals_open"], max(sample_period(run), TICK))
        spread(engine + ": signals open", truth["signals_open"], run.site("cpu", "signals_open"), sigma)
        unseen = run.profiles("cpu")[0].notes.get("otelprof.dropped.stacks_unseen", 0)
        spread(engine + ": signals blocked, as counted", truth["phases"] - truth["signals_open"],
               1e6 * unseen, sigma)


def clone():
    head("threads made by clone, of which the thread library knows nothing")
    # By the name that is seen, and by one that is not: those are found by a look at all threads, once per second.
    for how, ms in (("clone", 200 if QUICK else 1500), ("hidden", 1500)):
        run = Run([host("cpu"), how, 3, ms], NAMED)
        truth = run.truth()["raw_work"][0]
        # Their end is not seen, and what is due there is lost: a late tick's worth each.
        within("%s: three of them" % how, truth, run.site("cpu", "raw_work"), 0.02, 3 * (1e7 + 2 * TICK))
        found = [s for s in run.samples("cpu") if "raw_work" in s.frames]
        holds("%s: complete stacks" % how, found and all(
            s.frames[-1] == "raw_work" or "clone" in s.frames[-1] for s in found))


def idle():
    head("a hundred threads that wait, and one that works")
    run = Run([host("cpu"), "idle", 300 if QUICK else 2000], NAMED)
    truth, by_thread = run.truth(), run.by("cpu", thread)
    # Some microseconds each, to begin and to end. Of so few samples a handful is within chance; were
    # the wait counted, it would be thousands.
    share = truth["idle"][0] / 100 / 1e7
    spread("all that wait", truth["idle"][0], by_thread.get("idle", 0),
           1e7 * max(1, math.sqrt(100 * share * (1 - min(share, 1)))))
    spread("the one that works", truth["burner"][0], by_thread.get("burner", 0), total_sigma(1e7))


def names():
    head("thread.name and thread.id, with renaming")
    ms = 400 if QUICK else 1500
    run = Run([host("cpu"), "names", ms], dict(NAMED, THREAD_ATTRIBUTES="id,name"))
    truth = run.truth()
    by_name = run.by("cpu", thread)
    for name, how in (("alpha", "prctl"), ("beta", "itself"), ("gamma", "another thread")):
        # A name takes effect at once, also for what is due from before: a period more or less.
        spread("renamed by %s: %s" % (how, name), truth[name][0], by_name.get(name, 0), 1e7 / 2)
    ids = {s.attrs.get("thread.id") for s in run.samples("cpu") if thread(s) in truth}
    holds("one thread.id, the thread's own", ids == {truth["tid"][0]}, str(ids))


def timestamps():
    head("timestamps: a time for each value, inside the flush's range")
    settings = {"TIMESTAMPS": "true", "HEAP_INTERVAL": "64k", "INTERVAL": "100ms"}
    run = Run([host("cpu"), "split", 2, 600 if QUICK else 2000], settings)
    truth = sum(v[0] for k, v in run.truth().items() if k.startswith("w"))
    # Where each time says one sample, the number of samples is not told a second time.
    check_times(run, [k for k in ("cpu", "samples") if run.profiles(k)])
    spread("cpu: the total", truth, run.site("cpu", "burn_until"), total_sigma(1e7, 2))
    run = Run([host("sites"), "malloc", "64:12000000", "9000:60000:500"],
              dict(settings, CPU="false", INTERVAL="20ms"))
    check_times(run, ("alloc_objects", "alloc_space"))
    for i, (size, count) in enumerate(((64, 12000000), (9000, 60000))):
        p = -math.expm1(-(size + 1) / 65536)
        spread("alloc_space of %d B: the total" % size, count * size,
               run.site("alloc_space", "site_%d" % i), size * math.sqrt(count * (1 - p) / p))
    p = -math.expm1(-9001 / 65536)
    spread("inuse_space: the last flush", 500 * 9000, run.site("inuse_space", "site_1"),
           9000 * math.sqrt(500 * (1 - p) / p))


def check_times(run, kinds):
    for kind in kinds:
        samples = outside = unequal = 0
        for p in run.profiles(kind):
            for s in p.samples:
                samples += len(s.times)
                outside += sum(not p.time <= t < p.time + p.duration for t in s.times)
                unequal += bool(s.values) and len(s.values) != len(s.times)
        if kind == "samples":  # is told where one of them stood for several periods, and then of all
            exact("samples: times, those of cpu in the same flushes",
                  sum(len(s.times) for f in run.flushes if "samples" in f for s in f["cpu"].samples), samples)
            at_least("samples: times", 1, samples)
        else:
            at_least("%s: times" % kind, 20, samples)
        exact("%s: times outside of their flush" % kind, 0, outside)
        exact("%s: samples with unequal numbers of values and times" % kind, 0, unequal)
    spread_of = [p.time for p in run.profiles(kinds[0])]
    holds("%s: several flushes" % kinds[0], len(spread_of) >= 3)


def flushes():
    head("numbers of consecutive flushes add up")
    run = Run([host("sites"), "malloc", "64:20000000", "5000:200000:1000"],
              {"HEAP_INTERVAL": "64k", "INTERVAL": "50ms", "CPU_HZ": 200})
    tell("%d flushes" % len(run.flushes))
    holds("several flushes", len(run.flushes) >= 4)
    for i, (size, count) in enumerate(((64, 20000000), (5000, 200000))):
        p = -math.expm1(-(size + 1) / 65536)
        spread("alloc_space of %d B" % size, size * count, run.site("alloc_space", "site_%d" % i),
               size * math.sqrt(count * (1 - p) / p))
        if len(run.flushes) > 1:
            first = run.flushes[0].get("alloc_space")
            part = sum(s.value for s in first.samples if "site_%d" % i in s.frames) if first else 0
            holds("the first flush has part of site_%d" % i, part < 0.9 * size * count)
    ranges = [(p.time, p.duration) for p in (next(iter(f.values())) for f in run.flushes)]
    exact("time between consecutive flushes", 0,
          sum(abs(b[0] - a[0] - a[1]) for a, b in zip(ranges, ranges[1:])))


def all_cases():
    table.each(shares, equal_work, total, ranges, fine, kernel, burst, short_lives, blocked, phases, clone,
               idle, names, timestamps, flushes)
