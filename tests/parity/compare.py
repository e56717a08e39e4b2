# SPDX-License-Identifier: Apache-2.0
"""compare.py LOG KNOWN BARE N AGAIN... PASS...: compares the cases of runs under the library with those without it.

Each file has a line NAME<tab>RESULT for each case; several of one name are taken together. Prints the number of cases,
of those that succeed in BARE, of equal, of different and of unstable ones; LOG names each of the last two kinds. A
case is unstable when BARE and one of the N files AGAIN differ, or when it differs and the expression KNOWN has its name.
"""
import os
import re
import sys


def read(path):
    cases = {}
    with open(path, errors="backslashreplace") as lines:
        for line in lines:
            name, tab, result = line.rstrip("\n").partition("\t")
            if tab:
                cases.setdefault(name, []).append(result)
    return {name: ", ".join(sorted(results)) for name, results in cases.items()}


def main():
    log, known, first, count, *others = sys.argv[1:]
    known = re.compile(known or "(?!)")
    bare, *rest = [read(path) for path in [first] + others]
    agains, passes = rest[:int(count)], rest[int(count):]
    names = [os.path.basename(path).rsplit(".", 1)[0] for path in others[int(count):]]
    every = sorted(set(bare).union(*rest))
    equal, differ, unstable = 0, [], []
    for case in every:
        here = bare.get(case, "missing")
        others_here = {again.get(case, "missing") for again in agains} - {here}
        if others_here:
            unstable.append("unstable: %s: without the library %s, or %s" % (case, here, ", or ".join(sorted(others_here))))
            continue
        wrong = ["%s %s" % (name, cases.get(case, "missing")) for name, cases in zip(names, passes)
                 if cases.get(case, "missing") != here]
        if not wrong:
            equal += 1
        elif known.fullmatch(case):
            unstable.append("known as unstable: %s: without the library %s, %s" % (case, here, ", ".join(wrong)))
        else:
            differ.append("differs: %s: without the library %s, %s" % (case, here, ", ".join(wrong)))
    with open(log, "w", errors="backslashreplace") as out:
        for line in differ + unstable:
            out.write(line + "\n")
    good = sum(result.startswith("ok") for result in bare.values())
    print(len(every), good, equal, len(differ), len(unstable))


main()
