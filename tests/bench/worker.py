# SPDX-License-Identifier: Apache-2.0
"""What happens in the background and around: memory, start, flushes, symbols of a large program, the tool."""
import gzip
import os
import shutil
import subprocess
import sys
import time

from common import (LIB, TOOL, TOP, WORK, alternate, clean, cost, fresh, host, median, ours, output, quick, status_kib,
                    thread_cpu_ns, wait_for)
from report import row, table


def memory():
    added = {}
    for count in (0, 63):
        command = [host("burn"), "20", str(count)]
        got = alternate(lambda s, c=command: cost(c, s)[1], {"bare": {}, "ours": ours()}, 3)
        added[count] = median(got["ours"]) - median(got["bare"])
    each = (added[63] - added[0]) / 63
    row("memory", "resident memory added", "≤ 4 MiB + 24 KiB a sampled thread", "%.2f MiB with one thread, %.1f KiB for each "
        "more" % (added[0] / 1024, each), "ddprof 4 to 6.5 MB, by its documents", added[0] <= 4096 and each <= 24)


def soak():
    rounds, flushes = 200, fresh("soak")
    settings = ours(flushes, HEAP_INTERVAL=1, CPU="false", INTERVAL="50ms")  # new code addresses would be new names
    half, half_most, end, end_most = (int(v) for v in output([host("stacks"), "1000", "50000", str(rounds), "10"],
                                                             settings).split())
    bare = output([host("stacks"), "1000", "10000", "20", "0"]).split()
    row("soak", "growth over 10⁷ allocations, 1000 stacks, %d flushes, all recorded" % len(os.listdir(flushes)), "zero",
        "%+d KiB from the half of it to the end (resident %d, in flushes %d, then %d; bare %s)" % (
            end - half, end, half_most, end_most, bare[2]), "", end <= half)


def start_up():
    lines = []
    for name, more in (("nothing sampled", {}), ("with a profile written", {"HEAP_INTERVAL": 1})):
        got = alternate(lambda s: cost(["/bin/true"], s), {"bare": {}, "ours": ours(**more)}, quick(15, 40))
        elapsed = {k: median([c[2] for c in v]) * 1e3 for k, v in got.items()}
        cpu = {k: median([c[0] for c in v]) * 1e3 for k, v in got.items()}
        least = {k: min(c[2] for c in v) * 1e3 for k, v in got.items()}
        lines.append([name, "%.2f" % elapsed["bare"], "%+.2f" % (elapsed["ours"] - elapsed["bare"]),
                      "%+.2f" % (least["ours"] - least["bare"]), "%+.2f" % (cpu["ours"] - cpu["bare"])])
        if not more:
            added = least["ours"] - least["bare"]
            row("start", "start-up of /bin/true", "≤ 2 ms", "%+.2f ms (medians %+.2f)" % (
                added, elapsed["ours"] - elapsed["bare"]), "", added <= 2)
    table("start", "/bin/true", "Milliseconds, medians of alternating runs.",
          ["", "bare", "added elapsed", "added, least runs", "added CPU"], lines)


def flush():
    """Background CPU time of flushes of 10,000 stacks after the first, which reads the symbols."""
    out = fresh("flush")
    count = 10000
    settings = ours(out, HEAP_INTERVAL=1, CPU="false", INTERVAL="1s")
    program = subprocess.Popen([host("stacks"), str(count), str(count), "1000", "20"], env=clean(settings),
                               stdout=subprocess.DEVNULL, cwd=WORK)
    try:
        if not wait_for(lambda: len(os.listdir(out)) >= 2, 15):
            sys.exit("bench: no flush of the many stacks")
        seen, begin = len(os.listdir(out)), thread_cpu_ns(program.pid, "otelprof")
        wait_for(lambda: len(os.listdir(out)) >= seen + quick(2, 5), 20)
        flushes, used = len(os.listdir(out)) - seen, thread_cpu_ns(program.pid, "otelprof") - begin
    finally:
        program.kill()
        program.wait()
    size = max(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out))
    each = used / flushes / 1e6
    row("flush", "flush of 10,000 distinct stacks, symbols known", "≤ 50 ms of background CPU",
        "%.1f ms with gzip, %.0f KiB" % (each, size / 1024), "", each <= 50)


