# SPDX-License-Identifier: Apache-2.0
"""accuracy.py [SUITE…]: the suites heap, cpu, stacks, real, peers, or all of them."""
import importlib
import os
import sys
import time

import table


def main():
    for name in sys.argv[1:] or ["heap", "cpu", "stacks", "real", "peers"]:
        began = time.time()
        importlib.import_module(name).all_cases()
        table.tell("(%s: %.0f s)" % (name, time.time() - began))
    table.finish()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
