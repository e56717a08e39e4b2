#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A name server at 127.0.0.1 that lets others wait: names.py FOLDER SILENT. It does not answer the first SILENT
questions (-1: none at all), then 127.0.0.1 to each for an address. FOLDER/ready when it listens; FOLDER/questions
has a line for each. Ends by itself after two minutes."""
import os
import signal
import socket
import struct
import sys

folder, silent = sys.argv[1], int(sys.argv[2])
signal.alarm(120)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
open(os.path.join(folder, "ready"), "w").close()
count = 0
while True:
    question, sender = s.recvfrom(2048)
    count += 1
    with open(os.path.join(folder, "questions"), "a") as f:
        f.write("%d\n" % len(question))
    if silent < 0 or count <= silent:
        continue
    end = 12
    while question[end]:
        end += 1 + question[end]
    kind = struct.unpack(">H", question[end + 1:end + 3])[0]
    address = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([127, 0, 0, 1])
    s.sendto(question[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, kind == 1, 0, 0) + question[12:end + 5] +
             (address if kind == 1 else b""), sender)
