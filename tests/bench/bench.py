# SPDX-License-Identifier: Apache-2.0
"""bench.py BUILD [PART…]: the measurements of run.sh. PART: micro, programs, worker, or a function of one, as in worker.flush."""
import sys
import time

import common
import micro
import programs
import report
import worker

PARTS = {"micro": micro, "programs": programs, "worker": worker}


def main():
    report.load()
    report.machine(sys.argv[2:])
    print("others here: %s" % (", ".join(common.peers()) or "none"))
    for name in sys.argv[2:] or list(PARTS):
        begin = time.monotonic()
        module, _, function = name.partition(".")
        getattr(PARTS[module], function or "run")()
        print("  (%s: %.0f s)" % (name, time.monotonic() - begin), flush=True)
    report.document()
    missed = [r for r in report.results["rows"].values() if r[4] == "**missed**"]
    print("bench: %d rows, %d targets missed" % (len(report.results["rows"]), len(missed)))


try:
    main()
finally:
    common.cleanup()
