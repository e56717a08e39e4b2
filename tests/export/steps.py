#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""steps.py FILE COMMAND…: runs the command, passes its output on, and ends with its status. Writes into FILE how many
milliseconds passed between its line "done" and its end, seen as steps of a sleep of 10 ms: while the machine as a whole
stands still, none passes."""
import subprocess
import sys
import time

STEP_MS = 10
program = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
steps = None
for line in program.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
    if line == b"done\n":
        steps = 0
        break
while program.poll() is None:
    time.sleep(STEP_MS / 1000)
    steps = None if steps is None else steps + 1
sys.stdout.buffer.write(program.stdout.read())
with open(sys.argv[1], "w") as f:
    f.write("%d\n" % (-1 if steps is None else steps * STEP_MS))
sys.exit(program.returncode if program.returncode >= 0 else 128 - program.returncode)
