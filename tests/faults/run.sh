#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [WORD...]: what if the kernel says no? Real programs and two of ours run under the library, and the n-th
# call of one kind that the library makes fails, for each n up to as many as it makes; then all of them fail, and
# the second half of them. The result of the program must be what it is without the library. sweep.c injects.
# With words only the tests whose names have one of them. Where the library makes many calls of a kind, FAULTS_MOST
# of them fail in turn, evenly spread (6); FULL=1: each.
. "$(dirname "$0")/../common.sh"
suite=faults
if [ -n "${CI:-}" ]; then
    sh "$top/tools/dev/apt_packages.sh" python3 sqlite3 xz-utils bash || exit 1
fi
words=$*
most=${FAULTS_MOST:-6}
[ -z "${FULL:-}" ] || most=1000000
runs=0 faults=0
for program in sweep inherit threads forks; do
    host $program
done
bin=$hosts/$suite_folder

# Everything that any program makes the library do.
every='mmap=ENOMEM munmap=ENOMEM madvise=EINVAL openat=EMFILE read=EIO pread64=EIO write=ENOSPC close=EIO fstat=EIO
    newfstatat=ENOENT renameat2=EACCES readlinkat=EACCES getdents64=EIO clone=EAGAIN timer_create=EAGAIN timer_settime=EINVAL
    timer_delete=EINVAL clock_gettime=EINVAL futex=EINTR futex=ENOSYS:first close_range=EPERM prctl=EPERM
    rt_sigaction=EPERM:first rt_sigprocmask=EPERM:first tgkill=EPERM getrandom=ENOSYS'

wanted() { # NAME
    [ -n "$words" ] || return 0
    for word in $words; do
        case $1 in *"$word"*) return 0 ;; esac
    done
    return 1
}

# swept NAME SWEEP-ARGUMENT...: a test. $to: the output; the calls of the library that fail, then the program.
swept() {
    wanted "$1" || return
    begin "$1"
    shift
    # shellcheck disable=SC2086
    env OTELPROF_OUTPUT="${to:-file:$p/%e-%p.otlp.gz}" $busy "$bin/sweep" -n "$most" -l "$lib" -w "$d" "$@" < "$input" > rows 2>&1
    equal "exit status of the sweep" 0 $?
    n=$(awk '$NF == "faults" { sum += $(NF - 1) } END { print sum + 0 }' rows)
    faults=$((faults + n))
    runs=$((runs + $(awk '$NF == "faults" { sum += $(NF - 3) } END { print sum + 0 }' rows)))
    echo "  $name"
    cat rows
    [ "$n" -gt 0 ] || bad "not one call has failed"
    # What was written in spite of the faults is whole.
    if [ -z "${to:-}" ]; then
        find "$p" -type f > list
        [ -s list ] || bad "not one profile was written"
        xargs "$tool" check --strict < list > check 2>&1 || {
            bad "check --strict finds something"
            grep -v ': ok' check | head -n 5 | cut -c 1-300 | sed 's/^/        /'
        }
    fi
    end
}

busy="OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=4k OTELPROF_INTERVAL=40ms"
to=
# shellcheck disable=SC2086
{
    seq 1 30000 > "$work/numbers"
    swept xz $every -- xz -9 -c "$work/numbers"
    swept python3 $every -- "$python" -S -c '
d = {str(i): [i] * 3 for i in range(20000)}
print(sum(len(k) + sum(v) for k, v in sorted(d.items())))'
    swept sqlite3 $every -- sqlite3 :memory: "
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        select count(*), sum(i), max(length(hex(i * i))) from n;"
    swept 'bash with children' $every -- bash -c 'for i in 1 2; do a=$(echo $i; exit $i); echo "$a $?"; done
        i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; (echo sub; exit 3); echo $? | cat; exit 5'
    swept threads $every -- "$bin/threads"
    swept forks $every -- "$bin/forks"

    # No thread can be made, ever: the last flush is done by the thread that ends the program.
    flush='mmap=ENOMEM munmap=ENOMEM openat=EMFILE read=EIO pread64=EIO write=ENOSPC write=EFBIG close=EIO fstat=EIO
        renameat2=EACCES rt_sigprocmask=EPERM:first rt_sigtimedwait=EINTR clock_gettime=EINVAL'
    swept 'threads without a thread of ours' !clone=EAGAIN $flush -- "$bin/threads"
    swept 'bash without a thread of ours' !clone=EAGAIN $flush -- bash -c 'for i in 1 2 3; do (exit $i); echo $?; done'

    # What the kernel has only since 3.10; then a file system that knows but the oldest way to give a file its name.
    swept 'threads on an old kernel' !close_range=ENOSYS !renameat2=ENOSYS !memfd_create=ENOSYS !getrandom=ENOSYS \
        !pidfd_open=ENOSYS !pidfd_getfd=ENOSYS openat=EMFILE linkat=EACCES unshare=EPERM clone=EAGAIN close=EIO write=ENOSPC \
        -- "$bin/threads"
    swept 'threads on an old file system' !renameat2=EINVAL !linkat=EPERM openat=EACCES renameat=EIO unlinkat=EROFS \
        -- "$bin/threads"
    swept 'threads with close_range that fails late' close_range=ENOMEM unshare=ENOMEM -- "$bin/threads"

    # The program's own threads and children that cannot be made.
    swept 'threads, those of the program' -o clone3=EAGAIN -- "$bin/threads"
}

