# SPDX-License-Identifier: Apache-2.0
"""Runs programs under the library and judges what was measured against what is true.

A row of the table is one number: truth, measured, deviation, the spread (one standard deviation) that chance alone
allows, and how many of those the deviation is. More than LIMIT of them fails. A spread of 0 asks for equality.
"""
import glob
import math
import os
import shutil
import subprocess
import sys
import tempfile

import otlp

LIMIT = 4.0
TIMEOUT = 300
HERE = os.path.dirname(os.path.abspath(__file__))
LIB = os.environ["ACCURACY_LIB"]
HOSTS = os.environ["ACCURACY_HOSTS"]
QUICK = os.environ.get("QUICK", "") not in ("", "0")
ROW = "%-58s %16s %16s %9s %8s %6s  %s"


class Result:
    """Rows judged so far."""
    passed = failed = skipped = 0


def show(value):
    return "%.4g" % value if isinstance(value, float) and abs(value) < 1000 else "%d" % round(value)


def row(case, truth, measured, deviation, spread, sigmas, verdict):
    print(ROW % (case[:58], truth, measured, deviation, spread, sigmas, verdict), flush=True)


def head(title):
    print("\n== " + title)
    row("case", "truth", "measured", "deviation", "1 sigma", "sigmas", "verdict")


def judge(is_good, case, truth, measured, deviation, spread, sigmas):
    if is_good:
        Result.passed += 1
    else:
        Result.failed += 1
    row(case, truth, measured, deviation, spread, sigmas, "ok" if is_good else "FAIL")
    return is_good


def spread(case, truth, measured, sigma, within=None):
    """measured may be off by LIMIT * sigma; and, if within is given, by that share of truth at most."""
    off = measured - truth
    sigmas = abs(off) / sigma if sigma > 0 else (0.0 if off == 0 else math.inf)
    share = off / truth if truth else (0.0 if off == 0 else math.inf)
    is_good = sigmas <= LIMIT and (within is None or abs(share) <= within)
    return judge(is_good, case, show(truth), show(measured), "%+.3f%%" % (100 * share),
                 "%.3f%%" % (100 * sigma / truth if truth else 0), "%.2f" % sigmas)


def exact(case, truth, measured):
    return spread(case, truth, measured, 0)


def within(case, truth, measured, share, slack=0):
    """For what is no matter of chance but of cost: off by that share of truth, plus slack, at most."""
    off = measured - truth
    return judge(abs(off) <= share * truth + slack, case, show(truth), show(measured),
                 "%+.3f%%" % (100 * off / truth if truth else 0),
                 "<=%.2g%%" % (100 * (share + (slack / truth if truth else 0))), "-")


def at_least(case, wanted, measured):
    return judge(measured >= wanted, case, ">= %.5g" % wanted, "%.6g" % measured, "-", "-", "-")


def holds(case, is_true, detail=""):
    return judge(bool(is_true), case, "yes", "yes" if is_true else "no", "-", "-", detail or "-")


def skip(case, reason):
    Result.skipped += 1
    row(case, "-", "-", "-", "-", "-", "skip: " + reason)


def tell(text):
    print("   " + text, flush=True)


def each(*groups):
    """Runs groups of cases; one that breaks off counts as a failure and does not end the others."""
    for group in groups:
        try:
            group()
        except (RuntimeError, ValueError, KeyError, IndexError, OSError,
                subprocess.TimeoutExpired) as problem:
            holds(group.__name__ + " ran to its end", False, repr(problem)[:120])


def number_of(path):
    """Order of the flushes of one process: NAME-PID.otlp.gz, then NAME-PID.1.otlp.gz, …"""
    parts = os.path.basename(path).split(".")
    return int(parts[-3]) if len(parts) > 3 and parts[-3].isdigit() else 0


class Run:
    """One run of a program under the library. flushes: a list of {type: profile}; out: what it printed."""

    def __init__(self, argv, settings=None, stdin=None, check=True, name="*", env=None):
        self.folder = tempfile.mkdtemp(prefix="otelprof-accuracy.")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OTEL")}
        environment.update(env or {})
        environment.update(LD_PRELOAD=LIB, LC_ALL="C.UTF-8",
                           OTELPROF_OUTPUT="file:%s/%%e-%%p.otlp.gz" % self.folder,
                           OTELPROF_MEMORY_LIMIT="256m", OTELPROF_CPU_BUDGET="100%")
        environment.update({"OTELPROF_" + k: str(v) for k, v in (settings or {}).items()})
        try:
            done = subprocess.run([str(a) for a in argv], env=environment, stdout=subprocess.PIPE,
                                  stdin=stdin or subprocess.DEVNULL, timeout=TIMEOUT)
            if check and done.returncode != 0:
                raise RuntimeError("%s ended with status %d" % (argv[0], done.returncode))
            self.out = done.stdout.decode(errors="replace")
            self.load(name)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, name):
        paths = sorted(glob.glob("%s/%s.otlp.gz" % (self.folder, name)), key=number_of)
        self.flushes = [otlp.load(p) for p in paths]

    def truth(self):
        """Lines `NAME number…` of what the program printed."""
        rows = [line.split() for line in self.out.splitlines()]
        return {r[0]: [int(v) for v in r[1:]] for r in rows if len(r) > 1}

    def profiles(self, kind):
        """Profiles of a type that add up; of the in-use ones, which are states, the last."""
        found = [f[kind] for f in self.flushes if kind in f]
        return found[-1:] if kind.startswith("inuse") else found

    def samples(self, kind):
        return [s for p in self.profiles(kind) for s in p.samples]

    def total(self, kind):
        return sum(s.value for s in self.samples(kind))

    def site(self, kind, function, thread=None):
        """Sum over the samples with the function in their stack (and of the thread of that name)."""
        return sum(s.value for s in self.samples(kind) if function in s.frames and
                   (thread is None or s.attrs.get("thread.name") == thread))

    def by(self, kind, key):
        sums = {}
        for s in self.samples(kind):
            sums[key(s)] = sums.get(key(s), 0) + s.value
        return sums

    def lost(self, kinds):
        """Losses that the profiles of these types admit: name to number."""
        out = {}
        for flush in self.flushes:
            for p in (flush[k] for k in kinds if k in flush):
                for key, value in p.notes.items():
                    if key.startswith("otelprof.dropped."):
                        out[key[len("otelprof.dropped."):]] = value
        return out


def host(name):
    return os.path.join(HOSTS, name)


def finish():
    r = Result
    looked_at = r.passed + r.failed
    print("\naccuracy: %d cases looked at" % looked_at)
    print("%d passed, %d failed, %d skipped" % (r.passed, r.failed, r.skipped))
    sys.exit(0 if r.failed == 0 and looked_at > 0 else 1)
