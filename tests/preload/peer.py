# SPDX-License-Identifier: Apache-2.0
"""The other end of a socket output, in several tempers: peer.py TEMPER unix:PATH|tcp:PORT FOLDER

collect   stores each message as FOLDER/N.otlp
once      the same, and ends after the first message
stall     accepts and never reads
reset     takes one byte, then resets the connection, again and again
Writes FOLDER/ready (with the port) when it listens. Ends by itself after two minutes.
"""
import os
import signal
import socket
import struct
import sys
import threading

temper, address, folder = sys.argv[1:4]
signal.alarm(120)
lock = threading.Lock()
stored = 0
kept = []


def store(data):
    global stored
    with lock:
        name = os.path.join(folder, "%d.otlp" % stored)
        with open(name + ".part", "wb") as f:
            f.write(data)
        os.rename(name + ".part", name)
        stored += 1


def serve(connection):
    stream = connection.makefile("rb")
    while True:
        head = stream.read(4)
        if len(head) < 4:
            return
        size = struct.unpack(">I", head)[0]
        data = stream.read(size)
        if len(data) < size:
            return
        store(data)
        if temper == "once":
            os._exit(0)


if address.startswith("unix:"):
    # Its name is there when somebody listens: in between a connection would be refused, which is other news.
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address[5:] + ".new")
    listener.listen(16)
    os.rename(address[5:] + ".new", address[5:])
    port = 0
else:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(address[4:])))
    port = listener.getsockname()[1]
listener.listen(16)
with open(os.path.join(folder, "ready"), "w") as f:
    f.write("%d\n" % port)
while True:
    connection, _ = listener.accept()
    if temper == "stall":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        kept.append(connection)
    elif temper == "reset":
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    else:
        threading.Thread(target=serve, args=(connection,), daemon=True).start()