def big_program():
    """A program of about 100 MB with 200,000 functions."""
    path = os.path.join(WORK, "big")
    count = 200000
    with open(path + ".s", "w") as f:
        f.write(".text\n")
        for i in range(count):
            name = "_ZN7company7product9subsystem%d6Server13handleRequestEPKcmi_%06d" % (i % 100, i)
            f.write(".globl %s\n.type %s,@function\n%s:\n.cfi_startproc\n1: dec %%rdi\njnz 1b\nret\n.fill 360,1,0x90\n"
                    ".cfi_endproc\n.size %s,.-%s\n" % (name, name, name, name, name))
        f.write(".data\n.globl table\ntable:\n")
        for i in range(0, count, count // 512):
            f.write(".quad _ZN7company7product9subsystem%d6Server13handleRequestEPKcmi_%06d\n" % (i % 100, i))
        f.write('.section .note.GNU-stack,"",@progbits\n')
    with open(path + ".c", "w") as f:
        f.write("#include <time.h>\nextern void (*const table[512])(long);\nint main(void)\n{\n"
                "    time_t end = time(0) + 4;\n    for (unsigned i = 0; time(0) < end; i++) {\n"
                "        table[i % 512](20000);\n    }\n}\n")
    output(["gcc", "-O2", "-no-pie", "-Wl,--build-id", "-o", path, path + ".c", path + ".s"])
    return path


def symbols():
    path = big_program()
    out = fresh("big")
    program = subprocess.Popen([path], env=clean(ours(out, INTERVAL="1500ms")), cwd=WORK, stdout=subprocess.DEVNULL)
    try:
        time.sleep(1.0)
        before, begin = status_kib(program.pid, "RssAnon"), thread_cpu_ns(program.pid, "otelprof")
        peak, end = before, time.monotonic() + 2
        while time.monotonic() < end:
            peak = max(peak, status_kib(program.pid, "RssAnon"))
            time.sleep(0.005)
        used = (thread_cpu_ns(program.pid, "otelprof") - begin) / 1e9
        after = status_kib(program.pid, "RssAnon")
    finally:
        program.wait()
    named = output([TOOL, "top", "-n", "3", os.path.join(out, sorted(os.listdir(out))[0])])
    if "handleRequest" not in named:
        sys.exit("bench: the large program has no names")
    row("symbols", "first symbolization of a %d MB binary, 200,000 functions" % (os.path.getsize(path) >> 20),
        "≤ 1 s, ≤ 30 MiB, given back", "%.2f s of background CPU, %.1f MiB at most, %.1f MiB kept" % (
            used, (peak - before) / 1024, (after - before) / 1024), "", used <= 1 and peak - before <= 30 << 10)


def big_profile(megabytes):
    """A conforming profile: 20,000 stacks, the samples of each type repeated with other threads."""
    sys.path.insert(0, os.path.join(TOP, "tests/tool"))
    import otlp_gen as g
    d = g.good(stacks=20000, depth=40)
    keys = [i for i, s in enumerate(d["strings"]) if s == "thread.name"]
    distinct = len(d["stacks"]) - 1
    first = len(d["attributes"])
    a_type = len(g.profile(d["profiles"][1], "1.10"))
    threads = max(1, (megabytes << 20) // (a_type * len(d["profiles"])))
    d["attributes"] += [(keys[0], "pool thread %d" % i, 0) for i in range(threads)]
    path = os.path.join(WORK, "large.otlp")
    spots = []
    for n, p in enumerate(d["profiles"]):
        p["extra"] = b"".join(g.raw(2, g.sample({"stack": 1 + i % distinct, "attrs": [first + t], "values": [1 + i % 999]}, "1.10"))
                              for t in range(threads) for i in range(distinct))
        spots.append(n)
    with open(path, "wb") as f:
        f.write(g.encode(d))
    return path


def directions(path):
    """What the tool is asked for: name, input, unpacked bytes of it, arguments."""
    out = {kind: os.path.join(WORK, "converted." + kind) for kind in ("otlp", "pb.gz", "otlp.zst", "jsonl", "back.otlp")}
    size = os.path.getsize(path)
    yield "info", path, size, []
    yield "top", path, size, []
    yield "check", path, size, []
    yield "convert", path, size, ["-o", out["otlp"]]
    yield "convert to .otlp.zst", path, size, ["-o", out["otlp.zst"]]
    yield "convert to .pb.gz", path, size, ["-o", out["pb.gz"]]
    yield "convert to .jsonl", path, size, ["-o", out["jsonl"]]
    with gzip.open(out["pb.gz"]) as f:
        unpacked = sum(len(piece) for piece in iter(lambda: f.read(1 << 20), b""))
    yield "convert from .pb.gz", out["pb.gz"], unpacked, ["-o", out["back.otlp"]]
    yield "convert from .jsonl", out["jsonl"], os.path.getsize(out["jsonl"]), ["-o", out["back.otlp"]]


def floors(path):
    """CPU seconds of what a direction cannot do without: packing its output, or unpacking its input, with zlib or zstd alone, or
    writing so many bytes of text."""
    packed = os.path.join(WORK, "converted.pb.gz")
    plain = os.path.join(WORK, "plain.pb")
    with gzip.open(packed) as f, open(plain, "wb") as to:
        shutil.copyfileobj(f, to)
    level = "import sys, zlib; c = zlib.compressobj(2, zlib.DEFLATED, 31); c.compress(open(sys.argv[1], 'rb').read()); c.flush()"
    yield "convert to .pb.gz", min(cost([sys.executable, "-c", level, plain])[0] for _ in range(quick(1, 3)))
    yield "convert from .pb.gz", min(cost(["sh", "-c", "gzip -dc %s > %s" % (packed, plain)])[0] for _ in range(quick(1, 3)))
    text = os.path.join(WORK, "converted.jsonl")
    blocks = ["dd", "if=/dev/zero", "of=" + plain, "bs=1M", "count=%d" % (os.path.getsize(text) >> 20), "status=none"]
    yield "convert to .jsonl", min(cost(blocks)[0] for _ in range(quick(1, 3)))
    if shutil.which("zstd"):
        yield "convert to .otlp.zst", min(cost(["zstd", "-q", "-3", "-f", "--single-thread", "-o", plain, path])[0]
                                          for _ in range(quick(1, 3)))


def tool():
    path = big_profile(quick(20, 100))
    size = os.path.getsize(path)
    lines = []
    for name, source, unpacked, arguments in directions(path):
        command = [TOOL, name.split()[0]] + arguments + [source]
        runs = [cost(command) for _ in range(quick(1, 5))]
        cpu, resident, elapsed = min(r[0] for r in runs), min(r[1] for r in runs), min(r[2] for r in runs)
        rate, memory = unpacked / 1e6 / cpu, resident * 1024 / unpacked
        lines.append([name, "%.0f" % (unpacked / 1e6), "%.2f" % cpu, "%.0f" % rate, "%.2f" % elapsed, "%.2f" % memory])
        row("tool-" + name.replace(" ", "-"), "`otelprof %s`, a %d MB profile" % (name, size / 1e6),
            "≥ 200 MB/s, memory ≤ 3 × the input", "%.0f MB/s, %.2f × the input" % (rate, memory), "",
            rate >= 200 and memory <= 3)
    floor = dict(floors(path))
    for line in lines:
        line.append("%.2f" % floor[line[0]] if line[0] in floor else "")
    table("tool", "The tool", "CPU time and elapsed time, each the least of the runs; MB are those of the input, unpacked; memory is the largest "
          "resident size, the file's own pages included; the floor is what zlib or zstd alone takes for that output or input, or writing so many bytes of text.",
          ["command", "MB", "CPU s", "MB/s", "elapsed s", "memory × input", "floor, CPU s"], lines)


def run():
    memory()
    start_up()
    flush()
    symbols()
    soak()
    tool()


__all__ = ["run", "LIB"]
