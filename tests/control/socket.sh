#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The control socket: what can be asked, by whom, and what strangers can do to it. As root.
. "$(dirname "$0")/../common.sh"
. "$here/rig.sh"
host actor -I"$top"
ask="$python $here/ask.py"

begin "start, status, flush and stop"
play OTELPROF_CONTROL=true OTELPROF_START=false OTELPROF_CPU_HZ=200
ctl_ok status
equal "sampling" off "$(value process sampling)"
equal "pid" "$pid" "$(value process pid)"
equal "samples" 0 "$(value cpu samples)"
ctl flush
equal "flush while stopped: exit status" 3 "$ctl_status"
grep -qF "start comes first" ctl.err || bad "flush while stopped says: $(cat ctl.err)"
ctl_ok start
act burn a 1000
act alloc a 20000 1000
ctl_ok status
equal "sampling" on "$(value process sampling)"
[ "$(value cpu samples)" -gt 20 ] || bad "$(value cpu samples) CPU samples"
[ "$(value heap samples)" -gt 5 ] || bad "$(value heap samples) heap samples"
[ "$(value cost cpu_ns)" -gt 0 ] || bad "it costs nothing"
[ "$(value cost ticks_ns)" -gt 0 ] || bad "ticks cost nothing"
[ "$(value memory bytes)" -gt 100000 ] || bad "it takes no memory"
[ "$(value queued stacks)" -gt 0 ] || bad "nothing waits for the flush"
equal "flushes" 0 "$(value flush count)"
ctl_ok flush
equal "files after the flush" 1 "$(files | wc -l)"
ctl_ok status
equal "flushes" 1 "$(value flush count)"
act burn b 500
ctl_ok stop
equal "files after the stop" 2 "$(files | wc -l)"
act burn c 200
curtain
strict
equal "files at the end" 2 "$(files | wc -l)"
has_function cpu site_a $(files)
has_function cpu site_b $(files)
equal "CPU time in c" 0 "$(judge site cpu site_c $(files))"
end

begin "status as JSON"
play OTELPROF_CONTROL=true
ctl_ok status --json
"$python" -c '
import json, sys
s = json.load(open("ctl.out"))
assert s["process"]["pid"] == int(sys.argv[1]) and s["process"]["sampling"] == "on"
for group, name in (("cpu", "period_ns"), ("heap", "interval_bytes"), ("dropped", "ring_full"), ("queued", "messages"),
                    ("cost", "cpu_ns"), ("memory", "limit_bytes"), ("flush", "count")):
    assert isinstance(s[group][name], int), (group, name)
' "$pid" || bad "the JSON is not as expected"
curtain
end

begin "wrong use is told before anybody is asked"
play OTELPROF_CONTROL=true
for words in "" "set" "set cpu-hz" "set cpu-hz=0" "set x=1" "restart" "start now"; do
    ctl $words
    equal "'$words': exit status" 2 "$ctl_status"
    equal "'$words': lines on standard error" 1 "$(wc -l < ctl.err)"
done
curtain
end

begin "off unless it is wanted, and no process, are told apart"
play OTELPROF_CONTROL=false OTELPROF_START=false
ctl status
equal "exit status" 3 "$ctl_status"
one_line ctl.err "no control socket" OTELPROF_CONTROL
act tasks
equal "threads" 1 "$answer"
curtain
ctl status
equal "exit status" 3 "$ctl_status"
one_line ctl.err "no such process"
end

begin "another user is refused; root and the same user are not"
wrap="setpriv --reuid 65534 --clear-groups"
chmod 777 . "$p"
play OTELPROF_CONTROL=true
wrap=''
ctl_ok status
setpriv --reuid 65534 --clear-groups "$tool" ctl "$pid" status > ctl.out 2> ctl.err || bad "the same user: $(cat ctl.err)"
setpriv --reuid 1234 --clear-groups "$tool" ctl "$pid" stop > ctl.out 2> ctl.err
equal "another user: exit status" 3 $?
one_line ctl.err "only root and the user"
ctl_ok status
equal "sampling" on "$(value process sampling)"
curtain
end

begin "a process that gives up its rights: its new user may ask, and its old one is root"
chmod 777 . "$p"
play OTELPROF_CONTROL=true
setpriv --reuid 1234 --clear-groups "$tool" ctl "$pid" status > ctl.out 2> ctl.err
equal "before: exit status" 3 $?
does user 1234
setpriv --reuid 1234 --clear-groups "$tool" ctl "$pid" status > ctl.out 2> ctl.err || bad "the new user: $(cat ctl.err)"
ctl_ok status
curtain
end

