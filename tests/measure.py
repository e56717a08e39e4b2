#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py FILE COMMAND…: runs the command, ends with its status, and writes into FILE: the CPU time in microseconds of
it and of the children it waited for, the largest resident size in KiB, the elapsed time in microseconds."""
import os
import signal
import sys
import time

begin = time.monotonic()
pid = os.fork()
if pid == 0:
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as e:
        sys.stderr.write("%s: %s\n" % (sys.argv[2], e))
        os._exit(127)
_, status, usage = os.wait4(pid, 0)
elapsed = time.monotonic() - begin
with open(sys.argv[1], "w") as f:
    f.write("%d %d %d\n" % ((usage.ru_utime + usage.ru_stime) * 1e6, usage.ru_maxrss, elapsed * 1e6))
if os.WIFSIGNALED(status):
    if os.WTERMSIG(status) != signal.SIGKILL:
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
sys.exit(os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else os.WEXITSTATUS(status))
