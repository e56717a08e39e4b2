# SPDX-License-Identifier: Apache-2.0
"""What the parts of the bench share: where things are, running a command and what it cost, peers, statistics."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
LIB = os.path.join(BUILD, "libotelprof.so")
TOOL = os.path.join(BUILD, "otelprof")
HOSTS = os.path.join(BUILD, "bench")
QUICK = os.environ.get("QUICK", "") not in ("", "0")
WORK = tempfile.mkdtemp(prefix="otelprof-bench.")


def host(name):
    return os.path.join(HOSTS, name)


def quick(short, full):
    return short if QUICK else full


def fresh(name):
    return tempfile.mkdtemp(prefix=name + ".", dir=WORK)


def ours(out=None, **settings):
    """Settings of a profiled run; its files go to out."""
    env = {"LD_PRELOAD": LIB, "OTELPROF_OUTPUT": "file:%s/%%e-%%p.otlp.gz" % (out or fresh("out")),
           "OTELPROF_CPU_BUDGET": "100%"}
    env.update({"OTELPROF_" + k: str(v) for k, v in settings.items()})
    return env


def library(*patterns):
    for pattern in patterns:
        found = sorted(glob.glob(pattern))
        if found:
            return found[0]
    return None


def peers():
    """{name: settings} of what is installed here."""
    usual = "/usr/lib/x86_64-linux-gnu/"
    tcmalloc = library(usual + "libtcmalloc.so.4")
    jemalloc = library(usual + "libjemalloc.so.2")
    profiler = library(usual + "libprofiler.so.0")
    heaptrack = library("/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib/*/heaptrack/libheaptrack_preload.so")
    other = os.environ.get("ASYNC_PROFILER")
    have = {}
    if tcmalloc:
        have["tcmalloc"] = {"LD_PRELOAD": tcmalloc}
        have["tcmalloc, sampling 512 KiB"] = {"LD_PRELOAD": tcmalloc, "TCMALLOC_SAMPLE_PARAMETER": "524288"}
    if jemalloc:
        have["jemalloc"] = {"LD_PRELOAD": jemalloc}
        have["jemalloc, prof 512 KiB"] = {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true,lg_prof_sample:19"}
        have["jemalloc, prof every"] = {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true,lg_prof_sample:0"}
    if heaptrack:
        have["heaptrack"] = {"LD_PRELOAD": heaptrack, "DUMP_HEAPTRACK_OUTPUT": "/dev/null"}
    if profiler:
        have["gperftools 100 Hz"] = {"LD_PRELOAD": profiler, "CPUPROFILE": os.path.join(WORK, "gperf"),
                                     "CPUPROFILE_FREQUENCY": "100"}
    if other:
        have["async-profiler, 512 KiB"] = {
            "LD_PRELOAD": other, "ASPROF_COMMAND": "start,nativemem=512k,file=%s/ap.jfr" % WORK}
    return have


def clean(settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL", "LD_PRELOAD", "MALLOC_", "CPUPROFILE"))}
    env.update(settings)
    return env


def output(command, settings=None, may_fail=False):
    done = subprocess.run(command, env=clean(settings or {}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd=WORK)
    if done.returncode != 0 and not may_fail:
        sys.exit("bench: %s ended with %d: %s" % (" ".join(command), done.returncode,
                                                 done.stderr.decode(errors="replace")[-500:]))
    return done.stdout.decode(errors="replace")


def cost(command, settings=None):
    """CPU seconds (with children), resident KiB, elapsed seconds."""
    words = ["%s=%s" % kv for kv in (settings or {}).items()]
    cpu, resident, elapsed = output([host("spawn")] + words + command).split()[-3:]
    return int(cpu) / 1e6, int(resident), int(elapsed) / 1e6


def alternate(measure, variants, rounds):
    """{name: [result, …]}: each round runs all variants, every second one backwards: a drift of the machine hits all alike."""
    results = {name: [] for name in variants}
    for r in range(rounds):
        names = list(variants)
        for name in names if r % 2 == 0 else reversed(names):
            results[name].append(measure(variants[name]))
    return results


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def spread(values):
    """Half of the distance between the outermost, in percent of the median."""
    middle = median(values)
    return 50 * (max(values) - min(values)) / middle if middle else 0


def thread_cpu_ns(pid, name):
    """CPU time of a thread of that name, by the scheduler's own account; None: there is none (any more)."""
    for comm in glob.glob("/proc/%d/task/*/comm" % pid):
        try:
            with open(comm) as f:
                if f.read().strip() != name:
                    continue
            with open(os.path.dirname(comm) + "/schedstat") as f:
                return int(f.read().split()[0])
        except OSError:
            pass
    return None


def status_kib(pid, field):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return 0


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return None


def cleanup():
    shutil.rmtree(WORK, ignore_errors=True)