begin "junk is answered with an error, and changes nothing"
play OTELPROF_CONTROL=true
got=$($ask junk "$pid" 2> junk.err)
n=${got##* }
equal "requests refused" "$n $n" "$got"
[ "${n:-0}" -gt 200 ] || bad "only $n requests"
[ ! -s junk.err ] || bad "$(head -n 3 junk.err)"
ctl_ok status
equal "rate" 100 "$(value cpu wanted_hz)"
equal "interval" 524288 "$(value heap interval_bytes)"
equal "sampling" on "$(value process sampling)"
curtain
end

begin "clients that are silent, and many, keep nobody out"
play OTELPROF_CONTROL=true
$ask slow "$pid" 20 30 > slow.out 2>&1 &
slow=$!
pids="$pids $slow"
wait_for 20 grep -q 20 slow.out || bad "$(cat slow.out)"
ctl_ok status
equal "of 100 requests answered" 100 "$($ask many "$pid" 100)"
kill "$slow"
ctl_ok status
curtain
end

begin "a stranger who took the name first is not mistaken for the process"
cat > taken.sh << EOF
$python $here/ask.py take 0 otelprof.\$\$ 60 > taken.out &
echo \$! > taken.pid
until grep -q taken taken.out; do sleep 0.05; done
exec env "\$@"
EOF
wrap="sh taken.sh"
play OTELPROF_CONTROL=true
wrap=''
ctl_ok status
equal "pid" "$pid" "$(value process pid)"
$ask say "$pid" status > stranger.out
equal "what the stranger says" ok "$(sed -n 1p stranger.out)"
kill "$(cat taken.pid)"
curtain
end

begin "a child of fork and a program that follows by exec have sockets of their own"
play OTELPROF_CONTROL=true OTELPROF_START=false
parent=$pid
act fork; child=$answer
ctl_ok start
pid=$child
ctl_ok status
equal "the child's pid" "$child" "$(value process pid)"
equal "the child's sampling" off "$(value process sampling)"
echo exec >&3
act pid
equal "pid after exec" "$child" "$answer"
ctl_ok status
equal "pid after exec" "$child" "$(value process pid)"
pid=$parent
ctl_ok status
equal "the parent's sampling" on "$(value process sampling)"
curtain
end

begin "two processes of one program, each asked by itself"
play OTELPROF_CONTROL=true
first=$pid
"$python" -c 'import time; time.sleep(60)' &
mkfifo other
env LD_PRELOAD="$lib" OTELPROF_OUTPUT=none OTELPROF_CONTROL=true OTELPROF_START=false "$host" < other > other.out &
second=$!
exec 4> other
pid=$second
ready() { "$tool" ctl "$second" status > ctl.out 2> ctl.err; }
wait_for 20 ready || bad "the second does not answer: $(cat ctl.err)"
equal "the second's sampling" off "$(value process sampling)"
pid=$first
ctl_ok status
equal "the first's sampling" on "$(value process sampling)"
exec 4>&-
wait "$second"
curtain
end

begin "after chroot"
mkdir -p jail
play OTELPROF_CONTROL=true OTELPROF_CPU_HZ=200
does chroot "$d/jail"
act burn a 500
ctl_ok flush
ctl_ok status
equal "files" 1 "$(files | wc -l)"
curtain
strict
end

begin "a process in another network, and one in another process namespace"
if ! unshare -n true 2> err; then
    skip "there can be no other network: $(tail -n 1 err)"
else
    wrap="unshare -n"
    play OTELPROF_CONTROL=true
    ctl_ok status
    equal "pid" "$pid" "$(value process pid)"
    curtain
    rm -f in out err log
    wrap="unshare -p -f --kill-child"
    play OTELPROF_CONTROL=true
    wrap=''
    inner=$pid
    for pid in $(pgrep -x actor); do
        [ "$(awk '/^NSpid:/ { print $NF }' "/proc/$pid/status")" != "$inner" ] || break
    done
    ctl_ok status
    equal "the pid by which it knows itself" "$inner" "$(value process pid)"
    [ "$pid" != "$inner" ] || bad "it is in no namespace of its own"
    curtain
fi
end

begin "a process that stands still gives no answer, and that is told"
play OTELPROF_CONTROL=true
kill -STOP "$pid"
ctl --wait 1 status
equal "exit status" 3 "$ctl_status"
one_line ctl.err "no answer in time"
kill -CONT "$pid"
ctl_ok status
curtain
end

begin "a question that is stopped and goes on, as by Ctrl-Z and fg, is answered"
play OTELPROF_CONTROL=true
kill -STOP "$pid"
"$tool" ctl "$pid" --wait 60 status > ctl.out 2> ctl.err &
asker=$!
pids="$pids $asker"
waits() { # recvfrom
    grep -q '^45 ' "/proc/$asker/syscall"
}
is_stopped() {
    grep -q '^State:.*T' "/proc/$asker/status"
}
wait_for 20 waits || bad "it does not wait for an answer"
kill -STOP "$asker"
wait_for 20 is_stopped || bad "it is not stopped"
kill -CONT "$asker"
wait_for 20 waits || bad "it waits no more: $(cat ctl.err)"
kill -CONT "$pid"
wait "$asker"
equal "exit status" 0 $?
equal "sampling" on "$(value process sampling)"
curtain
end

begin "a program that forbids itself system calls, dormant and asked before"
cat > forbid.py << 'EOF'
import ctypes, os, sys
print(os.getpid(), flush=True)
sys.stdin.readline()
libc = ctypes.CDLL(None, use_errno=True)
print(libc.prctl(22, 1, 0, 0, 0), flush=True)
sys.stdout.flush()
libc.syscall(60, 7)
EOF
mkfifo in
env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp" OTELPROF_CONTROL=true OTELPROF_START=false \
    "$python" forbid.py < in > out 2> err &
pid=$!
exec 3> in
wait_for 20 test -s out
ctl_ok status
echo >&3
exec 3>&-
wait "$pid"
equal "exit status" 7 $?
equal "what prctl returned" 0 "$(sed -n 2p out)"
end

finish
