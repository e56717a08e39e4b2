#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""collector.py COLLECTOR LIBRARY TOOL PROGRAM FOLDER ROUNDS: real Collectors that end at random moments while
programs send, ROUNDS times each of two:

  plain   ends in order (SIGTERM) and writes to a file: there every profile is found once
  relay   is killed (SIGKILL); passes on to `otelprof receive`, which lives, and waits for its answers: nothing
          is lost, and what the receiver gets twice it knows by the ids of the profiles

Prints what is wrong; the last line is a count."""
import os
import random
import signal
import socket
import subprocess
import sys
import time

from profiles import Receiver, compare, finish_program, ids_of_folder, ids_of_stream, start_program, wait_for

PLAIN = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%(http)d"}, grpc: {endpoint: "127.0.0.1:%(grpc)d"}}}}
exporters: {file: {path: "%(folder)s/plain.bin", format: proto, append: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
"""
RELAY = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%(http)d"}, grpc: {endpoint: "127.0.0.1:%(grpc)d"}}}}
exporters:
  otlp_http:
    endpoint: "http://127.0.0.1:%(to)d"
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [otlp_http]}}
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    return [s.getsockname()[1] for s in sockets]


class Collector:
    def __init__(self, program, name, text, folder):
        self.program, self.log = program, os.path.join(folder, name + ".log")
        self.config = os.path.join(folder, name + ".yaml")
        with open(self.config, "w") as f:
            f.write(text)

    def start(self):
        self.at = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--config", "file:" + self.config, "--feature-gates=+service.profilesSupport"],
                stdout=log, stderr=subprocess.STDOUT)

    def await_ready(self):
        def ready():
            with open(self.log, "rb") as f:
                f.seek(self.at)
                return b"Everything is ready" in f.read()
        if not wait_for(120, ready):
            raise SystemExit("the Collector does not start: see %s" % self.log)

    def stop(self, number):
        self.process.send_signal(number)
        self.process.wait(120)


def main():
    collector, library, tool, program, folder, rounds = sys.argv[1:6] + [int(sys.argv[6])]
    names = ("plain", "relay")
    spools = {n: os.path.join(folder, "spool-" + n) for n in names}
    made = {n: os.path.join(folder, "made-" + n) for n in names}
    for n in names:
        os.makedirs(made[n])
    receiver = Receiver(tool, os.path.join(folder, "stored"), os.path.join(folder, "receiver.log"))
    receiver.start()
    http, grpc, http2, grpc2 = free_ports(4)
    plain = Collector(collector, "plain", PLAIN % {"http": http, "grpc": grpc, "folder": folder}, folder)
    relay = Collector(collector, "relay", RELAY % {"http": http2, "grpc": grpc2, "to": receiver.port}, folder)

    def start(to, number, output, **more):
        return start_program(
            [program, "86400", "20"], library, "file:%s/%d-%%n.otlp,%s" % (made[to], number, output),
            OTELPROF_SPOOL=spools[to], OTELPROF_INTERVAL="200ms", OTELPROF_HEAP_INTERVAL="16k",
            OTEL_SERVICE_NAME="service-%d" % number, OTEL_EXPORTER_OTLP_TIMEOUT="3000",
            OTELPROF_SHUTDOWN_TIMEOUT="500ms", **more)

    urls = {"plain": "http://127.0.0.1:%d" % http, "relay": "http://127.0.0.1:%d" % http2}
    programs = []
    for to, port in (("plain", grpc), ("relay", grpc2)):
        programs += [start(to, 0, urls[to]), start(to, 1, "grpc://127.0.0.1:%d" % port),
                     start(to, 2, urls[to], OTEL_EXPORTER_OTLP_COMPRESSION="gzip")]
    rnd = random.Random()
    most = ends = 0
    for _ in range(rounds):
        plain.start()
        relay.start()
        plain.await_ready()
        relay.await_ready()
        time.sleep(rnd.uniform(0, 1.2))
        plain.stop(signal.SIGTERM)
        time.sleep(rnd.uniform(0, 0.3))
        relay.stop(signal.SIGKILL)
        ends += 2
        most = max(most, sum(len(os.listdir(s)) for s in spools.values() if os.path.isdir(s)))
        time.sleep(rnd.uniform(0, 0.3))
    good = True
    for p in programs:
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=120)
        if p.returncode != -signal.SIGTERM:
            print("a program ended with %r, said %r" % (p.returncode, err))
            good = False
    plain.start()
    relay.start()
    plain.await_ready()
    relay.await_ready()
    for n in names:
        r = subprocess.run([tool, "send", "-o", urls[n], spools[n]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
        if r.returncode != 0 or any(f.startswith("otelprof-") for f in os.listdir(spools[n])):
            print("%s: %s" % (n, r.stdout.strip()))
            good = False
    plain.stop(signal.SIGTERM)
    relay.stop(signal.SIGTERM)
    receiver.stop()
    made_ids = {n: ids_of_folder(made[n]) for n in names}
    good = compare(made_ids["plain"], ids_of_stream(os.path.join(folder, "plain.bin"))) and good
    good = compare(made_ids["relay"], ids_of_folder(os.path.join(folder, "stored"))) and good
    with open(receiver.log, errors="replace") as f:
        again = f.read().count("there already")
    if most == 0:
        print("the spools were never used")
        good = False
    print("%d profiles, Collectors ended %d times, at most %d files in the spools, %d messages that came again"
          % (sum(len(i) for i in made_ids.values()), ends, most, again))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
