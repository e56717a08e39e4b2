#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# receive_http.sh: otelprof receive as an OTLP/HTTP server: every form of a good request is stored, every bad one gets
# the answer that the protocol has for it, and who sends slowly shuts nobody out.
. "$(dirname "$0")/../common.sh"

start() { # in the folder `stored`; $port
    rm -f out err
    "$tool" receive --listen tcp:127.0.0.1:0 -o stored > out 2> err &
    receiver=$!
    pids="$pids $receiver"
    wait_for 10 grep -q '^listening on ' out || bad "it does not listen: $(cat err)"
    port=$(sed -n 's/^listening on tcp:127.0.0.1://p' out)
}

stop() { # STATUS
    kill $receiver
    wait $receiver
    equal "exit status of the receiver" "$1" $?
}

# talk SCRIPT: Python with post(), raw() and the like; what it prints is a failure.
talk() {
    "$python" - "$port" "$here" "$1" > talk.out 2>&1 << 'P' || bad "the script failed: $(tail -n 3 talk.out)"
import gzip, os, random, socket, struct, subprocess, sys, time
sys.path.insert(0, sys.argv[2])
import otlp_gen
port = int(sys.argv[1])
PATH = "/v1development/profiles"

def message(**more):
    d = otlp_gen.good(**more)
    for p in d["profiles"]:
        p["id"] = random.randbytes(16)
    return otlp_gen.encode(d)

def connect():
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(60)
    return s

def answer(f):
    """(status, headers, body) of the next answer; None at the end of the stream."""
    line = f.readline()
    if not line:
        return None
    status = int(line.split()[1])
    headers = {}
    while True:
        line = f.readline().strip()
        if not line:
            break
        name, value = line.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    if status == 100:
        return status, headers, b""
    return status, headers, f.read(int(headers["content-length"]))

def head(method="POST", path=PATH, version="HTTP/1.1", **fields):
    lines = ["%s %s %s" % (method, path, version), "Host: x"]
    lines += ["%s: %s" % (k.replace("_", "-"), v) for k, v in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()

def request(body, kind="application/x-protobuf", **fields):
    return head(Content_Type=kind, Content_Length=len(body), **fields) + body

def raw(data, count=1):
    """What is answered to these bytes."""
    with connect() as s:
        f = s.makefile("rb")
        try:
            s.sendall(data)
        except OSError:
            pass  # it may have answered and closed already
        got = [answer(f) for _ in range(count)]
        return got[0] if count == 1 else got

def expect(what, status, got):
    if got is None or got[0] != status:
        print("%s: answered %r, expected %d" % (what, got, status))
        return
    kind = got[1].get("content-type")
    if status >= 300 and kind == "application/x-protobuf":
        # google.rpc.Status: a code, then a text
        if got[2][:1] != b"\x08" or got[2][2:3] != b"\x12" or len(got[2]) < 8:
            print("%s: the body is no Status: %r" % (what, got[2]))
    if status >= 300 and kind == "application/json" and b'"message":"' not in got[2]:
        print("%s: the body is no Status: %r" % (what, got[2]))

def zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout

def text(data):
    open("one.otlp", "wb").write(data)
    subprocess.run([os.environ["TOOL"], "convert", "-o", "one.jsonl", "one.otlp"], check=True, stdout=subprocess.DEVNULL)
    out = open("one.jsonl", "rb").read()
    os.unlink("one.jsonl")
    return out

def chunked(data, size):
    pieces = [data[i:i + size] for i in range(0, len(data), size)]
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\nTrailer: x\r\n\r\n"
exec(sys.argv[3])
P
    [ ! -s talk.out ] || bad "$(head -n 5 talk.out)"
}
TOOL=$tool
export TOOL

stored() {
    equal "files" "$1" "$(find stored -name '*.otlp' | wc -l)"
    find stored -name '*.otlp' | xargs "$tool" check --strict > check.out || bad "$(head -n 2 check.out)"
}

begin "good requests of every form"
start
talk '
expect("plain", 200, raw(request(message())))
expect("gzip", 200, raw(request(gzip.compress(message()), Content_Encoding="gzip")))
expect("zstd", 200, raw(request(zstd(message()), content_encoding="ZSTD")))
j = raw(request(text(message()), "application/json; charset=utf-8"))
expect("JSON", 200, j)
if j[2] != b"{}": print("the answer to JSON is", j[2])
expect("JSON, gzip", 200, raw(request(gzip.compress(text(message())), "Application/JSON", content_encoding="gzip")))
for size in (1, 7, 4096, 1 << 20):
    h = head(Content_Type="application/x-protobuf", Transfer_Encoding="chunked")
    expect("chunks of %d" % size, 200, raw(h + chunked(message(), size)))
expect("absolute", 200, raw(request(message()).replace(b"POST /", b"POST http://x/", 1)))
expect("query", 200, raw(request(message()).replace(b"profiles HTTP", b"profiles?a=b HTTP", 1)))
old = raw(request(message()).replace(b"HTTP/1.1", b"HTTP/1.0", 1), 2)
expect("HTTP/1.0", 200, old[0])
if old[1] is not None: print("HTTP/1.0 is kept alive")
'
stored 12
stop 0
equal "standard error" "" "$(cat err)"
end

begin "one connection, many requests; some at once, some in pieces"
start
talk '
s = connect(); f = s.makefile("rb")
for i in range(5):
    s.sendall(request(message())); expect("request %d" % i, 200, answer(f))
s.sendall(b"".join(request(message()) for _ in range(5)))
for i in range(5): expect("pipelined %d" % i, 200, answer(f))
whole = request(message()) + request(message())
for i in range(0, len(whole), 211): s.sendall(whole[i:i + 211])
for i in range(2): expect("in pieces %d" % i, 200, answer(f))
m = message(); s.sendall(head(Content_Type="application/x-protobuf", Content_Length=len(m), Expect="100-continue"))
expect("continue", 100, answer(f)); s.sendall(m); expect("behind it", 200, answer(f))
s.sendall(request(m)); expect("the same again", 200, answer(f))
s.sendall(request(b"")); expect("nothing", 200, answer(f))
s.sendall(request(b"{}", "application/json")); expect("nothing as text", 200, answer(f))
s.sendall(request(message(), Connection="close")); expect("the last", 200, answer(f))
if answer(f) is not None: print("it is not closed")
'
equal "told again" 1 "$(grep -c 'there already' out)"
stored 14
stop 0
end

begin "frames and requests at one address"
start
talk '
a = connect(); m = message(); a.sendall(struct.pack(">I", len(m)) + m)
expect("beside it", 200, raw(request(message())))
'
wait_for 10 sh -c '[ $(grep -c "^stored/" out) = 2 ]'
stored 2
stop 0
end

begin "bad requests: each gets its status, the connection ends, nothing is stored"
start
talk '
m = message()
good = request(m)
cases = [
    ("another path", 404, good.replace(b"profiles", b"traces", 1)),
    ("another path behind it", 404, good.replace(b"profiles ", b"profiles/ ", 1)),
    ("GET", 405, head("GET", Content_Length=0)),
    ("no length", 411, head(Content_Type="application/x-protobuf")),
    ("too large", 413, head(Content_Type="application/x-protobuf", Content_Length=1 << 40)),
    ("length of 21 digits", 400, head(Content_Type="application/x-protobuf", Content_Length="9" * 21)),
    ("negative", 400, head(Content_Type="application/x-protobuf", Content_Length=-1)),
    ("no type", 415, head(Content_Length=len(m)) + m),
    ("another type", 415, request(m, "text/plain")),
    ("another encoding", 415, request(m, content_encoding="br")),
    ("two lengths", 400, request(m, content_length=len(m) + 1)),
    ("length and chunks", 400, request(m, transfer_encoding="chunked")),
    ("another transfer encoding", 501, request(m, transfer_encoding="gzip, chunked")),
    ("another expectation", 417, request(m, expect="miracles")),
    ("large head", 431, head(X_Large="x" * 20000)),
    ("HTTP/2", 505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("no host", 400, good.replace(b"Host: x\r\n", b"")),
    ("two hosts", 400, request(m, host="y")),
    ("no request", 400, b"HELO me\r\n\r\n"),
    ("folded line", 400, good.replace(b"Host: x\r\n", b"Host: x\r\n y\r\n")),
    ("bare line end", 400, good.replace(b"Host: x\r\n", b"Host: x\nA: b\r\n")),
    ("blank before the colon", 400, good.replace(b"Host:", b"Host :")),
    ("NUL", 400, good.replace(b"Host: x", b"Host: x\0")),
    ("bad chunk size", 400, head(Content_Type="application/x-protobuf", Transfer_Encoding="chunked") + b"zz\r\n"),
    ("large chunk size", 400, head(Content_Type="application/x-protobuf", Transfer_Encoding="chunked") + b"1" * 9 + b"\r\n"),
    ("chunk longer than it says", 400, head(Content_Type="application/x-protobuf", Transfer_Encoding="chunked") + b"1\r\nxyz\r\n"),
    ("endless trailer", 400, head(Content_Type="application/x-protobuf", Transfer_Encoding="chunked") + b"0\r\n" + b"a: b\r\n" * 3000),
]
for what, status, data in cases:
    got = raw(data, 2)
    expect(what, status, got[0])
    if got[1] is not None or got[0][1].get("connection") != "close": print(what, "is not the end")
'
equal "files" 0 "$(find stored -type f | wc -l)"
stop 0
equal "standard error" "" "$(cat err)"
end

begin "bodies that are no profiles: 400, and the connection goes on"
start
talk '
m = message()
s = connect(); f = s.makefile("rb")
bomb = gzip.compress(bytes(100 << 20))
double = gzip.compress(gzip.compress(m))
cases = [
    ("noise", 400, random.Random(1).randbytes(1000), {}),
    ("cut", 400, m[:-3], {}),
    ("frames", 400, struct.pack(">I", len(m)) + m, {}),
    ("packed without saying so", 400, gzip.compress(m), {}),
    ("not packed", 400, m, {"content_encoding": "gzip"}),
    ("packed otherwise", 400, gzip.compress(m), {"content_encoding": "zstd"}),
    ("packed twice", 400, double, {"content_encoding": "gzip"}),
    ("packed, cut", 400, gzip.compress(m)[:-9], {"content_encoding": "gzip"}),
    ("a bomb", 413, bomb, {"content_encoding": "gzip"}),
]
for what, status, body, fields in cases:
    s.sendall(request(body, **fields)); expect(what, status, answer(f))
for what, body in (("no text", m), ("broken text", b"{\"resourceProfiles\":[{]}"), ("deep", b"[" * 100000)):
    s.sendall(request(body, "application/json")); expect(what, 400, answer(f))
s.sendall(request(m)); expect("a good one behind them", 200, answer(f))
'
equal "files" 1 "$(find stored -type f | wc -l)"
stop 1
[ "$(wc -l < err)" -ge 12 ] || bad "only $(wc -l < err) lines are said"
end

begin "what is packed without saying so is not unpacked"
start
talk '
import zlib
def bomb(size):
    z = zlib.compressobj(wbits=31)
    return b"".join(z.compress(b"\xff" * (1 << 20)) for _ in range(size >> 20)) + z.flush()
b = bomb(512 << 20)
s = connect(); f = s.makefile("rb")
s.sendall(request(b)); expect("a bomb", 400, answer(f))
s.sendall(request(b, "application/json")); expect("a bomb as text", 400, answer(f))
s.sendall(request(struct.pack(">I", len(b)) + b)); expect("a bomb in a frame", 400, answer(f))
s.sendall(request(gzip.compress(b), Content_Encoding="gzip")); expect("a bomb in another", 400, answer(f))
s.sendall(request(gzip.compress(struct.pack(">I", len(b)) + b), Content_Encoding="gzip")); expect("a frame in another", 400, answer(f))
s.sendall(request(text(message()) * 2, "application/json")); expect("two texts", 400, answer(f))
s.sendall(request(message())); expect("a good one behind them", 200, answer(f))
'
between "resident KiB" 1 100000 "$(awk '/VmHWM/ { print $2 }' /proc/$receiver/status)"
stored 1
stop 1
end

begin "what cannot be stored now is to be sent again"
start
mv stored gone
talk '
m = message()
s = connect(); f = s.makefile("rb")
s.sendall(request(m)); got = answer(f); expect("no folder", 503, got)
if "retry-after" not in got[1]: print("no Retry-After")
os.rename("gone", "stored")
s.sendall(request(m)); expect("the folder is back", 200, answer(f))
'
stored 1
stop 1
end

begin "a client that reads no answers is not read either"
start
talk '
m = request(message())
s = connect(); s.setblocking(False)
sent = 0
try:
    while sent < (1 << 28): sent += s.send(m * 20)
except BlockingIOError:
    pass
if sent >= (1 << 28): print("it takes all")
expect("others", 200, raw(request(message())))
'
between "resident KiB" 1 100000 "$(awk '/VmHWM/ { print $2 }' /proc/$receiver/status)"
stop 0
end

begin "slow senders take no place from others"
( ulimit -n 128; exec "$tool" receive --listen tcp:127.0.0.1:0 -o stored > out 2> err ) &
receiver=$!
pids="$pids $receiver"
wait_for 10 grep -q '^listening on ' out || bad "it does not listen: $(cat err)"
port=$(sed -n 's/^listening on tcp:127.0.0.1://p' out)
talk '
import threading
over = threading.Event()
attackers = []
def dribble():
    """Keeps 300 connections of every slow kind, and opens those anew that were closed."""
    kinds = [b"P", b"POST /", head(Content_Type="application/x-protobuf", Content_Length=1000), b"\0\0\1\0", b""]
    slots = [None] * 300
    while not over.is_set():
        for i in range(len(slots)):
            try:
                if slots[i] is None:
                    slots[i] = connect(); slots[i].settimeout(1); slots[i].sendall(kinds[i % len(kinds)])
                else:
                    slots[i].sendall(b"x" if i % len(kinds) == 2 else b"")
            except OSError:
                if slots[i] is not None: slots[i].close()
                slots[i] = None
        time.sleep(0.05)
t = threading.Thread(target=dribble); t.start()
time.sleep(3)
for i in range(10): expect("good client %d" % i, 200, raw(request(message())))
over.set(); t.join()
'
equal "files" 10 "$(find stored -name '*.otlp' | wc -l)"
kill $receiver
wait $receiver
end

begin "a request that does not come on is told so"
start
talk '
a = connect(); a.sendall(b"POST /v1dev")
b = connect(); b.sendall(request(message())[:-5])
c = connect(); c.sendall(b"\0\0\1\0abc")
expect("a head", 408, answer(a.makefile("rb")))
expect("a body", 408, answer(b.makefile("rb")))
if c.recv(1) != b"": print("the frame is still waited for")
'
stop 1
one_line err "too slowly"
end

finish
