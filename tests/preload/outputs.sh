#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# outputs.sh: where the files go, what they are called, and what happens when they cannot be written.
. "$(dirname "$0")/../common.sh"
host ends
ends=$host
host loop
loop=$host

# to OUTPUT [SETTING…]: one run of ends that writes there.
to() {
    output=$1
    shift
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$output" OTELPROF_HEAP_INTERVAL=4k "$@" "$ends" exit
    status=$?
    equal "exit status" 3 "$status"
}

silent() {
    equal "standard error" "" "$(cat "$d/prof.err")"
}

exists() {
    for file; do
        [ -f "$file" ] || bad "there is no $file, but $(find . -type f -name '*otlp*' | xargs)"
    done
}

# The first bytes of a file in hex.
magic() {
    od -An -tx1 -N"$2" "$1" | tr -d ' \n'
}

begin "without configuration: one file in the current folder, nothing said"
bare "$ends" exit
run_to "$d/prof" env LD_PRELOAD="$lib" "$ends" exit
status=$?
same
find . -type f -name 'otelprof-*' > list
grep -qE '^\./otelprof-ends-[0-9]+\.otlp\.gz$' list || bad "no such file: $(xargs < list)"
equal "files" 1 "$(wc -l < list)"
pid=$(sed 's/.*-\([0-9]*\).otlp.gz/\1/' list)
equal "process.pid" "$pid" "$(judge attr process.pid ./otelprof-ends-*.otlp.gz)"
end

begin "each sequence of a file name"
mkdir "$p/dir-ends"
to "file:$p/dir-%e/%e.%p.%h.%t.%n.100%%.otlp.gz"
silent
made=$(find "$p" -type f)
echo "$made" | grep -qE "/dir-ends/ends\.[0-9]+\.$(uname -n)\.20[0-9]{6}T[0-9]{6}Z\.0\.100%\.otlp\.gz$" || bad "name: $made"
strict
end

begin "the name decides the compression"
to "file:$p/a.otlp,file:$p/b.otlp.gz,file:$p/c.otlp.zst,file:$p/d"
silent
strict
equal "gzip" 1f8b "$(magic "$p/b.otlp.gz" 2)"
equal "zstd" 28b52ffd "$(magic "$p/c.otlp.zst" 4)"
zcat < "$p/b.otlp.gz" | cmp -s - "$p/a.otlp" || bad "gzip and bare differ"
zstd -dcq < "$p/c.otlp.zst" | cmp -s - "$p/a.otlp" || bad "zstd and bare differ"
cmp -s "$p/a.otlp" "$p/d" || bad "a name without an extension holds something else"
end

begin "no flush overwrites another: NAME, NAME.1, NAME.2"
run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/x.otlp" OTELPROF_INTERVAL=50ms \
    OTELPROF_HEAP_INTERVAL=4k "$loop" "$p/x.2.otlp" 30
equal "exit status" 0 "$?"
silent
exists "$p/x.otlp" "$p/x.1.otlp" "$p/x.2.otlp"
strict
equal "processes" 1 "$(for f in "$p"/x*.otlp; do judge attr process.pid "$f"; done | sort -u | wc -l)"
end

begin "no process overwrites another's file"
for i in 1 2 3 4; do
    to "file:$p/x.otlp"
    silent
    equal "files after run $i" "$i" "$(find "$p" -type f | wc -l)"
    [ "$i" != 1 ] || cp "$p/x.otlp" "$d/first"
done
cmp -s "$d/first" "$p/x.otlp" || bad "the first file was changed"
equal "processes" 4 "$(for f in "$p"/*; do judge attr process.pid "$f"; done | sort -u | wc -l)"
strict
end

begin "a file of somebody else stays"
echo "mine" > "$p/x.otlp"
ln -s /nonexistent/target "$p/x.0.otlp"
to "file:$p/x.otlp"
silent
equal "content" mine "$(cat "$p/x.otlp")"
equal "link" /nonexistent/target "$(readlink "$p/x.0.otlp")"
rm "$p/x.otlp" "$p/x.0.otlp"
strict
end

begin "a relative name means the folder in which the program began"
mkdir elsewhere
run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT=file:here-%e.otlp OTELPROF_HEAP_INTERVAL=4k \
    /usr/bin/perl -e 'my $x = "x" x 1000000; chdir "elsewhere" or die; print "moved\n"'
silent
exists here-perl.otlp
end

begin "file mode follows the umask"
(umask 077 && to "file:$p/private.otlp")
(umask 022 && to "file:$p/public.otlp")
equal "private" 600 "$(stat -c %a "$p/private.otlp")"
equal "public" 644 "$(stat -c %a "$p/public.otlp")"
end

# cannot WHAT OUTPUT WORD…: one line with these words, and the program unharmed.
cannot() {
    what=$1 output=$2
    shift 2
    bare "$ends" exit
    to "$output"
    same_file "$d/bare.out" "$d/prof.out" "standard output"
    one_line "$d/prof.err" "$@"
    ! grep -q 'tried again' "$d/prof.err" || bad "a promise that nobody keeps: $(cat "$d/prof.err")"
}

begin "what is no file stays as it is: devices, a FIFO, a socket, a folder"
mkfifo "$p/fifo"
mkdir "$p/folder"
"$python" -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$p/socket"
for path in /dev/full /dev/null /dev/stdout "$p/fifo" "$p/socket"; do
    cannot "" "file:$path" "cannot write to file $path" "device, FIFO or socket" "this output is off"
    [ ! -e "$path.0" ] || bad "$path.0 was made"
