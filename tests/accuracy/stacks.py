# SPDX-License-Identifier: Apache-2.0
"""Stacks: complete, and with no caller that the program does not have."""
import os
import re
import shutil
import subprocess
import tempfile

from table import HOSTS, QUICK, Run, at_least, exact, head, holds, host, skip, tell
import table

ROOT = re.compile(r"^(_start|__libc_start_.*|start_thread|_*clone3?|\[truncated\])$")
PLAIN = {"CPU_HZ": 1000, "HEAP": "false"}


def loop(mode):
    return {"do_" + mode: {"main", "in_thread"}, "in_thread": {"start_thread"},
            "main": {"__libc_start_call_main", "__libc_start_main", "_start"}}


def chain(*names):
    """Innermost first: each has the next as its only caller."""
    return {a: {b} for a, b in zip(names, names[1:])}


# What may call what, for the functions of each mode that are named here.
EDGES = {
    "tiny": dict(chain("tiny_leaf", "tiny_saver"),
                 tiny_saver={"tiny_frame", "tiny_aligned", "tiny_dynamic"},
                 tiny_frame={"do_tiny"}, tiny_aligned={"do_tiny"}, tiny_dynamic={"do_tiny"}),
    "graph": {a: b for c in ("red", "green", "blue") for a, b in chain(
        c + "_4", c + "_3", c + "_2", c + "_1", "do_graph").items()},
    "plt": chain("plt_callee", "plt_caller", "do_plt"),
    "strings": chain("string_caller", "do_strings"),
    "qsort": chain("sort_caller", "do_qsort"),
    "handler": chain("handler_work", "on_signal", "__restore_rt"),
    "altstack": chain("handler_work", "on_signal", "__restore_rt"),
    "vdso": chain("clock_caller", "do_vdso"),
    # Jumps leave no frame: whoever is below tail_caller was called by it.
    "tail": dict(chain("tail_middle", "tail_caller", "do_tail"), tail_last={"tail_caller"},
                 tail_first={"tail_caller"}),
    "shallow": {"deep": {"deep", "do_shallow"}},
    "noreturn": chain("never_returns", "calls_never", "never_main", "start_thread"),
    "asm": dict(chain("asm_leaf", "asm_caller", "do_asm")),
    "pushes": dict(chain("asm_pushes", "pushes_caller", "do_pushes")),
    "jit": chain("jit_caller", "do_jit"),
    "misled": dict(chain("misled_caller", "do_misled"), asm_misled={"misled_caller"}),
    "malloc": chain("heap_caller", "do_malloc"),
    "format": chain("format_caller", "do_format"),
}
# Stacks of these end where the unwinder has nothing to go by; what is there must be true.
CUT = ("asm", "pushes", "jit", "misled")
# Function that most of the time is in or below.
BUSY = {"tiny": "tiny_saver", "graph": "red_1", "plt": "plt_caller", "strings": "string_caller",
        "qsort": "sort_caller", "handler": "raiser", "altstack": "raiser", "vdso": "clock_caller",
        "tail": "tail_caller", "shallow": "deep", "noreturn": "calls_never",
        "malloc": "heap_caller", "format": "format_caller"}
LEAF = {"asm": "asm_leaf", "pushes": "asm_pushes", "misled": "asm_misled"}


def samples(mode, ms, in_thread, binding="lazy", settings=None):
    argv = [host("stacks_" + binding), mode, ms] + (["t"] if in_thread else [])
    run = Run(argv, dict(PLAIN, **(settings or {})))
    return [(s.frames, s.value) for s in run.samples("samples")], run


def foreign(rows, allowed):
    """Pairs of a function and a caller that it does not have, with their counts."""
    found = {}
    for frames, count in rows:
        for callee, caller in zip(frames, frames[1:]):
            if callee in allowed and caller not in allowed[callee]:
                found[callee, caller] = found.get((callee, caller), 0) + count
    return found


