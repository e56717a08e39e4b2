#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An OTLP receiver of bad manners: server.py FOLDER TEMPER [CERTIFICATE KEY [CLIENT_CA|1.3]]

With CLIENT_CA, a file, clients need a certificate of that authority; with 1.3 they need TLS 1.3.

Writes FOLDER/port when it listens and one line per request to FOLDER/requests: path, length of the body,
SHA-256 of the body, and the profile's headers worth looking at. Bodies that got a 2xx answer are kept as
FOLDER/N.body. Of gRPC calls, FOLDER/metadata has a line "name: value" for each header and an empty one behind a call's,
if Python's hpack is installed. FOLDER/connections has a byte for each connection. Ends by itself after two minutes.
SERVER_PORT, a variable, asks for that port.

answers:A,B,...  the requests get these in turn, the last one again and again. An answer is a status with
                 optional headers and body: 503;Retry-After: 2;=body (=hex:0a00 for bytes)
silent           reads and never answers        slow     one byte of a good answer every 50 ms
close            closes instead of answering    cut      closes within the head of an answer
half             closes within the body         reset    resets the connection
endless-head     never ends its head            endless-body, endless-chunks: nor its body
garbage          noise instead of an answer     two-lengths, chunk-lie: answers that contradict themselves
bad-gzip         a good answer that says gzip and is none
deaf             accepts and never reads
h2:TEMPER        HTTP/2: garbage, goaway, reset, refuse, flood (pings), headers (huge), silent, no-status,
                 settings (never ends)
"""
import hashlib
import os
import random
import signal
import socket
import ssl
import struct
import sys
import threading
import time

try:
    import hpack
except ImportError:
    hpack = None

folder, temper = sys.argv[1:3]
signal.alarm(120)
lock = threading.Lock()
count = 0


def note(path, headers, body):
    global count
    with lock:
        number = count
        count += 1
        with open(os.path.join(folder, "requests"), "a") as f:
            f.write("%s %d %s type=%s encoding=%s version=%s agent=%s extra=%s\n" % (
                path, len(body), hashlib.sha256(body).hexdigest()[:16], headers.get("content-type"),
                headers.get("content-encoding", "none"), headers.get("otlp-profiles-development-version"),
                headers.get("user-agent"), headers.get("x-extra")))
        return number


def read_request(stream):
    line = stream.readline()
    if not line:
        return None
    path = line.split()[1].decode()
    headers = {}
    while True:
        line = stream.readline().strip()
        if not line:
            break
        name, value = line.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return path, headers, body


def answer_of(text):
    status, *rest = text.split(";")
    body = b""
    headers = []
    for part in rest:
        if part.startswith("=hex:"):
            body = bytes.fromhex(part[5:])
        elif part.startswith("="):
            body = part[1:].encode()
        elif part == "date":
            headers.append("Retry-After: " + time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2)))
        else:
            headers.append(part)
    headers.append("Content-Length: %d" % len(body))
    return int(status), ("HTTP/1.1 %s x\r\n%s\r\n\r\n" % (status, "\r\n".join(headers))).encode() + body


GOOD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"


def forever(connection, piece):
    try:
        while True:
            connection.sendall(piece)
    except OSError:
        pass


def misbehave(connection):
    """True: the connection goes on."""
    if temper == "silent":
        time.sleep(100)
    elif temper == "slow":
        for i in range(len(GOOD)):
            connection.sendall(GOOD[i:i + 1])
            time.sleep(0.05)
        return True
    elif temper == "cut":
        connection.sendall(b"HTTP/1.1 200 OK\r\nConte")
    elif temper == "half":
        connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nabc")
    elif temper == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif temper == "endless-head":
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        forever(connection, b"X-Header: " + b"x" * 1000 + b"\r\n")
    elif temper == "endless-body":
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        forever(connection, b"x" * 65536)
    elif temper == "endless-chunks":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        forever(connection, b"1\r\nx\r\n")
    elif temper == "garbage":
        connection.sendall(random.Random(1).randbytes(5000))
    elif temper == "two-lengths":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
    elif temper == "chunk-lie":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcdef\r\n0\r\n\r\n")
    elif temper == "bad-gzip":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n\x1f\x8bgarbage")
        return True
    return False


def serve_http(connection):
    stream = connection.makefile("rb")
    while True:
        request = read_request(stream)
        if request is None:
            return
        number = note(*request)
        if not temper.startswith("answers:"):
            if not misbehave(connection):
                return
            continue
        answers = temper[8:].split(",")
        status, raw = answer_of(answers[min(number, len(answers) - 1)])
        if status // 100 == 2:
            with open(os.path.join(folder, "%d.body" % number), "wb") as f:
                f.write(request[2])
        connection.sendall(raw)


# ---- HTTP/2, as much as bad manners need ----

def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header without the tables and without Huffman."""
    out = b"\x00"
    for text in (name, value):
        out += bytes([len(text)]) if len(text) < 127 else b"\x7f" + varint(len(text) - 127)
        out += text
    return out


