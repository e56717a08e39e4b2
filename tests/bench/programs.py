# SPDX-License-Identifier: Apache-2.0
"""Whole programs: CPU time with and without, throughput of redis, the payload of a minute."""
import glob
import gzip
import os
import re
import shutil
import subprocess
import time

from common import QUICK, TOOL, WORK, alternate, clean, cost, fresh, host, median, ours, output, peers, quick, spread, wait_for
from report import UNCLEAR, row, table

SCALE = quick(0.3, 1)
RUNS = quick(2, 6)
BUDGET = "1%" # what users have by default; the other parts of the bench have no limit
PYTHON = """
kept = {}
for i in range(%d):
    kept[i %% 5000] = [str(i)] * 3
class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for _ in range(4)] if depth else []
for _ in range(%d):
    Node(7)
"""
PERL = """my %%h; for my $i (1 .. %d) { my $k = "key" . ($i %% 50003); $h{$k} .= chr(97 + $i %% 26);
$h{$k} = reverse $h{$k} if $i %% 7 == 0 }"""
SQL = """CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, s TEXT);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)
INSERT INTO t SELECT i, (i * 7919) %% 100003, printf('row %%d of many %%s', i, hex(i * 31)) FROM c;
CREATE INDEX tk ON t(k); SELECT k %% 10 AS g, count(*), avg(length(s)) FROM t GROUP BY g;
UPDATE t SET s = s || '!' WHERE k %% 3 = 0;"""


def scaled(number):
    return max(1, int(number * SCALE))


