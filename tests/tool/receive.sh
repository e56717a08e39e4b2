#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# receive.sh: what arrives at a socket is stored whole, once, and never over another file; the rest is said.
. "$(dirname "$0")/../common.sh"
"$python" "$here/otlp_gen.py" good "$work/good.otlp"
mkdir "$work/sent"

# Starts the receiver with the arguments; $address is what it listens on, $receiver its process.
start() {
    rm -f out err # or the line of the receiver before would be taken for this one's
    # A shell lets background commands ignore SIGINT.
    env --default-signal=INT "$tool" receive "$@" > out 2> err &
    receiver=$!
    pids="$pids $receiver"
    wait_for 10 grep -q '^listening on ' out || bad "it does not listen: $(cat err)"
    address=$(sed -n 's/^listening on //p' out)
}

stop() { # SIGNAL, STATUS
    kill "-$1" $receiver
    wait $receiver
    equal "exit status" "$2" $?
}

stored() { # COUNT: files, each one that was sent
    equal "files" "$1" "$(find stored -type f | wc -l)"
    sha256sum "$work"/sent/* | cut -d ' ' -f 1 | sort > sums.sent
    find stored -type f -exec sha256sum {} + | cut -d ' ' -f 1 | sort > sums.stored
    equal "files that were not sent" "" "$(comm -13 sums.sent sums.stored)"
}

send() { # script…: `c` is a connection, `frame()` one framed message with ids of its own
    rm -f "$work"/sent/*
    "$python" - "$address" "$work/sent" "$1" "$here" << 'P'
import os, random, socket, struct, sys, time
sys.path.insert(0, sys.argv[4])
import otlp_gen
kind, rest = sys.argv[1].split(":", 1)
def connect():
    if kind == "unix":
        s = socket.socket(socket.AF_UNIX)
        s.connect("\0" + rest[1:] if rest[0] == "@" else rest)
        return s
    host, port = rest.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)))
count = 0
def message():
    global count
    d = otlp_gen.good()
    for p in d["profiles"]:
        p["id"] = random.randbytes(16)
    data = otlp_gen.encode(d)
    open(sys.argv[2] + "/%d" % count, "wb").write(data)
    count += 1
    return data
def framed(data):
    return struct.pack(">I", len(data)) + data
def frame(n=1):
    return b"".join(framed(message()) for _ in range(n))
exec(sys.argv[3])
P
}

for listen in tcp:127.0.0.1:0 unix:sock unix:@otelprof-test-$$; do
    begin "messages of several connections at once, $listen"
    start --listen $listen -o stored
    send 'cs = [connect() for _ in range(8)]
for c in cs[1:]: c.sendall(frame(3))
one = frame()
for i in range(0, len(one), 97): cs[0].sendall(one[i:i + 97])
for c in cs: c.close()'
    wait_for 10 sh -c "[ \$(grep -c '^stored/' out) = 22 ]" || bad "$(grep -c '^stored/' out) messages are told"
    stop TERM 0
    stored 22
    equal "standard error" "" "$(cat err)"
    find stored -type f | xargs "$tool" check --strict > check || bad "$(head -n 2 check)"
    [ ! -e sock ] || bad "the socket is left behind"
    end
done

begin "the end: complete messages are stored, incomplete ones are told"
start --listen tcp:127.0.0.1:0 -o stored
send 'c = connect(); c.sendall(frame() + frame()[:50]); d = connect(); d.sendall(frame()[:7]); d.close()'
wait_for 10 sh -c '[ $(grep -c "middle of a message" err) = 2 ]' || bad "the broken connections are not told: $(cat err)"
stop INT 1
stored 1
end

begin "the end while a message is under way: it is told to be left behind"
start --listen tcp:127.0.0.1:0 -o stored
mkfifo go
send 'c = connect(); c.sendall(frame() + frame()[:50]); open("go").read()' &
sender=$!
wait_for 10 grep -q '^stored/' out || bad "the first message is not stored: $(cat err)"
stop INT 1
: > go
wait $sender
stored 1
one_line err "left behind"
end

begin "a receiver that was held up reads what has come in time"
mkfifo pipe
exec 7<> pipe
"$tool" receive -l tcp:127.0.0.1:0 -o stored > pipe 2> err & # nobody reads what it says
receiver=$!
pids="$pids $receiver"
read -r line <&7
address=${line#listening on }
echo $receiver > pid
send 'import glob
def wait_for(what):
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)
pipe = os.open("pipe", os.O_RDWR | os.O_NONBLOCK)
try:
    while True:
        os.write(pipe, b"x" * 4096)
except BlockingIOError:
    pass
fds = "/proc/%d/fd" % int(open("pid").read())
before = len(os.listdir(fds))
late = connect() # the receiver knows it before it is held up
wait_for(lambda: len(os.listdir(fds)) == before + 1)
first = connect()
first.sendall(frame())
wait_for(lambda: glob.glob("stored/*.otlp"))
late.sendall(frame())
begin = time.monotonic()
wait_for(lambda: time.monotonic() > begin + 11) # longer than a message may take
os.read(pipe, 1 << 20)
late.shutdown(socket.SHUT_WR)
late.settimeout(60)
assert late.recv(1) == b"", "it is not at its end"'
exec 7>&-
stop TERM 0
stored 2
end

begin "when memory is short those make room who have some"
if [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -lt 2500000 ]; then
    skip "there is less than 2.5 GB of memory"
else
    start -l tcp:127.0.0.1:0 -o stored
    send 'idle = connect()
idle.sendall(frame())
while not os.path.isdir("stored") or not os.listdir("stored"):
    time.sleep(0.05)
begin = time.monotonic()
while time.monotonic() < begin + 1.2: # so long each keeps its place
    time.sleep(0.05)
piece = bytes(1 << 20)
large = []
for i in range(18):
    c = connect()
    large.append(c)
    try:
        c.sendall(struct.pack(">I", 64 << 20))
        for k in range(60):
            c.sendall(piece)
    except OSError:
        pass # it has lost its place, as one must
idle.sendall(frame())
idle.shutdown(socket.SHUT_WR)
idle.settimeout(60)
assert idle.recv(1) == b"", "it is not at its end"'
    grep -q 'has lost its place\|no memory for a message' err || bad "memory was not short: $(head -n 3 err)"
    stop TERM 1
    stored 2
fi
end

begin "a given number of messages, then the end"
start -l unix:sock -o stored --count 2
send 'c = connect(); c.sendall(frame(5))'
wait $receiver
equal "exit status" 0 $?
stored 2
rm -rf stored
start -l unix:sock -o stored --once
send 'c = connect(); c.sendall(frame())'
wait $receiver
equal "exit status" 0 $?
stored 1
end

begin "garbage: one line each, others are served"
start -l tcp:127.0.0.1:0 -o stored
send 'good = connect()
data = message()
for junk in (b"\x7fELF........", struct.pack(">I", 9) + b"x" * 9, b"\xff" * 100,
             struct.pack(">I", len(data) - 3) + data[:-3]):
    c = connect()
    c.sendall(junk)
    assert c.recv(1) == b"", "the connection is still there"
good.sendall(frame())'
wait_for 10 sh -c 'ls stored/*.otlp' > /dev/null
wait_for 10 sh -c '[ $(wc -l < err) = 4 ]'
stop TERM 1
stored 1
equal "lines" 4 "$(wc -l < err)"
equal "claims over the limit" 2 "$(grep -c 'the limit is 67108864' err)"
end

begin "a message that is packed, or holds messages, is refused before it is unpacked"
start -l tcp:127.0.0.1:0 -o stored
send 'import zlib
z = zlib.compressobj(wbits=31)
bomb = b"".join(z.compress(b"\xff" * (1 << 20)) for _ in range(512)) + z.flush()
for data in bomb, framed(bomb):
    c = connect()
    c.sendall(framed(data))
    assert c.recv(1) == b"", "the connection is still there"
c = connect(); c.sendall(frame()); c.close()'
wait_for 10 sh -c 'ls stored/*.otlp' > /dev/null
between "resident KiB" 1 100000 "$(awk '/VmHWM/ { print $2 }' /proc/$receiver/status)"
stop TERM 1
stored 1
equal "told" 2 "$(grep -c 'not one message of the format' err)"
end

begin "a message that comes again is stored once, by any receiver of the folder"
start -l unix:sock -o stored
send 'm = framed(message()); c = connect(); c.sendall(m * 3); c.close(); open("again", "wb").write(m)'
wait_for 10 sh -c '[ $(wc -l < out) = 4 ]'
stop TERM 0
equal "told" 2 "$(grep -c 'there already' out)"
stored 1
start -l unix:sock -o stored
mv "$work/sent" kept
mkdir "$work/sent"
send 'c = connect(); c.sendall(open("again", "rb").read()); c.close()'
wait_for 10 grep -q 'there already' out
stop TERM 0
mv kept/* "$work/sent/"
stored 1
end

begin "remains of a receiver that was killed go after an hour, and hinder nobody"
mkdir stored
: > stored/.otelprof-1-1.new
: > stored/.otelprof-2-2.new
: > stored/.hidden.new
touch -d '2 hours ago' stored/.otelprof-1-1.new stored/.hidden.new
start -l unix:sock -o stored --once
send 'c = connect(); c.sendall(frame())'
wait $receiver
equal "exit status" 0 $?
equal "files" ".hidden.new .otelprof-2-2.new" "$(cd stored && echo $(find . -name '.*.new' | sed 's,^[.]/,,' | sort))"
end

begin "names are made of the resource, and free"
"$python" - "$here" << 'P'
import sys
sys.path.insert(0, sys.argv[1])
import otlp_gen
d = otlp_gen.good()
d["resource"]["process.executable.name"] = "../../etc/x y;\n\u00e9"
open("hostile.otlp", "wb").write(otlp_gen.encode(d))
P
start -l unix:sock -o stored
send 'c = connect(); h = open("hostile.otlp", "rb").read(); c.sendall(framed(h) * 3); c.close()'
wait_for 10 sh -c '[ $(wc -l < out) = 4 ]'
stop TERM 0
equal "names" "otelprof-..-..-etc-x_y" "$(ls stored | head -n 1 | sed 's/[.][.]_[.][.]_etc_x_y.*/..-..-etc-x_y/')"
equal "files" 1 "$(ls stored | wc -l)"
end

begin "sockets that are there already"
start -l unix:sock -o stored
"$tool" receive -l unix:sock -o other > out2 2> err2
equal "exit status of a second receiver" 3 $?
one_line err2 "somebody listens"
kill -9 $receiver
wait $receiver 2> /dev/null
[ -S sock ] || bad "no socket is left to test with"
start -l unix:sock -o stored --once
send 'c = connect(); c.sendall(frame())'
wait $receiver
equal "exit status at a stale socket" 0 $?
: > file
"$tool" receive -l unix:file -o stored > out2 2> err2
equal "exit status at a plain file" 3 $?
[ -f file ] || bad "the plain file is gone"
end

begin "wrong usage"
for words in "-l tcp:127.0.0.1:0" "-o x" "-l foo -o x" "-l tcp:127.0.0.1:0 -o x --count 0" "-l tcp:127.0.0.1:0 -o x y"; do
    # shellcheck disable=SC2086
    "$tool" receive $words > out 2> err
    equal "exit status of $words" 2 $?
    one_line err
done
for words in "-l tcp:nowhere -o x" "-l tcp:127.0.0.1:99999 -o x" "-l unix: -o x" "-l tcp:127.0.0.1:0 -o /proc/x"; do
    # shellcheck disable=SC2086
    "$tool" receive $words > out 2> err
    equal "exit status of $words" 3 $?
    one_line err
done
end
finish
