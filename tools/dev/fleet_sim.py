#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fleet_sim.py [--processes N] [--interval S] [--bytes B] [--collectors C] [--capacity R] [--outage S] [--shed]

What a fleet of profiled processes asks of its Collectors: in peace, and after an outage. Each process flushes once
an interval, at a phase of its own, and after a failure waits as core/export/retry.c does: 1 s, doubled up to 60 s,
half of it by chance. While it waits its messages go into the spool; once one has arrived the others follow one
after the other. A Collector takes CAPACITY requests a second; what is beyond waits until the request's time-out
(10 s) or, with --shed, is told at once to come back (503, Retry-After). Prints figures, second by second averages.
"""
import argparse
import heapq
import random


def pause(failures, rnd):
    """otp_retry_pause_ns with the defaults of the OTLP sink."""
    whole = min(60.0, 2.0 ** (failures - 1))
    return whole / 2 + rnd.random() * whole / 2


class Fleet:
    def __init__(self, a):
        self.a = a
        self.rnd = random.Random(1)
        self.capacity = a.collectors * a.capacity
        self.attempts = {}  # second -> requests that came
        self.taken = {}     # second -> requests that were taken
        self.refused = 0
        self.backlog_end = 0.0

    def is_up(self, t):
        return not self.a.begin <= t < self.a.begin + self.a.outage

    def run(self):
        a = self.a
        events = []  # (time, kind, process)
        waiting = [0] * a.processes
        failures = [0] * a.processes
        is_trying = [False] * a.processes
        most = 0
        total = 0
        budget = {}
        for p in range(a.processes):
            heapq.heappush(events, (self.rnd.random() * a.interval, 0, p))
        while events:
            t, kind, p = heapq.heappop(events)
            if t > a.end:
                break
            if kind == 0:  # a flush
                waiting[p] += 1
                total += 1
                most = max(most, total)
                heapq.heappush(events, (t + a.interval, 0, p))
                if is_trying[p]:
                    continue
                is_trying[p] = True
            second = int(t)
            self.attempts[second] = self.attempts.get(second, 0) + 1
            used = budget.get(second, 0)
            if self.is_up(t) and used < self.capacity:
                budget[second] = used + 1
                self.taken[second] = self.taken.get(second, 0) + 1
                waiting[p] -= 1
                total -= 1
                failures[p] = 0
                is_trying[p] = waiting[p] > 0
                if is_trying[p]:
                    heapq.heappush(events, (t + a.latency, 1, p))
                if total == 0 or total < a.processes * 0.01:
                    if t > a.begin + a.outage and self.backlog_end == 0.0:
                        self.backlog_end = t
                continue
            failures[p] += 1
            self.refused += 1
            if self.is_up(t) and a.shed:
                delay = a.retry_after * (1 + self.rnd.uniform(0.05, 0.1))
            else:
                delay = pause(failures[p], self.rnd) + (10.0 if self.is_up(t) else 0.0)
            heapq.heappush(events, (t + delay, 1, p))
        return most


def rate(counts, begin, end):
    values = [counts.get(s, 0) for s in range(int(begin), int(end))]
    return max(values), sum(values) / len(values)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--processes", type=int, default=100000)
    p.add_argument("--interval", type=float, default=60.0, help="OTELPROF_INTERVAL, seconds")
    p.add_argument("--bytes", type=int, default=16384, help="of one flush, as it is sent")
    p.add_argument("--collectors", type=int, default=4)
    p.add_argument("--capacity", type=int, default=1000, help="requests a second that one Collector takes")
    p.add_argument("--latency", type=float, default=0.02, help="of a request, seconds")
    p.add_argument("--outage", type=float, default=600.0, help="of all Collectors, seconds")
    p.add_argument("--retry-after", type=float, default=30.0)
    p.add_argument("--shed", action="store_true", help="a Collector at its limit answers 503 with Retry-After")
    a = p.parse_args()
    a.begin = 2 * a.interval
    a.end = a.begin + a.outage + 30 * a.interval
    fleet = Fleet(a)
    most = fleet.run()
    back = a.begin + a.outage
    steady = a.processes / a.interval
    print("%d processes, a flush of %d bytes every %g s, %d Collectors of %d requests/s"
          % (a.processes, a.bytes, a.interval, a.collectors, a.capacity))
    top, mean = rate(fleet.attempts, a.interval, a.begin)
    print("in peace: %.0f requests/s (most in one second %d), %.1f MB/s, %.1f TB a day; load of a Collector %.0f %%"
          % (mean, top, mean * a.bytes / 1e6, steady * a.bytes * 86400 / 1e12, 100 * mean / (a.collectors * a.capacity)))
    half = a.begin + a.outage / 2
    top, mean = rate(fleet.attempts, half, back)
    print("in an outage of %g s, its second half: %.0f attempts/s (most %d); without pauses it would be %.0f"
          % (a.outage, mean, top, a.processes))
    kept = a.outage / a.interval
    print("kept at its end: %d messages, %.0f a process, %.2f MB a process, %.0f GB in all"
          % (most, most / a.processes, kept * a.bytes / 1e6, most * a.bytes / 1e9))
    top, _ = rate(fleet.attempts, back, back + 60)
    first, _ = rate(fleet.attempts, back, back + 1)
    print("after it: %d attempts in the first second, %d in the worst of the first minute" % (first, top))
    if fleet.backlog_end:
        print("all is delivered %.0f s after the end of the outage" % (fleet.backlog_end - back))
    else:
        print("not all is delivered within %g s: too few Collectors" % (a.end - back))


main()