def write(name, data):
    path = os.path.join(WORK, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def loads():
    data = b""
    for path in sorted(glob.glob("/usr/lib/x86_64-linux-gnu/*.so.*"), key=lambda f: f[::-1]):
        if os.path.isfile(path) and len(data) < scaled(5 << 20):
            with open(path, "rb") as f:
                data += f.read(1 << 20)
    sql = write("load.sql", (SQL % scaled(1200000)).encode())
    all_of_them = {
        "sqlite3": ["sqlite3", ":memory:", ".read " + sql],
        "python3": ["/usr/bin/python3", "-c", PYTHON % (scaled(6000000), scaled(30))],
        "perl": ["/usr/bin/perl", "-e", PERL % scaled(7000000)],
        "xz -9": ["xz", "-9", "-T1", "-c", write("data", data)],
        "C++ server": [host("server"), str(scaled(1000000)), "2"],
    }
    return {name: command for name, command in all_of_them.items() if shutil.which(command[0])}


def shares(command):
    """Percent of a run's CPU time that is in our code, by perf's samples; None: perf cannot tell."""
    data = os.path.join(WORK, "perf.data")
    env = clean(ours(CPU_BUDGET=BUDGET))
    lib = env.pop("LD_PRELOAD")
    if subprocess.run(["perf", "record", "-q", "-F", "4000", "-e", "cpu-clock", "-o", data, "env", "LD_PRELOAD=" + lib] + command, env=env,
                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        return None
    lines = [line.split() for line in output(["perf", "report", "-i", data, "--sort", "dso", "-n"]).splitlines()]
    counts = [(int(words[1]), words[2]) for words in lines if len(words) > 2 and words[0].endswith("%") and words[1].isdigit()]
    total = sum(n for n, _ in counts)
    return 100 * sum(n for n, dso in counts if dso == "libotelprof.so") / total if total > 500 else None


def cpu_ratios():
    lines, worst, noise, inside = [], {"100 Hz": [], "1000 Hz": []}, [], []
    have = {k: v for k, v in peers().items() if k in ("gperftools 100 Hz", "jemalloc", "jemalloc, prof 512 KiB")}
    for name, command in loads().items():
        variants = {"bare": {}, "100 Hz": ours(CPU_BUDGET=BUDGET), "1000 Hz": ours(CPU_HZ=1000, CPU_BUDGET=BUDGET)}
        if name in ("sqlite3", "python3", "C++ server"):
            variants.update(have)
        got = {k: [c[0] for c in v] for k, v in alternate(lambda s, c=command: cost(c, s), variants, RUNS).items()}
        noise.append(spread(got["bare"]))
        line = [name, "%.3f" % median(got["bare"]), "±%.1f %%" % spread(got["bare"])]
        for k in ("100 Hz", "1000 Hz"):
            ratio, of_least = median(got[k]) / median(got["bare"]), min(got[k]) / min(got["bare"])
            line.append("%.4f (%.4f)" % (ratio, of_least))
            worst[k].append(ratio)
        line.append("%.4f" % (median(got["gperftools 100 Hz"]) / median(got["bare"])) if "gperftools 100 Hz" in got else "")
        line.append("%.4f" % (median(got["jemalloc, prof 512 KiB"]) / median(got["jemalloc"])) if "jemalloc" in got else "")
        share = shares(command) if shutil.which("perf") else None
        inside += [share] if share is not None else []
        line.insert(5, "%.2f %%" % share if share is not None else "")
        lines.append(line)
    table("programs", "Whole programs", "CPU seconds without the library, medians of %d alternating runs with half the distance of the "
          "outermost; then ratios of medians (of the least runs). Heap every 512 KiB, both profiles. jemalloc with profiling is "
          "compared with jemalloc. A start, an end with its symbols and one flush are in each figure. In our code: the part of 4,000 samples "
          "a second, taken by perf of a run at 100 Hz, which is a figure also where clocks are too noisy; what the kernel does for us "
          "is not in it. The CPU budget is the default, 1 %%, so 1,000 Hz means perf events where their ticks are worth that." % RUNS,
          ["program", "bare s", "spread", "100 Hz", "1000 Hz", "in our code", "gperftools CPU 100 Hz", "jemalloc prof"], lines)
    for key, hz, limit in (("programs100", "100 Hz", 1.005), ("programs1000", "1000 Hz", 1.02)):
        values = worst[hz]
        row(key, "whole programs, CPU %s and heap 512 KiB" % hz, "≤ %.1f %% CPU" % ((limit - 1) * 100),
            "%+.2f to %+.2f %%, in the middle %+.2f %%" % tuple(100 * (v - 1) for v in (min(values), max(values), median(values))) +
            ("; in our code %.2f to %.2f %% of perf's samples" % (min(inside), max(inside)) if inside and hz == "100 Hz" else ""), "", max(values) <= limit if median(noise) < 100 * (limit - 1) else UNCLEAR,
            "ratios of medians; the bare program alone varies by ±%.1f %%" % median(noise))


def start_redis(settings, port):
    server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--daemonize", "no"],
                              env=clean(settings), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd=WORK)
    if not wait_for(lambda: b"PONG" in subprocess.run(["redis-cli", "-p", str(port), "ping"], stdout=subprocess.PIPE,
                                                      stderr=subprocess.DEVNULL).stdout, 10):
        raise SystemExit("bench: redis does not start")
    return server


def drive(port, requests):
    out = output(["redis-benchmark", "-p", str(port), "-t", "set,get,lpush", "-n", str(requests), "-P", "16", "-d", "100",
                  "-r", "100000", "-q", "--csv"])
    return [float(line.split(",")[1].strip('"')) for line in out.splitlines()[1:] if line.count(",") >= 1]


def throughput(settings):
    """Requests a second, and CPU microseconds of the server for each."""
    requests = quick(150000, 400000)
    server = start_redis(settings, 7391)
    drive(7391, 20000)
    before = server_cpu(server.pid)
    rates = drive(7391, requests)
    used = server_cpu(server.pid) - before
    server.terminate()
    server.wait()
    return sum(rates) / len(rates), used / (requests * len(rates)) * 1e6


def server_cpu(pid):
    """Seconds of all threads, by the scheduler's account."""
    total = 0
    for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(path) as f:
            total += int(f.read().split()[0])
    return total / 1e9


def redis():
    if not shutil.which("redis-server"):
        return
    got = alternate(throughput, {"bare": {}, "ours": ours(CPU_BUDGET=BUDGET), "ours, 1000 Hz": ours(CPU_HZ=1000, CPU_BUDGET=BUDGET)}, quick(2, 6))
    rate = {k: median([v[0] for v in values]) for k, values in got.items()}
    best = {k: max(v[0] for v in values) for k, values in got.items()}
    cpu = {k: min(v[1] for v in values) for k, values in got.items()}
    table("redis", "redis", "redis-benchmark, pipelines of 16, set, get and lpush: the mean of the three, medians of alternating runs; "
          "server and client share the processors.", ["", "requests/s", "spread", "ratio", "ratio of the best runs", "server CPU µs a request, least"],
          [[k, "%.0f" % rate[k], "±%.1f %%" % spread([v[0] for v in got[k]]), "%.3f" % (rate[k] / rate["bare"]),
            "%.3f" % (best[k] / best["bare"]), "%.3f" % cpu[k]] for k in got])
    ratio, noise = rate["ours"] / rate["bare"], spread([v[0] for v in got["bare"]])
    row("redis", "redis, throughput at 100 Hz and 512 KiB", "≥ 0.99", "%.3f (server CPU a request %+.1f %%)" % (
        ratio, 100 * (cpu["ours"] / cpu["bare"] - 1)), "",
        ratio >= 0.99 if noise < 1 else UNCLEAR, "the bare server alone varies by ±%.1f %%" % noise)


def zipped(folder):
    """Bytes of the one profile in a folder, compressed with gzip when it is not; its distinct frames and stacks, by the tool,
    None for what that cannot read."""
    paths = glob.glob(folder + "/*")
    if len(paths) != 1:
        raise SystemExit("bench: %d flushes of a program, not one" % len(paths))
    with open(paths[0], "rb") as f:
        data = f.read()
    size = len(data) if paths[0].endswith(".gz") else len(gzip.compress(data, 6))
    said = re.search(r"tables .* (\d+) locations,.* (\d+) stacks", output([TOOL, "info", paths[0]], may_fail=True))
    return (size,) + ((int(said.group(1)) - 1, int(said.group(2)) - 1) if said else (None, None))


def payload_text(size, frames, stacks):
    text = "%.1f KiB" % (size / 1024)
    return text if not stacks else text + ", %d stacks of %d frames: %.1f B and %.1f B each" % (
        stacks, frames, size / stacks, size / frames)


def minute(seconds, redis_settings, python_settings):
    """Both programs side by side for so many seconds, ended by a signal and by themselves."""
    program = "import time\nend = time.time() + %d\nwhile time.time() < end:\n" % seconds + "\n".join(
        "    " + line for line in (PYTHON % (200000, 1)).strip().splitlines())
    server = start_redis(redis_settings, 7392)
    python = subprocess.Popen(["/usr/bin/python3", "-c", program], env=clean(python_settings), cwd=WORK,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        drive(7392, 100000)
    server.terminate()
    server.wait()
    python.wait()


def payload():
    if not shutil.which("redis-server"):
        return
    seconds = int(os.environ.get("PAYLOAD_SECONDS", quick(8, 60)))
    sizes = {}
    for name, more in (("both profiles", {}), ("CPU only", {"HEAP": "false"})):
        folders = fresh("payload"), fresh("payload")
        minute(seconds, *(ours(f, INTERVAL="60m", **more) for f in folders))
        sizes[name] = [zipped(f) for f in folders]
    other = os.environ.get("ASYNC_PROFILER")
    if other:
        folders = fresh("payload"), fresh("payload")
        minute(seconds, *({"LD_PRELOAD": other, "ASPROF_COMMAND": "start,event=cpu,interval=10ms,cstack=dwarf,threads,otlp,"
                           "file=%s/p.otlp" % f} for f in folders))
        sizes["async-profiler, CPU only"] = [zipped(f) for f in folders]
    table("payload", "Payload of %d seconds, gzip" % seconds, "redis under redis-benchmark, python3 with the program above, one flush. async-profiler walks "
          "frame pointers and DWARF and keeps of a frame its function's name; in ours each frame has its address, and what has no "
          "symbol (Debian strips python3) is told apart by it.",
          ["", "redis", "python3"], [[k] + [payload_text(*one) for one in v] for k, v in sizes.items()])
    for i, name in enumerate(("redis", "python")):
        theirs = sizes.get("async-profiler, CPU only", [(0, 0, 0)] * 2)[i]
        mine = sizes["CPU only"][i]
        row("payload-" + name, "payload of %d s of %s, CPU profile, gzip" % (seconds, name), "less than async-profiler's",
            "%s (both profiles %.1f KiB)" % (payload_text(*mine), sizes["both profiles"][i][0] / 1024),
            "async-profiler " + payload_text(*theirs) if theirs[0] else "", mine[0] < theirs[0] if theirs[0] else None)


def run():
    cpu_ratios()
    redis()
    payload()


__all__ = ["run", "QUICK"]
