#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fleet.py LIBRARY TOOL PROGRAM FOLDER COUNT [COLLECTOR]: COUNT processes, started as fast as they can be, send
to one receiver, or to one Collector that passes each message on to the receiver. Their flushes must arrive spread evenly over the interval, whatever the moments they were started
at. Prints what is wrong; the last line is a count.

The measure is the distance of Kolmogorov and Smirnov between the arrival times, modulo the interval, and the
uniform distribution: chance alone gives more than 2.7 / sqrt(COUNT) once in a million runs. A machine that
stands still for a while shifts it by its share of the interval, so the interval is long."""
import glob
import math
import os
import signal
import sys

import collector
from profiles import Receiver, compare, finish_program, ids_of_folder, start_program

INTERVAL = 20


def distance(times, interval):
    phases = sorted(t % interval / interval for t in times)
    n = len(phases)
    up = max((i + 1) / n - p for i, p in enumerate(phases))
    down = max(p - i / n for i, p in enumerate(phases))
    # The begin of the interval is arbitrary: Kuiper's sum does not depend on it, and is at most
    # twice the distance from the best begin.
    return (up + down) / 2


def judge(what, times, count):
    """times: process -> arrival of one of its flushes."""
    limit = 2.7 / math.sqrt(count)
    d = distance(times.values(), INTERVAL)
    print("%s: %d processes, distance %.3f, limit %.3f" % (what, len(times), d, limit))
    return len(times) == count and d < limit


def main():
    library, tool, program, folder, count = sys.argv[1:5] + [int(sys.argv[5])]
    made, stored = os.path.join(folder, "made"), os.path.join(folder, "stored")
    os.makedirs(made)
    receiver = Receiver(tool, stored, os.path.join(folder, "receiver.log"))
    receiver.start()
    port = receiver.port
    relay = None
    if len(sys.argv) > 6:
        port, grpc = collector.free_ports(2)
        text = collector.RELAY % {"http": port, "grpc": grpc, "to": receiver.port}
        relay = collector.Collector(sys.argv[6], "relay", text, folder)
        relay.start()
        relay.await_ready()
    # An interval and half of another: each process has one flush by the clock at least, most two.
    programs = [start_program([program, str(INTERVAL * 1.5)], library,
                              "file:%s/%%p-%%n.otlp,http://127.0.0.1:%d" % (made, port),
                              OTELPROF_INTERVAL="%ds" % INTERVAL, OTELPROF_HEAP_INTERVAL="16k",
                              OTELPROF_SHUTDOWN_TIMEOUT="20s", OTEL_SERVICE_NAME="fleet")
                for _ in range(count)]
    good = all([finish_program(p) for p in programs])
    if relay:
        relay.stop(signal.SIGTERM)
    receiver.stop()
    first = {}
    for path in glob.glob(os.path.join(stored, "*.otlp")):
        pid = os.path.basename(path).split("-")[2]
        time = os.stat(path).st_mtime_ns / 1e9
        first[pid] = min(time, first.get(pid, time))
    made_ids = ids_of_folder(made)
    good = compare(made_ids, ids_of_folder(stored)) and good
    good = judge("first flushes", first, count) and good
    size = [os.path.getsize(p) for p in glob.glob(os.path.join(made, "*-0.otlp"))]
    print("%d profiles of %d processes, %d bytes a flush" % (len(made_ids), len(first), sum(size) / max(1, len(size))))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
