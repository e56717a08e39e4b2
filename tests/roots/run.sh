#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [SUITE...]: the library as it was built here, in roots of older and newer distributions, which are made of
# the packages that this machine's mirror has; and on this machine with the system calls of Linux 3.10 alone. The
# programs are compiled in each root, by its own compiler. Without arguments: bullseye and trixie.
# Roots are kept in OTELPROF_CACHE (~/.cache/libotelprof).
. "$(dirname "$0")/../common.sh"
suite=roots
cache=${OTELPROF_CACHE:-${HOME:-/root}/.cache/libotelprof}/roots
packages=bash,coreutils,libc-bin,perl-base,python3-minimal,gcc,g++,libc6-dev
[ $# -gt 0 ] || set -- bullseye trixie

[ "$(id -u)" = 0 ] || {
    begin "roots"
    skip "only root can change the root"
    end
    finish
}
sh "$top/tools/dev/apt_packages.sh" mmdebstrap

mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1
}

# make_root SUITE: $root, whole or not at all. Packages are unpacked only: nothing in it has to run as a system.
make_root() {
    root=$cache/$1
    [ ! -e "$root/complete" ] || return 0
    rm -rf "$root" "$root.new"
    mkdir -p "$cache"
    mmdebstrap --quiet --mode=root --variant=extract --include="$packages" --components=main \
        --aptopt='Acquire::Languages "none"' --aptopt='APT::Get::AllowUnauthenticated "false"' \
        "$1" "$root.new" "$(mirror)" > "$work/$1.log" 2>&1 || return 1
    mkdir -p "$root.new/tmp" "$root.new/proc" "$root.new/dev" "$root.new/otp"
    chmod 1777 "$root.new/tmp"
    [ -c "$root.new/dev/null" ] || mknod -m 666 "$root.new/dev/null" c 1 3
    [ -c "$root.new/dev/urandom" ] || mknod -m 666 "$root.new/dev/urandom" c 1 9
    [ -e "$root.new/bin/sh" ] || ln -s bash "$root.new/bin/sh"
    echo 'root:x:0:0:root:/:/bin/bash' > "$root.new/etc/passwd"
    : > "$root.new/complete"
    mv "$root.new" "$root"
}

inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/ LC_ALL=C "$@"
}

# built NAME COMPILER ARGUMENT...: in the root's /otp
built() {
    out=$1
    shift
    inside sh -c 'cd /otp/programs && exec "$@"' sh "$@" -O1 -g0 -Wall -o "/otp/$out" > "$work/cc" 2>&1 ||
        bad "$out does not compile: $(grep -m 1 error "$work/cc" || head -n 1 "$work/cc")"
}

programs() {
    rm -rf "$root/otp"
    mkdir -p "$root/otp/out"
    chmod 777 "$root/otp/out"
    cp -r "$here/programs" "$root/otp/programs"
    cp "$here/old_kernel.c" "$root/otp/programs"
    cp "$lib" "$root/otp/libotelprof.so"
    built alone gcc -std=gnu11 alone.c
    built threads gcc -std=gnu11 threads.c -pthread -ldl
    built late gcc -std=gnu11 late.c -Wl,--as-needed -ldl
    built late_threads.so gcc -std=gnu11 -fPIC -shared late_threads.c -pthread
    built timers.so gcc -std=gnu11 -fPIC -shared timers.c -lrt -pthread
    built throw g++ -std=gnu++11 throw.cc -pthread -ldl
    built thrower.so g++ -std=gnu++11 -fPIC -shared thrower.cc
    built old_kernel gcc -std=gnu11 old_kernel.c
}

# both COMMAND...: in the root's /otp, without the library and with it. $through: what it is started by.
both() {
    run_to "$d/bare" chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/ LC_ALL=C sh -c 'cd /otp; exec "$@"' sh \
        $through "$@"
    bare_status=$?
    run_to "$d/prof" chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/ LC_ALL=C sh -c 'cd /otp; exec "$@"' sh \
        $through env LD_PRELOAD=/otp/libotelprof.so OTELPROF_OUTPUT=file:/otp/out/%e-%p.otlp.gz OTELPROF_HEAP_INTERVAL=1 \
        OTELPROF_CPU_HZ=1000 $settings "$@"
    status=$?
    find "$root/otp/out" -type f -exec mv {} "$p" \;
    same
}

sees() { # TYPE FUNCTION...
    type=$1
    shift
    for function; do
        # shellcheck disable=SC2046
        has_function "$type" "$function" $(find "$p" -type f)
    done
}

