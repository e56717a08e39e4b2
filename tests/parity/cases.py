# SPDX-License-Identifier: Apache-2.0
"""cases.py KIND ...: prints NAME<tab>RESULT for each case that a test suite has reported.

tap DIR             DIR/*.out are TAP, DIR/*.status the exit status of each script
junit FILE...       JUnit's XML
lines REGEX FILE... lines with groups `name` and `result`; results are turned into ok, fail, skip where they are known
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree

WORDS = {"ok": "ok", "pass": "ok", "passed": "ok", "success": "ok", "fail": "fail", "failed": "fail", "not ok": "fail",
         "err": "fail", "error": "fail", "skip": "skip", "skipped": "skip", "ignore": "skip", "untested": "skip",
         "exception": "fail"}


def tell(name, result):
    name = " ".join(name.split())
    print("%s\t%s" % (name.encode("ascii", "backslashreplace").decode(), " ".join(result.split())))


def tap(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.out"))):
        script = os.path.basename(path)[:-4].replace("+", "/")
        number = 0
        with open(path, errors="backslashreplace") as lines:
            for line in lines:
                found = re.match(r"(not )?ok\b\s*(\d+)?(.*)", line)
                if not found:
                    continue
                number = int(found.group(2) or number + 1)
                result = "fail" if found.group(1) else "ok"
                mark = re.search(r"(?<!\\)#\s*(skip|todo)", found.group(3), re.I)
                if mark:
                    result = "skip" if mark.group(1).lower() == "skip" else "todo, " + result
                tell("%s %d" % (script, number), result)
        status = path[:-4] + ".status"
        if os.path.exists(status):
            with open(status) as f:
                tell(script + " exit", "status " + f.read())


def junit(paths):
    for path in paths:
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            result = "ok"
            for kind in ("skipped", "failure", "error"):
                if case.find(kind) is not None:
                    result = {"skipped": "skip"}.get(kind, "fail")
            tell("%s.%s" % (case.get("classname", ""), case.get("name", "")), result)


def lines(pattern, paths):
    wanted = re.compile(pattern)
    for path in paths:
        with open(path, errors="backslashreplace") as text:
            for line in text:
                found = wanted.search(line)
                if found:
                    result = found.group("result")
                    tell(found.group("name"), WORDS.get(result.lower(), result))


def main():
    kind, arguments = sys.argv[1], sys.argv[2:]
    if kind == "tap":
        tap(arguments[0])
    elif kind == "junit":
        junit(arguments)
    else:
        lines(arguments[0], arguments[1:])


main()
