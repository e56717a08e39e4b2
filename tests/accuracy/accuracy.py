# SPDX-License-Identifier: Apache-2.0
"""accuracy.py [SUITE…]: the suites heap, cpu, stacks, real, peers; without arguments all (QUICK: without peers)."""
import importlib
import os
import sys
import time

import table

SUITES = ["heap", "cpu", "stacks", "real", "peers"]


def main():
    for name in sys.argv[1:] or SUITES[:4 if table.QUICK else 5]:
        began = time.time()
        importlib.import_module(name).all_cases()
        table.tell("(%s: %.0f s)" % (name, time.time() - began))
    table.finish()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
