#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stand_still.py COMMAND…: runs a test in a session of its own, and again and again lets one of its processes, drawn by
chance, stand still for longer than a second, as on a machine that has no time for it. Tests must not notice."""
import os
import random
import signal
import subprocess
import sys
import time


def members(session):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as f:
                if int(f.read().rsplit(")", 1)[1].split()[3]) == session:
                    yield int(name)
        except OSError:  # it has just ended
            pass


program = subprocess.Popen(sys.argv[1:], start_new_session=True)
stops = 0
while program.poll() is None:
    time.sleep(random.uniform(0.1, 0.6))
    found = list(members(program.pid))
    if not found:
        continue
    pid = random.choice(found)
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(1.2)
        os.kill(pid, signal.SIGCONT)
        stops += 1
    except ProcessLookupError:
        pass
print("stood still %d times" % stops)
sys.exit(program.returncode if program.returncode >= 0 else 128 - program.returncode)