# The programs of one root; $how is what to say of it in the names.
try_root() {
    begin "$how: true, bash, perl, python3"
    both true
    equal "status of true" 0 "$status"
    both bash -c 'for i in 1 2 3; do (echo $i; exit $i) | cat; done; x=$(ls -d / | tr / x); echo $x; exit 7'
    both perl -e 'my @a = map { "x" x $_ } 1 .. 20000; print scalar(@a), "\n"; exit 5'
    both python3 -c 'print(sum(len(str(i)) for i in range(200000)))'
    strict
    has_files bash 4
    has_files perl
    sees alloc_objects Perl_runops_standard
    n=$(files 'python3*' | wc -l)
    [ "$n" -ge 1 ] || bad "no profile of python3"
    sees cpu _PyEval_EvalFrameDefault
    end

    begin "$how: a program of libc alone, with a child and another program after it"
    both ./alone
    equal "status" 3 "$status"
    strict
    has_files alone 2
    sees cpu burn_here main
    sees alloc_objects allocate_here main
    equal "libraries that it needs" libc.so.6 "$(readelf -dW "$root/otp/alone" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"
    end

    begin "$how: threads, masks, timers"
    both ./threads
    equal "status" 4 "$status"
    strict
    sees cpu burn_here named
    sees alloc_objects allocate_here named detached cancelled
    # shellcheck disable=SC2046
    judge sample-attr thread.name $(find "$p" -type f) | grep -q 'worker-3' || bad "the name of a thread is missing"
    end

    begin "$how: exceptions while libraries come and go"
    both ./throw
    equal "status" 2 "$status"
    strict
    sees cpu "burn_here(int)" "catches(void*)"
    end

    begin "$how: a thread library and timers that come later"
    both ./late
    equal "status" 6 "$status"
    grep -q '^threads 0$' "$d/prof.out" || bad "the threads do not work"
    strict
    sees cpu burn_here work main
    sees alloc_objects allocate_here work
    end
}

# The tool is an ordinary program: it runs where glibc is at least as new as here.
try_tool() {
    begin "glibc $version: the tool says what would happen"
    cp "$tool" "$root/otp/otelprof"
    here_version=$(ldd --version | head -n 1 | sed 's/.* //')
    inside sh -c 'cd /otp && exec ./otelprof doctor ./alone' > "$d/doctor" 2>&1
    status=$?
    if [ "$(printf '%s\n%s\n' "$here_version" "$version" | sort -V | head -n 1)" = "$here_version" ]; then
        equal "exit status" 0 "$status"
        grep -q "glibc $version" "$d/doctor" || bad "the version is not said: $(head -n 5 "$d/doctor")"
        grep -q 'it can be profiled' "$d/doctor" || bad "$(tail -n 1 "$d/doctor")"
        inside sh -c 'cd /otp && exec ./otelprof run -o out/run.otlp -- ./alone again' > "$d/run" 2>&1
        equal "exit status of run" 3 "$?"
        mv "$root/otp/out/run.otlp" "$p" && strict
    else
        grep -q 'GLIBC_' "$d/doctor" || bad "the loader does not say what is missing: $(head -n 1 "$d/doctor")"
        equal "exit status" 1 "$status"
    fi
    end
}

for wanted; do
    begin "$wanted: a root"
    if ! make_root "$wanted"; then
        bad "it cannot be made: $(grep -m 1 '^E:' "$work/$wanted.log" || tail -n 1 "$work/$wanted.log")"
        end
        continue
    fi
    programs
    mount -t proc proc "$root/proc" && mounts="$mounts $root/proc" || bad "no /proc"
    version=$(inside ldd --version | head -n 1 | sed 's/.* //')
    [ -n "$version" ] || bad "no version of its C library"
    end
    how="glibc $version" through=''
    try_root
    try_tool
    how="glibc $version, Linux 3.10" through=./old_kernel
    try_root
done

# Other suites, as they are, on an old kernel.
for script in exits processes exact edges; do
    begin "this machine, Linux 3.10: $script"
    ${CC:-gcc} -std=gnu11 -O1 -Wall -Wextra -Werror -o "$work/old_kernel" "$here/old_kernel.c" || bad "it does not compile"
    "$work/old_kernel" sh "$top/tests/preload/$script.sh" > "$d/log" 2>&1
    equal "exit status" 0 "$?"
    line=$(sed -n "s/^$script: \([0-9]* passed, [0-9]* failed\), .*/\1/p" "$d/log")
    case $line in
    [1-9]*" passed, 0 failed") ;;
    *) bad "$line: $(grep -m 3 -v '^FAIL' "$d/log" | cut -c 1-200)" ;;
    esac
    end
done

finish