def varint(v):
    out = b""
    while v >= 128:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def read_frame(stream):
    head = stream.read(9)
    if len(head) < 9:
        return None
    size = struct.unpack(">I", b"\0" + head[:3])[0]
    return head[3], head[4], struct.unpack(">I", head[5:])[0] & 0x7FFFFFFF, stream.read(size)


def note_metadata(decoder, flags, payload):
    if flags & 8:  # padded
        payload = payload[1:len(payload) - payload[0]]
    if flags & 32:  # with a priority
        payload = payload[5:]
    with open(os.path.join(folder, "metadata"), "a") as f:
        f.write("".join("%s: %s\n" % pair for pair in decoder.decode(payload)) + "\n")


def serve_h2(connection):
    stream = connection.makefile("rb")
    stream.read(24)
    connection.sendall(frame(4, 0, 0, b""))
    body = b""
    decoder = hpack and hpack.Decoder()
    while True:
        f = read_frame(stream)
        if f is None:
            return
        kind, flags, number, payload = f
        if kind == 4 and not flags & 1:
            connection.sendall(frame(4, 1, 0, b""))
        if kind == 1 and decoder:
            note_metadata(decoder, flags, payload)
        if kind != 0:
            continue
        body += payload
        if payload:
            connection.sendall(frame(8, 0, 0, struct.pack(">I", len(payload))) +
                               frame(8, 0, number, struct.pack(">I", len(payload))))
        if flags & 1:
            note("h2", {}, body)
            body = b""
            if not answer_h2(connection, number):
                return


def answer_h2(connection, number):
    headers = literal(b":status", b"200") + literal(b"content-type", b"application/grpc")
    what = temper[3:]
    if what.startswith("status="):
        parts = what[7:].split(";")
        code = parts[min(count - 1, len(parts) - 1)]
        code, _, details = code.partition("/")
        trailers = literal(b"grpc-status", code.encode()) + literal(b"grpc-message", b"no%20room")
        if details:
            trailers += literal(b"grpc-status-details-bin", details.encode())
        good = frame(0, 0, number, b"\0\0\0\0\0") if code == "0" else b""
        connection.sendall(frame(1, 4, number, headers) + good + frame(1, 5, number, trailers))
        return True
    if what == "garbage":
        connection.sendall(random.Random(2).randbytes(5000))
    elif what == "goaway":
        connection.sendall(frame(7, 0, 0, struct.pack(">II", 0, 0)))
    elif what == "goaway-after":
        connection.sendall(frame(1, 4, number, headers) + frame(0, 0, number, b"\0\0\0\0\0") +
                           frame(1, 5, number, literal(b"grpc-status", b"0")) +
                           frame(7, 0, 0, struct.pack(">II", number, 0)))
        # With unread bytes a close would be a reset, which may overtake the answer.
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(5)
        while connection.recv(4096):
            pass
    elif what == "reset":
        connection.sendall(frame(3, 0, number, struct.pack(">I", 2)))
        return True
    elif what == "refuse":
        connection.sendall(frame(3, 0, number, struct.pack(">I", 7)))
        return True
    elif what == "flood":
        forever(connection, frame(6, 0, 0, b"12345678") * 100)
    elif what == "settings":
        forever(connection, frame(4, 0, 0, struct.pack(">HI", 3, 1)) * 100)
    elif what == "headers":
        connection.sendall(frame(1, 0, number, headers))
        forever(connection, frame(9, 0, number, literal(b"x", b"y" * 5000)))
    elif what == "no-status":
        connection.sendall(frame(1, 5, number, headers))
        return True
    elif what == "silent":
        time.sleep(100)
    return False


def serve(connection, context):
    try:
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        if temper == "deaf":
            time.sleep(100)
        elif temper == "close":
            note("closed", {}, b"")
        elif temper.startswith("h2:"):
            serve_h2(connection)
        else:
            serve_http(connection)
    except (OSError, ValueError, IndexError):
        pass
    finally:
        connection.close()


def main():
    context = None
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        context.set_alpn_protocols(["h2", "http/1.1"])
        if sys.argv[5:] == ["1.3"]:
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        elif len(sys.argv) > 5:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(sys.argv[5])
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if temper == "deaf":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    listener.bind(("127.0.0.1", int(os.environ.get("SERVER_PORT") or 0)))
    listener.listen(64)
    with open(os.path.join(folder, "port.new"), "w") as f:
        f.write("%d\n" % listener.getsockname()[1])
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    while True:
        connection, _ = listener.accept()
        with open(os.path.join(folder, "connections"), "a") as f:
            f.write(".")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection, context), daemon=True).start()


main()
