#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The control socket as a stranger may use it.

ask.py say PID TEXT            sends TEXT (with \\n and \\xNN), prints the answer or why there is none
ask.py junk PID                requests that are none: prints how many were answered with an error
ask.py slow PID N SECONDS      N connections that say nothing for so long
ask.py many PID N              N connections, each asks for the status; prints how many were answered "ok"
ask.py take PID NAME SECONDS   takes a name in the abstract namespace, and answers "ok" to everybody
"""
import os
import random
import socket
import sys
import time


def connect(pid, name=None):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("\0" + (name or "otelprof.%s" % pid))
    s.settimeout(20)
    return s


def ask(pid, text):
    try:
        s = connect(pid)
        s.send(text)
        return s.recv(65536)
    except OSError as error:
        return b"none: " + str(error).encode()


def junk(pid):
    rng = random.Random(1)
    texts = [b"\0", b"\n", b" ", b"set", b"set ", b"set =", b"set cpu-hz", b"set cpu-hz=", b"set cpu-hz=0",
             b"set cpu-hz=10001", b"set cpu-hz=99999999999999999999999", b"set heap-interval=0", b"set heap-interval=-1",
             b"set cpu-budget=101%", b"set interval=1ms", b"set name=" + b"x" * 240, b"status status", b"STATUS",
             b"stop\0start", b"start" + b"\0" * 100, b"%s%n" * 20, b"x" * 256, b"x" * 257, b"x" * 5000, b"status" * 10000]
    for _ in range(200):
        texts.append(bytes(rng.randrange(256) for _ in range(rng.randrange(1, 300))))
    answers = [ask(pid, t) for t in texts]
    print(sum(a.startswith(b"error: ") for a in answers), len(texts))
    for t, a in zip(texts, answers):
        if not a.startswith(b"error: "):
            print(t[:40], a[:60], file=sys.stderr)


def main():
    what, pid = sys.argv[1:3]
    if what == "say":
        print(ask(pid, sys.argv[3].encode()).decode())
    elif what == "junk":
        junk(pid)
    elif what == "slow":
        held = [connect(pid) for _ in range(int(sys.argv[3]))]
        print(len(held), flush=True)
        time.sleep(float(sys.argv[4]))
    elif what == "many":
        print(sum(ask(pid, b"status").startswith(b"ok\n") for _ in range(int(sys.argv[3]))))
    elif what == "take":
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind("\0" + sys.argv[3])
        s.listen(8)
        print("taken", flush=True)
        end = time.time() + float(sys.argv[4])
        s.settimeout(1)
        while time.time() < end:
            try:
                c, _ = s.accept()
                c.recv(1000)
                c.send(b"ok\nprocess.pid 0\n")
            except OSError:  # nobody came, or they went without a word
                pass
    else:
        sys.exit(2)


main()
