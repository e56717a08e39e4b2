# SPDX-License-Identifier: Apache-2.0
"""Programs as they are: CPU totals against the kernel's account, redis against its own memory count."""
import glob
import math
import os
import shutil
import subprocess
import tempfile
import time

import table
from table import QUICK, Run, head, holds, skip, spread, tell, within

M = 1 << 20


def words(megabytes):
    """A text to compress and sort: the same on every machine."""
    state, out, size = 12345, [], 0
    while size < megabytes * M:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        word = "word%d line %d\n" % (state >> 12 & 0x3FFF, state >> 8 & 0xFF)
        out.append(word)
        size += len(word)
    return "".join(out)


def programs(text):
    """Name and command; the first word is looked for."""
    sql = ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x < 1500000) "
           "SELECT count(*), sum(x % 7), max(printf('%d', x * 31 % 1000)) FROM n;")
    loop = "s=0\nfor i in range(9000000): s+=i%7\n"
    return [
        ("gzip", ["gzip", "-9", "-c", text]),
        ("bzip2", ["bzip2", "-c", text]),
        ("xz, two threads", ["xz", "-3", "-T2", "-c", text]),
        ("zstd, two threads", ["zstd", "-12", "-T2", "-q", "-c", text]),
        ("sort", ["sort", "-k3n", text]),
        ("awk", ["awk", "{ n[$1]++; s += length($0) } END { print s }", text]),
        ("perl", ["perl", "-e", "my %h; for (1..2500000) { $h{$_ % 5000} .= 'x' } print 1"]),
        ("sqlite3", ["sqlite3", ":memory:", sql]),
        ("python3", ["/usr/bin/python3", "-c", loop]),
        ("sha256sum", ["sha256sum"] + [text] * 12),
        ("cc1 below gcc", ["gcc", "-O2", "-S", "-o", "/dev/null", "-x", "c", text + ".c"]),
        ("shell with children", ["sh", "-c", "for i in 1 2 3; do gzip -6 -c %s | wc -c; done" % text]),
    ]


def c_source(functions):
    return "".join("int f%d(int *v,int n){int s=%d;for(int i=0;i<n;i++){s+=v[i]*%d;if(s>%d)s-=v[n-i];"
                   "else v[i]^=s;}return s;}\n" % (i, i, i + 3, 1000 + i) for i in range(functions))


class Child:
    """A command under the library: its CPU time (with its children) by the kernel, and its profiles'."""

    def __init__(self, command):
        run = Run.__new__(Run)
        run.folder = tempfile.mkdtemp(prefix="otelprof-accuracy.")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL")}
        environment.update(LD_PRELOAD=table.LIB, LC_ALL="C.UTF-8",
                           OTELPROF_OUTPUT="file:%s/%%e-%%p.otlp.gz" % run.folder, OTELPROF_CPU_BUDGET="100%")
        try:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.status = process.returncode
            self.used = usage.ru_utime + usage.ru_stime
            run.load("*")
            self.processes = len({p for p in glob.glob(run.folder + "/*")})
            self.measured = run.total("cpu") / 1e9
        finally:
            shutil.rmtree(run.folder, ignore_errors=True)


def totals():
    head("CPU of real programs against getrusage, children included")
    with tempfile.TemporaryDirectory(prefix="otelprof-real.") as folder:
        text = os.path.join(folder, "text")
        with open(text, "w") as f:
            f.write(words(2 if QUICK else 12))
        with open(text + ".c", "w") as f:
            f.write(c_source(200 if QUICK else 1500))
        chosen = programs(text)
        used = measured = 0
        for name, command in chosen[:3] if QUICK else chosen:
            if shutil.which(command[0]) is None:
                skip(name, command[0] + " is not installed")
                continue
            child = Child(command)
            if child.status != 0:
                holds(name + ": ended well", False, str(child.status))
                continue
            # Per process: what ran before the library did, its own work at the end, half a period.
            slack = 0.025 * max(child.processes, 2)
            within("%s (ms)" % name, 1000 * child.used, 1000 * child.measured, 0.02, 1000 * slack)
            used, measured = used + child.used, measured + child.measured
        within("all of them (ms)", 1000 * used, 1000 * measured, 0.04 if QUICK else 0.02)


