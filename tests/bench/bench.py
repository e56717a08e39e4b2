# SPDX-License-Identifier: Apache-2.0
"""bench.py BUILD [NAME…]: the measurements of run.sh."""
import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile

BUILD, NAMES = sys.argv[1], sys.argv[2:]
LIB = os.path.join(BUILD, "libotelprof.so")
SPAWN = os.path.join(BUILD, "tests/bench/spawn")
BURN = os.path.join(BUILD, "tests/bench/burn")
RUNS = int(os.environ.get("BENCH_RUNS", "3"))
SCALE = float(os.environ.get("BENCH_SCALE", "1"))
WORK = tempfile.mkdtemp(prefix="otelprof-bench.")

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


def wanted(name):
    return not NAMES or name in NAMES


def source(functions):
    text, calls = [], []
    for i in range(functions):
        text.append("struct s%d { int a[%d]; double d; }; static int f%d(struct s%d *p, int x) { int r = 0;"
                    "for (int i = 0; i < x; i++) { r += p->a[i %% %d] * %d; if (r > %d) { r ^= x << %d; } }"
                    "return r; }" % (i, i % 7 + 1, i, i, i % 7 + 1, i, i * 31, i % 13))
        calls.append("struct s%d v%d = {.d = n}; r += f%d(&v%d, n);" % (i, i, i, i))
    return "\n".join(text) + "\nint main(int n, char **v) { (void)v; int r = 0; %s return r & 1; }" % " ".join(calls)


def prepare():
    """(name, command) of the programs that are here."""
    def path(name):
        return os.path.join(WORK, name)
    libraries = sorted(glob.glob("/usr/lib/x86_64-linux-gnu/*.so.*"), key=lambda f: f[::-1])
    data = b""
    for library in libraries:
        if os.path.isfile(library) and len(data) < scaled(8 << 20):
            with open(library, "rb") as f:
                data += f.read(1 << 20)
    with open(path("data"), "wb") as f:
        f.write(data)
    with open(path("load.sql"), "w") as f:
        f.write(SQL % scaled(1500000))
    with open(path("big.c"), "w") as f:
        f.write(source(scaled(1200)))
    loads = [
        ("xz", "xz -9", ["xz", "-9", "-T1", "-c", path("data")]),
        ("zstd", "zstd -19", ["zstd", "-19", "-T1", "-q", "-c", path("data")]),
        ("sqlite3", "sqlite3", ["sqlite3", ":memory:", ".read " + path("load.sql")]),
        ("python3", "python3", ["/usr/bin/python3", "-c", PYTHON % (scaled(8000000), scaled(40))]),
        ("perl", "perl", ["/usr/bin/perl", "-e", PERL % scaled(9000000)]),
        ("gcc", "gcc -O2", ["gcc", "-O2", "-c", "-o", "/dev/null", path("big.c")]),
    ]
    return [(label, command) for name, label, command in loads if wanted(name) and shutil.which(command[0])]


def run(command, settings):
    """CPU seconds (with children), resident KiB, elapsed seconds."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL", "LD_PRELOAD"))}
    done = subprocess.run([SPAWN] + settings + command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit("bench: %s ended with status %d" % (command[0], done.returncode))
    cpu, resident, elapsed = done.stdout.split()
    return int(cpu) / 1e6, int(resident), int(elapsed) / 1e6


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def column(rows, n):
    return median([r[n] for r in rows])


def alternate(command, runs, *more):
    """Runs in the order bare, profiled, profiled, bare, ...: a drift of the machine hits both alike."""
    out = tempfile.mkdtemp(dir=WORK)
    settings = ["LD_PRELOAD=" + LIB, "OTELPROF_OUTPUT=file:%s/%%e-%%p.otlp.gz" % out] + list(more)
    bare, profiled = [], []
    run(command, [])
    for i in range(runs):
        for is_profiled in ((False, True) if i % 2 == 0 else (True, False)):
            (profiled if is_profiled else bare).append(run(command, settings if is_profiled else []))
    files = glob.glob(out + "/*")
    return bare, profiled, sum(os.path.getsize(f) for f in files) / runs, len(files)


def loads():
    print("%-10s %9s %9s %8s %9s %8s %10s %12s" % ("program", "bare s", "with s", "ratio", "added ms", "spread", "memory +",
                                                 "profile/min"))
    for name, command in prepare():
        bare, profiled, size, count = alternate(command, RUNS)
        if count == 0:
            sys.exit("bench: %s: no profile was written" % name)
        ratios = [p[0] / b[0] for b, p in zip(bare, profiled)]
        without, with_us = column(bare, 0), column(profiled, 0)
        print("%-10s %9.3f %9.3f %8.4f %9.1f %8s %6d KiB %8.1f KiB" % (
            name, without, with_us, with_us / without, (with_us - without) * 1e3,
            "+-%.1f%%" % (50 * (max(ratios) - min(ratios))), column(profiled, 1) - column(bare, 1),
            size / 1024 / column(profiled, 2) * 60))
        sys.stdout.flush()


def start_up():
    for name, more in (("/bin/true", []), ("/bin/true, with a profile", ["OTELPROF_HEAP_INTERVAL=1"])):
        bare, profiled, _, _ = alternate(["/bin/true"], 40, *more)
        print("%-26s %.2f ms bare, %.2f ms with: +%.2f ms elapsed, +%.2f ms CPU, +%d KiB" % (
            name, column(bare, 2) * 1e3, column(profiled, 2) * 1e3,
            (column(profiled, 2) - column(bare, 2)) * 1e3, (column(profiled, 0) - column(bare, 0)) * 1e3,
            column(profiled, 1) - column(bare, 1)))


def memory():
    added = {}
    for count in (0, 63):
        bare, profiled, _, _ = alternate([BURN, "100", str(count)], 3)
        added[count] = column(profiled, 1) - column(bare, 1)
    print("resident memory            +%d KiB with 1 sampled thread, +%d KiB with 64: %.1f KiB for each more" % (
        added[0], added[63], (added[63] - added[0]) / 63))


def main():
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print("%d x %s, Linux %s, load %s before" % (os.cpu_count(), model, platform.release(), load))
    print("CPU at 100 Hz, heap every 512 KiB, one file at the end; medians of %d alternating runs. Seconds are CPU time of"
          % RUNS)
    print("the program and its children, the library's own thread included; memory is the growth of the largest resident")
    print("size. A start and an end, with the reading of symbols, are in each figure: longer runs have lower ratios.")
    try:
        loads()
        if wanted("start"):
            start_up()
        if wanted("memory"):
            memory()
    finally:
        shutil.rmtree(WORK)


main()
