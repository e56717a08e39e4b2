# SPDX-License-Identifier: Apache-2.0
"""What other profilers of the distribution say of the same programs. For information: nothing here can fail."""
import bisect
import glob
import math
import os
import re
import shutil
import subprocess
import tempfile
import time

import table
from table import QUICK, Run, skip, tell

MIB = 1 << 20
SITES = ("site_0", "site_1", "site_2")


def run(command, **variables):
    environment = dict(os.environ, LC_ALL="C.UTF-8", **variables)
    began = time.time()
    done = subprocess.run([str(c) for c in command], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=table.TIMEOUT)
    if done.returncode != 0:
        raise RuntimeError("%s ended with status %d" % (command[0], done.returncode))
    return done.stdout.decode(errors="replace"), time.time() - began


def library(name):
    found = glob.glob("/usr/lib/*/" + name) + glob.glob("/usr/lib/" + name)
    return found[0] if found else None


def spec(megabytes):
    """Three sites with as many bytes each."""
    return ["malloc"] + ["%d:%d" % (s, megabytes * MIB // s) for s in (64, 65536, 4 * MIB)]


class Names:
    """Function of an address of a program, by its symbol table and its mappings."""

    def __init__(self, program, mappings):
        rows = [line.split() for line in run(["nm", program])[0].splitlines()]
        rows = sorted((int(r[0], 16), r[2]) for r in rows if len(r) == 3 and r[1] in "tT")
        self.addresses, self.names = [r[0] for r in rows], [r[1] for r in rows]
        found = re.search(r"^([0-9a-f]+)-[0-9a-f]+ .* %s$" % re.escape(program), mappings, re.M)
        self.base = int(found.group(1), 16)

    def of(self, address):
        at = bisect.bisect_right(self.addresses, address - self.base) - 1
        return self.names[at] if at >= 0 and address >= self.base else "?"


def heap_text(text, program, pattern, scale):
    """Bytes allocated by site from a heap_v2 or heapprofile text: stacks and their sums."""
    names, sums = Names(program, text), dict.fromkeys(SITES, 0.0)
    for objects, size, stack in pattern(text):
        for site in {names.of(int(a, 16) - 1) for a in stack.split()} & set(SITES):
            sums[site] += size * scale(size / objects)
    return sums


def by_jemalloc(folder, program):
    path = library("libjemalloc.so.2")
    if path is None:
        return None
    conf = "prof:true,lg_prof_sample:19,prof_final:true,prof_accum:true,prof_prefix:%s/je" % folder
    _, seconds = run([program] + spec(1024), LD_PRELOAD=path, MALLOC_CONF=conf)
    text = open(glob.glob(folder + "/je*.heap")[0]).read()

    def stacks(text):
        for part in text.split("\n@ ")[1:]:
            found = re.search(r"t\*: \d+: \d+ \[(\d+): (\d+)\]", part)
            if found and int(found.group(1)) > 0:
                yield int(found.group(1)), int(found.group(2)), part.split("\n")[0]

    return heap_text(text, program, stacks, lambda size: 1 / -math.expm1(-size / 524288)), \
        1024, seconds


def by_gperftools(folder, program):
    path = library("libtcmalloc.so.4")
    if path is None:
        return None
    _, seconds = run([program] + spec(16), LD_PRELOAD=path, HEAPPROFILE=folder + "/hp")
    text = open(sorted(glob.glob(folder + "/hp.*.heap"))[-1]).read()

    def stacks(text):
        for found in re.finditer(r"\[ *(\d+): *(\d+)\] @ ((?:0x[0-9a-f]+ ?)+)$", text, re.M):
            if int(found.group(1)) > 0:
                yield int(found.group(1)), int(found.group(2)), found.group(3)

    return heap_text(text, program, stacks, lambda size: 1), 16, seconds


def by_heaptrack(folder, program):
    if shutil.which("heaptrack") is None or shutil.which("heaptrack_print") is None:
        return None
    _, seconds = run(["heaptrack", "-o", folder + "/ht", program] + spec(64))
    data = glob.glob(folder + "/ht*")[0]
    run(["heaptrack_print", "-f", data, "-F", folder + "/stacks", "--flamegraph-cost-type",
         "allocations"])
    sums = dict.fromkeys(SITES, 0.0)
    for line in open(folder + "/stacks"):
        for site, size in zip(SITES, (64, 65536, 4 * MIB)):
            if site in re.split(r"[; ]", line):
                sums[site] += int(line.rsplit(None, 1)[-1]) * size
    return sums, 64, seconds


def by_us(_folder, program):
    began = time.time()
    r = Run([program] + spec(1024), {"CPU": "false"})
    return {site: r.site("alloc_space", site) for site in SITES}, 1024, time.time() - began


def heap():
    print("\n== peers: three sites of equal bytes, share of the truth that is reported")
    print("%-34s %8s %10s %10s %10s %9s" % ("", "MiB", "64 B", "64 KiB", "4 MiB", "seconds"))
    program = table.host("sites")
    tools = [("libotelprof at 512 KiB", by_us), ("jemalloc prof at 512 KiB", by_jemalloc),
             ("gperftools, every call", by_gperftools), ("heaptrack, every call", by_heaptrack)]
    for name, tool in tools:
        with tempfile.TemporaryDirectory(prefix="otelprof-peer.") as folder:
            try:
                got = tool(folder, program)
            except (RuntimeError, OSError, IndexError, AttributeError, ValueError,
                    subprocess.TimeoutExpired) as problem:
                skip(name, repr(problem)[:60])
                continue
        if got is None:
            skip(name, "not installed")
            continue
        sums, size, seconds = got
        print("%-34s %8d %9.2f%% %9.2f%% %9.2f%% %9.1f" %
              ((name, size) + tuple(100 * sums[s] / (size * MIB) for s in SITES) + (seconds,)),
              flush=True)


FUNCTIONS = ("burn_a", "burn_b", "burn_c")


def cpu_truth(out):
    rows = {r[0]: int(r[1]) for r in (line.split() for line in out.splitlines()) if len(r) == 2}
    return rows, {f: sum(v for k, v in rows.items() if k.endswith("." + f)) for f in FUNCTIONS}


def cpu_us(hz, engine):
    def tool(_folder, command):
        r = Run(command, {"HEAP": "false", "CPU_HZ": hz, "CPU_ENGINE": engine})
        return r.out, {f: r.site("cpu", f) for f in FUNCTIONS}, sum(
            len({s.frames for s in p.samples}) for p in r.profiles("samples")), r.total("cpu")
    return tool


def cpu_perf(hz):
    def tool(folder, command):
        data = folder + "/perf"
        out, _ = run(["perf", "record", "-q", "-F", hz, "-e", "cpu-clock", "-o", data] + command)
        lines = [line.split() for line in run(["perf", "script", "-i", data, "-F", "comm,ip,sym"])[0]
                 .splitlines()]
        lines = [line for line in lines if line]
        return out, {f: 1e9 / hz * sum(f in line for line in lines) for f in FUNCTIONS}, \
            len(lines), 1e9 / hz * len(lines)
    return tool


def cpu_gperftools(hz, **more):
    def tool(folder, command):
        path = library("libprofiler.so.0")
        if path is None or shutil.which("google-pprof") is None:
            return None
        data = folder + "/prof"
        out, _ = run(command, LD_PRELOAD=path, CPUPROFILE=data, CPUPROFILE_FREQUENCY=str(hz), **more)
        try:
            text, _ = run(["google-pprof", "--text", command[0], data])
        except RuntimeError:
            text = ""  # a profile without samples is an error to it
        rows = [line.split() for line in text.splitlines()]
        counts = {r[5]: int(r[3]) for r in rows if len(r) == 6 and r[0].isdigit()}
        total = sum(int(r[0]) for r in rows if len(r) == 6 and r[0].isdigit())
        return out, {f: 1e9 / hz * counts.get(f, 0) for f in FUNCTIONS}, total, 1e9 / hz * total
    return tool


def cpu():
    print("\n== peers: CPU time by function, share of the truth that is reported")
    print("%-34s %10s %10s %10s %10s" % ("", "burn_a", "burn_b", "burn_c", "total"))
    command = [table.host("cpu"), "shares", "250" if QUICK else "500"]
    tools = [("libotelprof at 100 Hz", cpu_us(100, "auto")),
             ("libotelprof at 1000 Hz", cpu_us(1000, "auto")),
             ("libotelprof at 1000 Hz, timer", cpu_us(1000, "timer")),
             ("perf record at 99 Hz", cpu_perf(99)), ("perf record at 999 Hz", cpu_perf(999)),
             ("gperftools at 100 Hz", cpu_gperftools(100)),
             ("gperftools at 1000 Hz", cpu_gperftools(1000)),
             ("gperftools, timer per thread", cpu_gperftools(100, CPUPROFILE_PER_THREAD_TIMERS="1"))]
    for name, tool in tools:
        with tempfile.TemporaryDirectory(prefix="otelprof-peer.") as folder:
            try:
                got = tool(folder, command)
            except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as problem:
                skip(name, repr(problem)[:60])
                continue
        if got is None:
            skip(name, "not installed")
            continue
        out, sums, _, total = got
        rows, truth = cpu_truth(out)
        print("%-34s %9.1f%% %9.1f%% %9.1f%% %9.1f%%" %
              ((name,) + tuple(100 * sums[f] / truth[f] for f in FUNCTIONS) +
               (100 * total / rows["rusage"],)), flush=True)


def all_cases():
    tell("for information: nothing here counts as passed or failed")
    heap()
    cpu()