done
cannot "" "file:$p/folder" "cannot write to file $p/folder: is a folder" "this output is off"
equal "what is there" "fifo folder socket" "$(ls -A "$p" | xargs)"
equal "what is in the folder" "" "$(ls -A "$p/folder")"
cannot "" "file:/dev/full,file:$p/other.otlp" "/dev/full"
exists "$p/other.otlp"
end

begin "an extension that is not known: written as OTLP, which a line says at level warn"
to "file:$p/x.foo"
silent
"$tool" check "$p/x.foo" > check || bad "$(cat check)"
to "file:$p/y.foo" OTELPROF_LOG=warn
one_line "$d/prof.err" "$p/y.foo" ".jsonl" "written as OTLP"
for name in y.otlp y.otlp.gz y.pb y.jsonl.zst y.otep239; do
    to "file:$p/$name" OTELPROF_LOG=warn
    silent
done
end

begin "a folder that does not exist"
cannot "" "file:$d/none/x.otlp" "$d/none/x.otlp" "no such file"
[ ! -e "$d/none" ] || bad "it was made"
end

begin "a file where a folder should be"
: > plain
cannot "" "file:$d/plain/x.otlp" "not a folder"
end

begin "a name that is too long"
long=$(printf '%0300d' 0)
cannot "" "file:$p/$long.otlp" "too long"
end

begin "a folder without permission"
if [ "$(id -u)" != 0 ]; then
    chmod 555 "$p"
    cannot "" "file:$p/x.otlp" "permission denied"
    chmod 755 "$p"
elif need setpriv; then
    chmod 755 "$work" "$d" "$p"
    if setpriv --reuid=65534 --clear-groups test -x "$ends" -a -r "$lib"; then
        run_to "$d/prof" setpriv --reuid=65534 --clear-groups env LD_PRELOAD="$lib" \
            OTELPROF_OUTPUT="file:$p/x.otlp" OTELPROF_HEAP_INTERVAL=4k "$ends" exit
        equal "exit status" 3 "$?"
        one_line "$d/prof.err" "permission denied"
    else
        skip "another user cannot read the build folder"
    fi
fi
end

# A small file system of our own: small OPTIONS.
small() {
    mkdir -p small
    mount -t tmpfs -o "$1" otelprof-test small 2> /dev/null || {
        skip "no file system can be mounted here"
        return 1
    }
    mounts="$mounts $d/small"
}

begin "a read-only file system"
if small ro,size=1m; then
    cannot "" "file:$d/small/x.otlp" "read-only"
    umount small
fi
end

begin "a full file system: nothing half is left"
if small size=64k; then
    head -c 65536 /dev/zero > small/filler
    cannot "" "file:$d/small/x.otlp,file:$p/other.otlp" "no space"
    equal "files" filler "$(ls -A small)"
    exists "$p/other.otlp"
    umount small
fi
end

begin "a full file system that has room again: nothing is lost"
if small size=4m; then # room for what comes until the program is told to end, however late that is
    head -c 4194304 /dev/zero > small/filler
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$d/small/x.otlp.gz" OTELPROF_INTERVAL=50ms OTELPROF_CPU=false \
        OTELPROF_HEAP_INTERVAL=1 OTELPROF_LOG_FILE="$d/log" "$loop" "$d/go" 30 > prof.out 2> prof.err &
    child=$!
    wait_for 20 test -s log || bad "the log says nothing"
    rm small/filler
    wait_for 20 test -f small/x.2.otlp.gz || bad "no files after there was room"
    : > go
    wait $child
    equal "exit status" 0 "$?"
    equal "standard error" "" "$(cat prof.err)"
    cp small/*.gz "$p"
    strict
    one_line log "no space"
    # What loop_step allocates is kept over the failure: each object but the last is freed.
    equal "bytes in use" 5000 "$(judge site inuse_space loop_step "$p"/*)"
    objects=$(judge site alloc_objects loop_step "$p"/*)
    equal "objects" 0 $((objects % 50))
    equal "losses" "" "$(judge note otelprof.dropped.export "$p"/* | sed 's/^0$//')"
    umount small
fi
end

begin "what was to be tried again and never arrived is said to be lost"
mkdir gone
env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$d/gone/x.otlp" OTELPROF_INTERVAL=50ms OTELPROF_CPU=false \
    OTELPROF_HEAP_INTERVAL=1 OTELPROF_LOG_FILE="$d/log" "$loop" "$d/go" 30 > prof.out 2> prof.err &
child=$!
wait_for 20 test -f gone/x.otlp || bad "no file"
mv gone elsewhere
wait_for 20 grep -qs 'no such file or folder; the profile is kept and tried again$' log || bad "the log says nothing"
: > go
wait $child
equal "exit status" 0 "$?"
equal "standard error" "" "$(cat prof.err)"
equal "lines of the log" 2 "$(wc -l < log)"
tail -n 1 log | grep -q "$d/gone/x.*: no such file or folder; what was kept is lost: [1-9][0-9]* profiles*\$" || bad "$(cat log)"
end

begin "a limit on the size of files"
bare "$ends" exit
run_to "$d/prof" sh -c "ulimit -f 1; LD_PRELOAD=$lib OTELPROF_OUTPUT=file:$p/x.otlp OTELPROF_HEAP_INTERVAL=1 \
    OTELPROF_MAX_DEPTH=1024 exec $ends exit"
equal "exit status" 3 "$?"
same_file "$d/bare.out" "$d/prof.out" "standard output"
find "$p" -type f | while read -r f; do
    [ "$(stat -c %s "$f")" -le 1024 ] && judge totals "$f" > /dev/null || bad "half a file"
done
no_rest
end
finish
