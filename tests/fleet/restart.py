#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""restart.py LIBRARY TOOL PROGRAM FOLDER TIMES: programs send while their receiver is killed and started
again TIMES times at random moments, every second time with SIGKILL. In the end, when the spool is empty,
each profile that was made is stored once. Prints what is wrong; the last line is a count."""
import os
import random
import signal
import subprocess
import sys
import time

from profiles import Receiver, compare, finish_program, ids_of_folder, start_program, wait_for

library, tool, program, folder, times = sys.argv[1:5] + [int(sys.argv[5])]
made, stored, spool = (os.path.join(folder, n) for n in ("made", "stored", "spool"))
os.makedirs(made)
receiver = Receiver(tool, stored, os.path.join(folder, "receiver.log"))
seed = random.randrange(1 << 32)
rnd = random.Random(seed)


def start(number, output, **more):
    return start_program(
        [program, str(times * 0.42), "20"], library, "file:%s/%d-%%n.otlp,%s" % (made, number, output),
        OTELPROF_SPOOL=spool, OTELPROF_INTERVAL="150ms", OTEL_SERVICE_NAME="service-%d" % (number % 3),
        OTELPROF_HEAP_INTERVAL="16k", OTEL_EXPORTER_OTLP_TIMEOUT="2000", OTELPROF_SHUTDOWN_TIMEOUT="300ms", **more)


def spooled():
    return len([n for n in os.listdir(spool) if n.startswith("otelprof-")]) if os.path.isdir(spool) else 0


receiver.start()
receiver.stop()
url = "http://127.0.0.1:%d" % receiver.port
programs = [start(0, url), start(1, url, OTEL_EXPORTER_OTLP_COMPRESSION="gzip"),
            start(2, url, OTEL_EXPORTER_OTLP_COMPRESSION="zstd"), start(3, url, OTEL_EXPORTER_OTLP_PROTOCOL="http/json"),
            start(4, url), start(5, url)]
killed = most = 0
for i in range(times):
    receiver.start()
    time.sleep(rnd.uniform(0.05, 0.6))
    receiver.stop(signal.SIGKILL if i % 2 else signal.SIGTERM)
    killed += 1
    most = max(most, spooled())
    time.sleep(rnd.uniform(0, 0.2))
good = all([finish_program(p) for p in programs])
receiver.start()
for i in range(20):
    if spooled() == 0:
        break
    # Files of every encoding; what was JSON goes out as protobuf.
    r = subprocess.run([tool, "send", "-o", url, spool], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode != 0:
        print(r.stdout.strip())
        good = False
receiver.stop()
with open(receiver.log, errors="replace") as f:
    again = f.read().count("there already")
made_ids = ids_of_folder(made)
good = compare(made_ids, ids_of_folder(stored)) and good
if spooled() != 0:
    print("%d files are left in the spool" % spooled())
    good = False
if most == 0:
    print("the spool was never used")
    good = False
if killed != times:
    good = False
print("%d profiles, receiver killed %d times, at most %d files in the spool, %d messages known from before (seed %d)"
      % (len(made_ids), killed, most, again, seed))
sys.exit(0 if good else 1)