busy="$busy OTELPROF_CPU_ENGINE=perf"
swept 'threads with perf events' perf_event_open=EMFILE perf_event_open=EACCES fcntl=EINVAL ioctl=EPERM close=EIO \
    clock_getres=EINVAL -- "$bin/threads"

busy="OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=40ms OTELPROF_PUBLISH_CONTEXT=true OTEL_SERVICE_NAME=x"
swept 'threads with a published context' memfd_create=EMFILE ftruncate=EINVAL mmap=ENOMEM madvise=EINVAL prctl=EINVAL \
    process_vm_readv=EPERM munmap=EINVAL close=EIO -- "$bin/threads"

busy="OTELPROF_CPU_HZ=1000 OTELPROF_INTERVAL=40ms OTELPROF_SHUTDOWN_TIMEOUT=200ms OTEL_EXPORTER_OTLP_TIMEOUT=500"
wire='socket=EMFILE connect=EAGAIN connect=EINTR connect=ECONNREFUSED sendto=EPIPE sendto=EAGAIN sendto=EINTR
    recvfrom=ECONNRESET recvfrom=EINTR getsockopt=EINVAL setsockopt=EINVAL fcntl=EINVAL ioctl=EINVAL poll=EINTR ppoll=EINTR
    ppoll=EINVAL clock_gettime=EINVAL getrandom=ENOSYS fstat=EIO close=EIO mmap=ENOMEM'
mkdir -p "$work/received" "$work/server"
"$tool" receive --listen "unix:$work/socket" -o "$work/received" > "$work/receive.out" 2>&1 &
pids="$pids $!"
"$python" -c '
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_port))
import os; os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()' "$work/port" 2> "$work/server.err" &
pids="$pids $!"
wait_for 20 test -s "$work/port" -a -S "$work/socket" || { echo "FAIL  faults: the receivers do not start"; failed=$((failed + 1)); }
# shellcheck disable=SC2086
{
    to=unix:$work/socket
    swept 'threads, sent to a socket' $wire -- "$bin/threads"
    to=http://127.0.0.1:$(cat "$work/port")
    swept 'threads, sent over HTTP' $wire -- "$bin/threads"
}
to=

# A filter of system calls that was there before the program: its result is that without the library, its profile clean.
filtered() { # KIND PROGRAM...
    wanted "filter $1: ${2##*/}" || return
    begin "filter $1: ${2##*/}"
    settings=$busy
    run_to "$d/bare" "$bin/inherit" "$@"
    bare_status=$?
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings "$bin/inherit" "$@"
    status=$?
    [ "$bare_status" -lt 90 ] || bad "the program does not run without the library either"
    same_status
    same_file bare.out prof.out "standard output"
    sed -i '/^otelprof\[/d' prof.err
    same_file bare.err prof.err "standard error"
    strict
    end
}
busy="OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=4k OTELPROF_INTERVAL=40ms"
for kind in old sandbox timers; do
    filtered $kind "$bin/threads"
    filtered $kind "$bin/forks"
    filtered $kind "$python" -S -c 'print(sum(len(str(i)) for i in range(300000)))'
done
filtered bare xz -9 -k -c "$work/numbers"

# The library has something to say or to write, and nobody listens, or the file may not grow: no signal of that is
# the program's. With the filter the program's own thread writes, since there is no other.
if wanted 'a line that nobody can read'; then
    begin 'a line that nobody can read'
    bare "$bin/threads"
    mkfifo log
    for before in 'exec 2> /dev/full' 'exec 2>&-' 'exec 2> >(exec true); sleep 0.2' 'export OTELPROF_LOG_FILE=log' 'ulimit -f 0' \
        "ulimit -f 1; set -- '$bin/inherit' bare"; do
        run_to "$d/prof" bash -c "($before; export OTELPROF_CPU_HZ=none OTELPROF_HEAP_INTERVAL=4k OTELPROF_OUTPUT=file:$p/x.otlp \
            LD_PRELOAD='$lib'; exec \"\$@\" '$bin/threads') | cat; exit \${PIPESTATUS[0]}"
        status=$?
        same_status
        same_file bare.out prof.out "standard output after $before"
    done
    grep -q '^otelprof.*file' prof.err || bad "no word of the file that is too large: $(cat prof.err)"
    end
fi

[ -n "$words" ] || {
    begin 'what was received is whole'
    ls "$work/received" > list
    (cd "$work/received" && xargs "$tool" check --strict) < list > check 2>&1 || bad "$(grep -v ': ok' check | head -n 3)"
    [ -s list ] || bad "nothing was received"
    end
}
echo "  $runs runs with $faults faults"
finish