def one_mode(mode, ms, binding="lazy"):
    """Returns how many of the samples are complete."""
    total = complete = 0
    for in_thread in (False, True):
        rows, _ = samples(mode, ms, in_thread, binding)
        count = sum(n for _, n in rows)
        good = sum(n for f, n in rows if ROOT.match(f[-1]))
        where = "%s, %s thread%s" % (mode, "own" if in_thread else "main",
                                     "" if binding == "lazy" else ", bound at start")
        if mode not in CUT:
            # What ends before main or in the loader's start is complete, too: it ends in _start.
            at_least(where + ": complete, of %d" % count, 0.99 if count < 1000 else 0.999,
                     good / max(1, count))
            total, complete = total + count, complete + good
        wrong = foreign(rows, dict(EDGES[mode], **loop(mode)))
        exact(where + ": callers that are not the program's", 0, sum(wrong.values()))
        if wrong:
            tell(str(wrong)[:150])
        if mode in BUSY:
            busy = sum(n for f, n in rows if BUSY[mode] in f)
            at_least(where + ": share below " + BUSY[mode], 0.2, busy / max(1, count))
        if mode in LEAF:
            leaf = sum(n for f, n in rows if f[0] == LEAF[mode])
            at_least(where + ": leaf is named", 0.9, leaf / max(1, count))
            called = sum(n for f, n in rows if f[0] == LEAF[mode] and len(f) > 1)
            tell("with a caller: %.0f %%" % (100 * called / max(1, leaf)))
    return total, complete


def classes():
    head("samples that end in _start or a thread's entry, and callers that are not the program's")
    modes = ["tiny", "strings", "handler", "graph"] if QUICK else sorted(EDGES)
    total = complete = 0
    for mode in modes:
        count, good = one_mode(mode, 200 if QUICK else 1000)
        total, complete = total + count, complete + good
    if not QUICK:
        count, good = one_mode("plt", 1000, "now")
        total, complete = total + count, complete + good
    tell("%d of %d samples are complete" % (complete, total))
    at_least("all of them", 0.999 if total > 5000 else 0.995, complete / max(1, total))


def special():
    head("what has to be below what")
    rows, _ = samples("qsort", 400, False)
    inner = [(f, n) for f, n in rows if f[0] == "compare"]
    holds("qsort: compare is below sort_caller", inner and
          all("sort_caller" in f[1:] for f, _ in inner))
    for mode in ("handler", "altstack"):
        rows, _ = samples(mode, 400, False)
        inner = [f for f, n in rows for _ in range(n) if "handler_work" in f]
        if mode == "altstack":
            exact(mode + ": samples of a handler there, which has the tick blocked", 0, len(inner))
            continue
        at_least(mode + ": samples of the handler's work", 50, len(inner))
        lost = [f for f in inner if "on_signal" not in f or "raiser" not in f[f.index("on_signal"):]]
        at_least(mode + ": the handler is below the code that it interrupted", 0.99,
                 1 - len(lost) / max(1, len(inner)))
        if lost:
            tell("not so: " + " < ".join(lost[0])[:130])
    rows, _ = samples("noreturn", 400, False)
    holds("a call that does not return: not taken for the function behind it",
          not any("behind_calls_never" in f for f, _ in rows))
    rows, _ = samples("jit", 400, False)
    inner = [f for f, _ in rows if "jit_callee" in f]
    good = sum("jit_caller" in f[f.index("jit_callee"):] for f in inner)
    at_least("run-time code: its caller is found", 0.9, good / max(1, len(inner)))


def invented(rows):
    """Samples with a frame that is in no object, though the program makes no code at run time."""
    return sum(n for f, n in rows if any(name.startswith("+") or name == "[unknown]" for name in f))


def misled():
    head("unwind information that is wrong: no frame where no code is, and the stack counts as incomplete")
    rows, run = samples("misled", 2000, False, settings={"CPU_HZ": 100})  # one tick a sample
    ends = sum(n for f, n in rows if f[-1] == "asm_misled")
    at_least("samples that end in the function of which it is wrong", 100, ends)
    exact("frames outside all code", 0, invented(rows))
    counted = sum(p.notes.get("otelprof.dropped.incomplete_stacks", 0)
                  for p in run.profiles("samples"))
    holds("counted as incomplete", 0.9 * ends <= counted <= ends, "%d of %d" % (counted, ends))


# Who calls what in throws.cc; a function may be in two parts, of which one is cold.
THROWN = {"thrower(int)": {"thrower(int)", "catcher()"}, "catcher()": {"in_thread(void*)"},
          "in_thread(void*)": {"start_thread"}, "__cxa_throw": {"thrower(int)"},
          "_Unwind_RaiseException": {"__cxa_throw", "thrower(int)", "catcher()"},
          "_Unwind_Resume": {"thrower(int)", "catcher()"}}