def redis_command(socket, *words_):
    return subprocess.run(["redis-cli", "-s", socket] + list(words_), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60).stdout.decode()


def redis_commands(keys, size):
    """SET key:000001 to a value of a known length, in the server's own protocol."""
    value = "v" * size
    return "".join("*3\r\n$3\r\nSET\r\n$10\r\nkey:%06d\r\n$%d\r\n%s\r\n" % (i, size, value)
                   for i in range(keys)).encode()


def redis(interval, keys, size):
    """inuse_space of a server that holds the data set, and its own count of its memory."""
    folder = tempfile.mkdtemp(prefix="otelprof-redis.")
    socket = folder + "/s"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL")}
    environment.update(LD_PRELOAD=table.LIB, OTELPROF_OUTPUT="file:%s/%%e-%%p.otlp.gz" % folder,
                       OTELPROF_HEAP_INTERVAL=str(interval), OTELPROF_MEMORY_LIMIT="512m",
                       OTELPROF_CPU_BUDGET="100%")
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                               "--appendonly", "no", "--dir", folder], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if "PONG" in redis_command(socket, "ping"):
                break
            time.sleep(0.05)
        subprocess.run(["redis-cli", "-s", socket, "--pipe"], input=redis_commands(keys, size),
                       stdout=subprocess.DEVNULL, timeout=60)
        info = dict(line.split(":", 1) for line in redis_command(socket, "info").splitlines()
                    if ":" in line)
        redis_command(socket, "shutdown", "nosave")
        server.wait(60)
        run = Run.__new__(Run)
        run.folder = folder
        run.load("redis-*")
        return run, info
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def data_set():
    head("redis-server with a known data set: inuse_space against its used_memory")
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        skip("redis", "redis-server or redis-cli is not installed")
        return
    keys, size = (20000, 1000) if QUICK else (100000, 1000)
    exact_run, info = redis(1, keys, size)
    live, used = exact_run.total("inuse_space"), int(info["used_memory"])
    tell("%d keys of %d bytes, allocator %s" % (keys, size, info.get("mem_allocator", "?")))
    holds("keys are there", info.get("db0", "").startswith("keys=%d," % keys), info.get("db0"))
    lost = exact_run.lost(("inuse_objects", "inuse_space"))
    holds("nothing lost", not lost, str(lost or ""))
    # The server counts what the allocator gave, by size class: up to a fifth more than was asked for.
    share = live / used
    holds("what was asked for is 80 to 101 % of what the allocator gave", 0.80 <= share <= 1.01,
          "%.1f %%" % (100 * share))
    for interval in (64 << 10,) if QUICK else (64 << 10, 512 << 10):
        run, info = redis(interval, keys, size)
        truth = int(info["used_memory"]) * share
        # Blocks far below the interval: the variance is the interval times what is live.
        spread("%d KiB: inuse_space (truth: used_memory x %.3f)" % (interval >> 10, share), truth,
               run.total("inuse_space"), math.sqrt(truth * interval))


def allocator():
    head("inuse_space against what glibc says of itself (mallinfo2)")
    for interval in (1, 64 << 10):
        run = Run([table.host("sites"), "malloc", "1000:20000:20000", "100:50000:50000"],
                  {"HEAP_INTERVAL": interval, "CPU": "false"})
        # glibc adds 8 bytes to a block and rounds up to a multiple of 16: nothing, and 12.
        mine = run.total("inuse_space") + 8 * run.site("inuse_objects", "site_0") + \
            12 * run.site("inuse_objects", "site_1")
        truth = run.truth()["mallinfo"][0]
        sigma = 0 if interval == 1 else math.sqrt(25e6 * interval)
        # Some blocks are the loader's and the C library's from before.
        spread("at %d" % interval, truth, mine, sigma + 0.01 * truth / table.LIMIT)


def all_cases():
    table.each(totals, data_set, allocator)
