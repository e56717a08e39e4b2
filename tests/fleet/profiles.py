# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: ids of profiles, programs, receivers."""
import collections
import glob
import gzip
import os
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from judge import fields, one  # noqa: E402


def ids_of(data):
    """The ids of all profiles of one message."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    for raw in fields(data)[1]:
        for scope in fields(raw)[2]:
            for p in fields(scope)[2]:
                yield one(fields(p), 7, b"").hex()


def ids_of_folder(folder):
    """Id -> how often."""
    count = collections.Counter()
    for name in glob.glob(os.path.join(folder, "*.otlp*")):
        with open(name, "rb") as f:
            count.update(ids_of(f.read()))
    return count


def ids_of_stream(path):
    """The same of what a Collector's file exporter wrote: lengths and messages."""
    count = collections.Counter()
    with open(path, "rb") as f:
        data = f.read()
    at = 0
    while at + 4 <= len(data):
        size = struct.unpack(">I", data[at:at + 4])[0]
        count.update(ids_of(data[at + 4:at + 4 + size]))
        at += 4 + size
    if at != len(data):
        print("%s: bytes at its end that are no message" % path)
    return count


def compare(made, arrived):
    """Prints what was lost or came twice; True when nothing."""
    lost = set(made) - set(arrived)
    twice = [i for i, n in arrived.items() if n > 1]
    foreign = set(arrived) - set(made)
    if not made:
        print("no profile was made")
    if lost or twice or foreign:
        print("%d profiles lost, %d came twice, %d that nobody made" % (len(lost), len(twice), len(foreign)))
    return bool(made) and not lost and not twice and not foreign


def wait_for(seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def start_program(command, library, output, **settings):
    env = dict(os.environ, LD_PRELOAD=library, OTELPROF_OUTPUT=output, **settings)
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish_program(p):
    """True when it has ended as without the library."""
    out, err = p.communicate(timeout=300)
    # The library says when its receiver goes away and comes back.
    err = "".join(line for line in err.splitlines(True) if not line.startswith("otelprof["))
    if p.returncode != 3 or out != "done\n" or err:
        print("a program ended with %r, said %r, %r" % (p.returncode, out, err))
        return False
    return True


class Receiver:
    """otelprof receive at one port, over and over."""

    def __init__(self, tool, folder, log):
        self.tool, self.folder, self.log, self.port, self.process = tool, folder, log, 0, None

    def start(self):
        with open(self.log, "ab") as log:
            at = log.tell()
            self.process = subprocess.Popen(
                [self.tool, "receive", "--listen", "tcp:127.0.0.1:%d" % self.port, "-o", self.folder],
                stdout=log, stderr=subprocess.STDOUT)

        def listens():
            with open(self.log, errors="replace") as f:
                f.seek(at)
                text = f.read()
            for line in text.splitlines():
                if line.startswith("listening on "):
                    self.port = int(line.rsplit(":", 1)[1])
                    return True
            return False
        if not wait_for(30, listens):
            raise SystemExit("the receiver does not listen: see %s" % self.log)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(60)
        if number == signal.SIGTERM and status != 0:
            print("the receiver ended with %d" % status)
        return status
