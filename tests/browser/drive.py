#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""drive.py PAGE.html: opens it in Chromium, works with it, and compares what is seen with the page's own data.

The data are added up here anew; the tool's other commands prove elsewhere that they are those of the profile. Prints a line for
each difference, then how many answers were compared.
"""
import collections
import html
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Tree:
    def __init__(self, d):
        self.d = d
        self.parent, path = [-1] * len(d["depth"]), []
        for i, depth in enumerate(d["depth"]):
            del path[depth:]
            self.parent[i] = path[-1] if path else -1
            path.append(i)

    def self_of(self, t, thread=None):
        out = [0] * len(self.parent)
        if thread is None:
            for i, v in zip(self.d["self"][t][::2], self.d["self"][t][1::2]):
                out[i] = v
        else:
            p = self.d["by_thread"][t]
            for i, k, v in zip(p[::3], p[1::3], p[2::3]):
                if k == thread:
                    out[i] += v
        return out

    def total(self, t, thread=None):
        return sum(self.self_of(t, thread))

    def through(self, t, wanted):
        """Sum of what has a frame that is wanted, by name number, in its path."""
        inside = [False] * len(self.parent)
        for i in range(1, len(self.parent)):
            inside[i] = inside[self.parent[i]] or wanted(self.d["name"][i])
        return sum(v for v, k in zip(self.self_of(t), inside) if k)

    def cum(self, t, base=False):
        """By name the sum of what it is anywhere in; once where it is inside itself."""
        pairs, sums = self.d["base" if base else "self"][t], [0] * len(self.parent)
        for i, v in zip(pairs[::2], pairs[1::2]):
            sums[i] = v
        for i in range(len(sums) - 1, 0, -1):
            sums[self.parent[i]] += sums[i]
        out, path, open_names = collections.Counter(), [], collections.Counter()
        for i, depth in enumerate(self.d["depth"]):
            for k in path[depth:]:
                open_names[k] -= 1
            del path[depth:]
            name = self.d["name"][i]
            if i > 0 and open_names[name] == 0:
                out[name] += sums[i]
            open_names[name] += 1
            path.append(name)
        return out

    def flat(self, t):
        out = collections.Counter()
        for i, v in enumerate(self.self_of(t)):
            out[self.d["name"][i]] += v
        return out


def compare_rows(tree, first, seen, wanted, what):
    """Are these the rows of all names that are wanted, each once, the largest first? How many differ, how many there are."""
    d, flat, cum = tree.d, tree.flat(first), tree.cum(first)
    base = tree.cum(first, True) if d["base"] is not None else {}
    names = [k for k in range(1, len(d["names"])) if (flat[k] or cum[k] or base.get(k)) and wanted(d["names"][k])]
    want = collections.Counter((d["names"][k], "{:,}".format(flat[k]), "{:,}".format(cum[k])) for k in names)
    have = collections.Counter(tuple(row) for _, row in seen["rows"])
    bad = sum(((want - have) + (have - want)).values())
    places = [place for place, _ in seen["rows"]]
    order = [int(row[1].replace(",", "")) for _, row in seen["rows"]]
    if places != list(range(1, len(names) + 1)) or seen["said"] != len(names) or order != sorted(order, reverse=True):
        bad += 1
    if seen["most"] > 200: # made at once: as many as are seen, and some
        bad += 1
    if bad:
        print("    %s: %d differ of %d; %d said, %d at once; %r" % (what, bad, len(names), seen["said"], seen["most"],
                                                                list(((want - have) + (have - want)).items())[:3]))
    return bad, len(names)


def browser(page, ask):
    folder = tempfile.mkdtemp(prefix="otelprof-browser.")
    text = open(page, encoding="utf-8").read()
    script = open(os.path.join(HERE, "drive.js"), encoding="utf-8").read()
    copy = os.path.join(folder, "page.html")
    with open(copy, "w", encoding="utf-8") as f:
        f.write(text.replace("</body>", "<script>const ASK = %s;\n%s</script>\n</body>" % (json.dumps(ask), script)))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
               "--disable-background-networking", "--disable-component-update", "--window-size=1200,800",
               "--user-data-dir=" + os.path.join(folder, "data"), "--virtual-time-budget=20000", "--dump-dom", "file://" + copy]
    out = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ, HOME=folder)).stdout
    found = re.search(r'<pre id="seen">(.*?)</pre>', out, re.S)
    subprocess.run(["rm", "-rf", folder], check=False)
    if not found:
        sys.exit("    the page did not run to its end: %r" % out[-300:])
    return json.loads(html.unescape(found.group(1)))


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    d = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
    tree = Tree(d)
    counts = [t for t, k in enumerate(d["types"]) if k["unit"] == "count"]
    first = d["first"]
    assert first in counts, "the first type of a test page is a count"
    label = lambda t: "%s (%s)" % (d["types"][t]["type"], d["types"][t]["unit"])
    flat = tree.flat(first)
    names = [k for k, v in flat.most_common() if k > 1]
    anchored = ["^" + re.escape(d["names"][k]).replace("\\ ", " ") + "$" for k in names[:2]]
    modules = [m for m in d["modules"] if m][:2]
    others = [t for t in counts if t != first] + [first]
    regex = r"worker_\d*5>|mem|burn"
    ask = {"regex": regex, "search": anchored + ["."], "types": [label(t) for t in others], "threads": d["threads"][:3], "modules": modules}
    seen = browser(sys.argv[1], ask)
    number = lambda v: "{:,}".format(v)
    share = lambda v, whole: "%.2f %%" % (100 * v / whole)
    total = tree.total(first)
    expect = {"title": d["title"], "bad expression": "true", "after Escape": "", "flipped": "truetrue", "themes": "dark,light",
              "zoomed": True, "zoomed out": True, "graph again": True, "sandwich address": True, "sandwich colours": True,
              "Colour: function": True, "Colour: module": True, "no threads": not d["threads"],
              "Colour: thread": bool(d["threads"]), "Colour: difference": d["base"] is not None,
              "search .": share(total, total)}
    begins = {"all": number(total) + " in ", "all again": number(total) + " in ", "end": number(total) + " in "}
    for q, k in zip(anchored, names):
        expect["search " + q] = share(tree.through(first, lambda n, k=k: n == k), total)
    for t in others:
        begins["type " + label(t)] = number(tree.total(t)) + " in "
    for i, t in enumerate(ask["threads"]):
        begins["thread " + t] = number(tree.total(first, i)) + " in "
    for m in modules:
        begins["module " + m] = number(tree.through(first, lambda n, m=m: d["modules"][d["module"][n]] == m)) + " in "
    bad = 0
    if "error" in seen:
        bad += 1
        print("    " + seen["error"])
    for what, want in expect.items():
        if seen.get(what) != want:
            bad += 1
            print("    %s: %r, and not %r" % (what, seen.get(what), want))
    for what, want in begins.items():
        if not str(seen.get(what)).startswith(want):
            bad += 1
            print("    %s: %r does not begin with %r" % (what, seen.get(what), want))
    def matches(name):
        return re.search(regex, name, re.I) is not None

    found = tree.through(first, lambda k: matches(d["names"][k]))
    if seen.get("regex") != share(found, total) or found == 0:
        bad += 1
        print("    regular expression: %r, and not %r" % (seen.get("regex"), share(found, total)))
    looked = []
    for what, wanted in (("listed", lambda _: True), ("found", matches)):
        wrong, count = compare_rows(tree, first, seen[what], wanted, what)
        bad += wrong
        looked.append(count)
    bad += 0 in looked
    best = max(v for k, v in flat.items() if k > 0) # small frames, which are one function, included
    top = [d["names"][k] for k, v in flat.items() if k > 0 and v == best]
    if seen.get("first row") not in top or not seen.get("rows") or seen.get("colours", 0) < 3:
        bad += 1
        print("    table: %r, %r rows; %r colours" % (seen.get("first row"), seen.get("rows"), seen.get("colours")))
    middle = re.match(r"(.*?)  ([\d,]+), ", seen.get("sandwich", ""))
    cum = middle and middle.group(1) in d["names"] and tree.through(first, lambda n: d["names"][n] == middle.group(1))
    if not cum or number(cum) != middle.group(2):
        bad += 1
        print("    sandwich: %r, and not %r" % (seen.get("sandwich"), cum))
    print("%d answers of %d frames, %d rows, %d of them found, %d wrong" % (
        len(expect) + len(begins) + 3, len(d["depth"]), looked[0], looked[1], bad))
    sys.exit(bad > 0)


main()