def throws():
    # 64 threads of 300 ms at 1000 Hz are 19,200 samples, of which 19 may be incomplete (QUICK: 9,600, and 9). When the
    # ends of libgcc's functions were not known, 0.36 % were: 69 (QUICK: 35); now none of 19,000 was.
    head("exceptions through 13 frames: samples that end in a thread's entry, and true callers")
    threads, ms = 64, 150 if QUICK else 300
    run = Run([host("throws"), threads, ms], PLAIN)
    rows = [(tuple(name.split(" [clone")[0] for name in s.frames), s.value)
            for s in run.samples("samples") if "in_thread(void*)" in s.frames or
            not any(name.startswith("main") for name in s.frames)]
    count = sum(n for _, n in rows)
    good = sum(n for f, n in rows if ROOT.match(f[-1]))
    at_least("samples", 0.8 * threads * ms, count)
    at_least("complete, of %d" % count, 0.999, good / max(1, count))
    exact("frames outside all code", 0, invented(rows))
    wrong = foreign(rows, THROWN)
    at_least("callers that are the program's, of %d" % count, 0.999,
             1 - sum(wrong.values()) / max(1, count))
    if wrong:
        tell(str(wrong)[:150])
    inner = sum(n for f, n in rows if "_Unwind_Resume" in f or "_Unwind_RaiseException" in f)
    at_least("share below libgcc's unwinder", 0.5, inner / max(1, count))


def deep():
    head("recursion 5,000 deep: cut, marked, and as deep as asked")
    for depth in (128, 16, 1024):
        rows, run = samples("deep", 300, False, settings={"MAX_DEPTH": depth})
        inner = [(f, n) for f, n in rows if "deep" in f]
        holds("%d: samples" % depth, inner)
        cut = [f for f, _ in inner if f[-1] == "[truncated]"]
        # Without the mark a stack is whole, of any length; also one of just as many frames as are kept.
        shallow = [f for f, _ in inner if f[-1] != "[truncated]" and
                   (len(f) > depth or not ROOT.match(f[-1]))]
        exact("%d: deepest stack, its mark included" % depth, depth + 1, max(len(f) for f in cut))
        exact("%d: stacks that are cut without a mark" % depth, 0, len(shallow))
    rows, _ = samples("shallow", 300, False)
    inner = [(f, n) for f, n in rows if "deep" in f]
    # A tick finds it at its bottom nearly always, and else on the way there or back.
    levels = [f.count("deep") for f, n in inner for _ in range(n)]
    exact("60 levels: most that were seen", 61, max(levels))
    at_least("60 levels: samples that have all of them", 0.8, levels.count(61) / len(levels))


def perf_shares(mode, ms, folder):
    """Inclusive shares of functions by `perf record --call-graph dwarf`; None when perf may not."""
    data = os.path.join(folder, mode)
    command = ["perf", "record", "-q", "-F", "499", "-e", "cpu-clock", "--call-graph", "dwarf,16384",
               "-o", data, host("stacks_lazy"), mode, str(ms)]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60)
        text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], timeout=200,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0 or text.returncode != 0:
        return None
    stacks = [[line.split()[-1] for line in part.splitlines() if line.split()]
              for part in text.stdout.decode(errors="replace").split("\n\n")]
    stacks = [s for s in stacks if s]
    return shares(stacks) if stacks else None


def shares(stacks):
    sums = {}
    for stack in stacks:
        for name in set(stack):
            sums[name] = sums.get(name, 0) + 1
    return {name: (count / len(stacks), len(stacks)) for name, count in sums.items()}


def against_perf():
    head("share of time in or below a function: perf record --call-graph dwarf as truth")
    if shutil.which("perf") is None:
        skip("comparison with perf", "perf is not installed")
        return
    modes = ["strings"] if QUICK else ["tiny", "graph", "strings", "qsort", "handler", "format", "malloc"]
    with tempfile.TemporaryDirectory(prefix="otelprof-perf.") as folder:
        for mode in modes:
            theirs = perf_shares(mode, 500, folder)
            if theirs is None:
                skip("comparison with perf", "perf may not be used here")
                return
            rows, _ = samples(mode, 1000, False)
            ours = shares([f for f, n in rows for _ in range(n)])
            names = set(EDGES[mode]) & set(theirs)
            # What the kernel does to start a handler falls on its first instruction, where perf
            # is still in the kernel.
            for name in sorted(names - {"on_signal", "handler_work"}):
                compare_share(mode, name, theirs[name], ours.get(name, (0, len(rows))))


def compare_share(mode, name, theirs, ours):
    (p, n), (q, m) = theirs, ours
    both = (p * n + q * m) / (n + m)
    # Ticks of a kernel timer come in regular steps, which is less even than chance at these rates.
    sigma = (both * (1 - both) * (1 / n + 1 / m)) ** 0.5 * 1.5 + 0.004
    table.spread("%s: %s" % (mode, name), 1000 * p, 1000 * q, 1000 * sigma)


def all_cases():
    tell("programs in " + HOSTS)
    table.each(classes, special, misled, throws, deep, against_perf)
