# SPDX-License-Identifier: Apache-2.0
"""Results: rows against targets, tables and curves. Kept in a file of the build, so that one part can be measured again; the
document and the picture are made from all that is known."""
import json
import math
import os
import platform
import subprocess
import time

from common import BUILD, QUICK, TOP

STORE = os.path.join(BUILD, "bench.json")
DOCUMENT = os.path.join(TOP, "docs/PERFORMANCE.md")
PICTURE = os.path.join(TOP, "docs/scale.svg")
BEGIN, END = "<!-- made by `make bench`: begin -->", "<!-- made by `make bench`: end -->"
ORDER = ["pair", "pair4096", "threads2", "live", "cross", "sampled", "free", "every", "tick", "span", "programs100", "redis",
         "programs1000", "memory", "soak", "start", "flush", "symbols", "payload-redis", "payload-python", "tool-top", "tool-check",
         "tool-convert", "tool-convert-to-.otlp.zst", "tool-convert-to-.pb.gz", "tool-convert-to-.jsonl", "tool-convert-from-.pb.gz",
         "tool-convert-from-.jsonl", "tool-info", "objects"]
UNCLEAR = "not to be told: noise"
COLOURS = ["#777777", "#c8860d", "#1f6fb2", "#b23a48"]

results = {"rows": {}, "tables": {}, "curves": {}, "notes": {}}


def load():
    if os.path.exists(STORE):
        with open(STORE) as f:
            results.update(json.load(f))


def save():
    with open(STORE, "w") as f:
        json.dump(results, f, indent=1)


def row(key, name, target, value, peer, met, note=""):
    """One line of the main table; met: True, False, None when there was nothing to compare with, or
    UNCLEAR when the machine was too restless for the target."""
    state = {True: "met", False: "**missed**", None: "no other here"}.get(met, met)
    results["rows"][key] = [name, target, value + ("; " + note if note else ""), peer, state]
    print("%-50s %-36s %s [%s] %s" % (name, value, peer, target, state), flush=True)
    save()


def table(key, title, text, header, lines):
    results["tables"][key] = [title, text, [str(h) for h in header], lines]
    print("  %s" % title)
    for line in [header] + lines:
        print("    " + "  ".join("%-12s" % c for c in line))
    save()


def curve(key, x, y, lines):
    results["curves"][key] = [x, y, lines]
    save()


def ns(value):
    return "%.1f" % value if value < 1000 else "%.0f" % value


def machine(parts):
    """Notes where and when; of a run of some parts, beside what is known of the run of all."""
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "unknown processor")
    with open("/proc/loadavg") as f:
        load_now = f.read().split()[0]
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout.decode().strip()
    conditions = "%d × %s, Linux %s, %s; commit %s, %s%s; load %s at the start" % (
        os.cpu_count(), model, platform.release(), " ".join(platform.libc_ver()), commit or "unknown",
        time.strftime("%Y-%m-%d", time.gmtime()), ", short run (QUICK=1)" if QUICK else "", load_now)
    if parts and "machine" in results["notes"]:
        results["notes"].setdefault("parts", {})[" ".join(parts)] = conditions
    else:
        results["notes"].update({"machine": conditions, "parts": {}})
    print(conditions)


def markdown(header, lines):
    out = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return out + ["| " + " | ".join(str(c) for c in line) + " |" for line in lines]


def document():
    out = [results["notes"].get("machine", ""), ""]
    for parts, conditions in results["notes"].get("parts", {}).items():
        out += ["Measured again, `%s`: %s" % (parts, conditions), ""]
    keys = sorted(results["rows"], key=lambda k: ORDER.index(k) if k in ORDER else len(ORDER))
    out += markdown(["row", "target", "here", "best other", ""], [results["rows"][k] for k in keys])
    out += ["", "![Cost per event over scale](scale.svg)"]
    for title, text, header, lines in results["tables"].values():
        out += ["", "### " + title, ""] + ([text, ""] if text else []) + markdown(header, lines)
    with open(DOCUMENT) as f:
        page = f.read()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    with open(DOCUMENT, "w") as f:
        f.write(before + BEGIN + "\n" + "\n".join(out) + "\n" + END + after)
    if results["curves"]:
        with open(PICTURE, "w") as f:
            f.write(picture())


def short(n):
    return "%dM" % (n // 1000000) if n >= 1000000 else "%dk" % (n // 1000) if n >= 1000 else str(n)


def panel(left, top, wide, high, data):
    """One chart: the horizontal axis by powers, the vertical from 0."""
    x_name, y_name, lines = data
    points = [p for line in lines.values() for p in line]
    steps = sorted({p[0] for p in points})
    place = {x: math.log(max(x, 1)) for x in steps}
    low, span = min(place.values()), (max(place.values()) - min(place.values())) or 1
    peak = max(p[1] for p in points) * 1.15 or 1
    out = []

    def xy(x, y):
        return left + 50 + (place[x] - low) / span * (wide - 70), top + high - 45 - y / peak * (high - 80)

    def text(x, y, words, anchor="middle", colour="#222222"):
        out.append('<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>' % (x, y, anchor, colour, words))
    for part in range(5):
        y = xy(steps[0], peak * part / 4)[1]
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#dddddd"/>' % (left + 50, left + wide - 20, y, y))
        text(left + 45, y + 4, "%.3g" % (peak * part / 4), "end")
    for x in steps:
        text(xy(x, 0)[0], top + high - 30, short(x))
    text(left + wide / 2, top + high - 12, x_name)
    text(left + 8, top + 14, y_name, "start")
    for i, (name, line) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        out.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (
            colour, " ".join("%.1f,%.1f" % xy(*p) for p in line)))
        out += ['<circle r="3" fill="%s" cx="%.1f" cy="%.1f"/>' % ((colour,) + xy(*p)) for p in line]
        text(left + wide - 20, top + 14 + 14 * i, name, "end", colour)
    return out


def picture():
    wide, high = 480, 280
    curves = list(results["curves"].values())
    rows = (len(curves) + 1) // 2
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">' % (
        2 * wide, rows * high), '<rect width="100%" height="100%" fill="#ffffff"/>']
    for i, data in enumerate(curves):
        out += panel(i % 2 * wide, i // 2 * high, wide, high, data)
    return "\n".join(out + ["</svg>", ""])
