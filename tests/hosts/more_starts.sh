# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# Sourced by run.sh: the ways to start a program, and the kinds of programs that cannot be profiled.
source=$here/worker.cc
host worker -I"$here"
worker=$host
settings_all="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"
into="OTELPROF_OUTPUT=file:$work/%e-%p.otlp.gz" # replaced in each test

begin "no environment but LD_PRELOAD"
run_to "$d/bare" env -i "$worker"
bare_status=$?
run_to "$d/prof" env -i LD_PRELOAD="$lib" "$worker"
status=$?
same
mv otelprof-* "$p"/ 2> /dev/null
find "$p" -name '*.otlp.gz' | grep -q . || bad "no profile in the current folder"
end

begin "ld.so --preload, no environment"
run_to "$d/bare" env -i /lib64/ld-linux-x86-64.so.2 "$worker"
bare_status=$?
run_to "$d/prof" env -i /lib64/ld-linux-x86-64.so.2 --preload "$lib" "$worker"
status=$?
same
mv otelprof-* "$p"/ 2> /dev/null
end

begin "ld.so with a program: it is the program that is named"
settings=$settings_all
bare /lib64/ld-linux-x86-64.so.2 "$worker"
prof /lib64/ld-linux-x86-64.so.2 "$worker"
same
strict
has_function cpu work_in_thread $(find "$p" -type f)
judge mappings $(find "$p" -type f) | grep -q '/worker$' || bad "no mapping is that of the program"
end

begin "ldd, a shell and what it pipes"
settings=$settings_all
for command in "ldd /bin/bash | sed 's/(0x.*//; /linux-vdso/d; /libotelprof/d'" 'x=$(ls -d / | tr / x); echo $x; exit 7' \
    'for i in 1 2 3; do (echo $i; exit $i) | cat; done; echo ${PIPESTATUS[*]}; false' 'trap "echo bye" EXIT; kill -TERM $$'; do
    run_to "$d/bare" env $settings bash -c "$command"
    bare_status=$?
    run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings bash -c "$command"
    status=$?
    same
done
strict
end

begin "GLIBC_TUNABLES and other words for the loader"
settings="$settings_all GLIBC_TUNABLES=glibc.malloc.check=0:glibc.malloc.tcache_count=0:glibc.malloc.perturb=85 LD_BIND_NOW=1"
bare "$worker"
prof "$worker"
same
strict
settings="$settings_all LD_DEBUG_OUTPUT=$d/ld LD_DEBUG=unused MALLOC_ARENA_MAX=1 MALLOC_TOP_PAD_=0"
bare "$worker"
prof "$worker"
same
end

begin "a program without libc of its own"
cat > bare.c << 'SOURCE'
static long call(long n, long a, long b, long c)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
void _start(void)
{
    call(1, 1, (long)"alone\n", 6);
    call(231, 4, 0, 0);
    for (;;) {
    }
}
SOURCE
settings=$settings_all
if ${CC:-gcc} -O1 -nostdlib -nostartfiles -fPIE -pie -Wl,-dynamic-linker,/lib64/ld-linux-x86-64.so.2 -Wl,--no-dynamic-linker \
    -Wl,-dynamic-linker,/lib64/ld-linux-x86-64.so.2 -fno-stack-protector -o alone bare.c 2> cc.err; then
    bare ./alone
    prof ./alone
    same
    equal "exit status" 4 "$status"
else
    bad "it does not compile: $(head -n 1 cc.err)"
fi
end

# foreign WHAT WORDS COMPILER...: a program that cannot be profiled runs unharmed, started by one that is, and doctor
# and run say so in these words.
cat > "$work/foreign.c" << 'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv)
{
    char *p[100];
    clock_t end = clock() + CLOCKS_PER_SEC / 8;
    for (int i = 0; i < 100; i++) {
        p[i] = malloc(1000);
        memset(p[i], i, 1000);
    }
    while (clock() < end) {
    }
    printf("%d %s\n", p[7][7], argc > 1 ? argv[1] : "nothing");
    return 6;
}
SOURCE
cat > "$work/starts.c" << 'SOURCE'
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *volatile kept;
int main(int argc, char **argv)
{
    int status = 0;
    pid_t child;
    kept = malloc(100);
    if (posix_spawn(&child, argv[1], NULL, NULL, argv + 1, environ) == 0) {
        waitpid(child, &status, 0);
    }
    printf("%d %d\n", argc, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
    for (clock_t end = clock() + CLOCKS_PER_SEC / 8; clock() < end;) {
    }
    execv(argv[1], argv + 1);
    return 99;
}
SOURCE
${CC:-gcc} -O1 -o "$work/starts" "$work/starts.c"
foreign() {
    begin "a $1 program, started by one that is profiled"
    what=$1 words=$2
    shift 2
    if ! command -v "$1" > /dev/null || ! "$@" -O1 -o foreign "$work/foreign.c" 2> cc.err; then
        skip "no compiler for a $what program"
        end
        return
    fi
    ./foreign > /dev/null 2>&1
    if [ $? = 126 ]; then
        skip "this kernel does not run a $what program"
        end
        return
    fi
    settings=$settings_all
    ./foreign argument > "$d/bare.foreign"
    for program in ./foreign "$work/starts ./foreign"; do
        run_to "$d/bare" env $settings $program argument
        bare_status=$?
        run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings $program argument
        status=$?
        same_status
        same_file "$d/bare.out" "$d/prof.out" "standard output"
        grep -v "^ERROR: ld.so: object '$lib' from LD_PRELOAD cannot be preloaded" prof.err > quiet.err
        same_file "$d/bare.err" quiet.err "standard error, but for the loader's own line,"
        equal "exit status" 6 "$status"
    done
    has_files starts
    n=$(files foreign | wc -l)
    equal "profiles of it" 0 "$n"
    "$tool" doctor ./foreign > doctor.out
    equal "exit status of doctor" 1 "$?"
    grep -q "$words" doctor.out || bad "doctor says: $(grep foreign doctor.out)"
    grep -q 'it will not be profiled' doctor.out || bad "doctor says: $(tail -n 1 doctor.out)"
    "$tool" run -- ./foreign argument > run.out 2> run.err
    equal "exit status of run" 6 "$?"
    same_file run.out "$d/bare.foreign" "standard output under run"
    grep -v '^ERROR: ld.so: object' run.err > run.said
    one_line run.said warning "$words"
    end
}
foreign static "statically linked" gcc -static
foreign static-pie "statically linked" gcc -static-pie
foreign musl "another C library" musl-gcc
foreign "static musl" "statically linked" musl-gcc -static
foreign 32-bit "a 32-bit program" gcc -m32

begin "a static program that burns, by exec from one that is profiled"
cat > burner.c << 'SOURCE'
#include <stdio.h>
#include <time.h>
int main(void)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) {
    }
    puts("burnt");
    return 0;
}
SOURCE
settings=$settings_all
if ${CC:-gcc} -static -o burner burner.c 2> /dev/null; then
    bare "$work/starts" ./burner
    prof "$work/starts" ./burner
    same
    has_files starts
else
    skip "no static libc"
fi
end

begin "a program with rights of its own"
if [ "$(id -u)" = 0 ] && command -v setcap > /dev/null && id nobody > /dev/null 2>&1; then
    gcc -O1 -o rights "$work/foreign.c" && cp rights set_user && chmod 4755 set_user && chmod 755 rights . &&
        setcap cap_net_bind_service+ep rights
    chmod 777 "$p"
    for program in ./rights ./set_user; do
        run_to "$d/bare" setpriv --reuid 65534 --clear-groups env $program argument
        bare_status=$?
        run_to "$d/prof" setpriv --reuid 65534 --clear-groups env LD_PRELOAD="$lib" \
            OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $program argument
        status=$?
        same
        equal "exit status" 6 "$status"
    done
    n=$(($(files rights | wc -l) + $(files set_user | wc -l)))
    equal "profiles" 0 "$n"
else
    skip "needs root, setcap and a user nobody"
fi
end

begin "process 1 of a name space is not ended by SIGTERM"
cat > init.c << 'SOURCE'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
int main(void)
{
    int status = 0;
    for (int i = 0; i < 100; i++) {
        kept = malloc(1000);
    }
    if (fork() == 0) {
        kill(getppid(), SIGTERM);
        kill(getppid(), SIGINT);
        _exit(0);
    }
    pid_t r = wait(&status);
    printf("process %d, %d\n", getpid(), r > 0 && status == 0);
    return 3;
}
SOURCE
settings=$settings_all
if gcc -O1 -o init init.c && unshare -p -f --mount-proc true 2> /dev/null; then
    run_to "$d/bare" env $settings unshare -p -f --mount-proc ./init
    bare_status=$?
    run_to "$d/prof" unshare -p -f --mount-proc env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings ./init
    status=$?
    same
    strict
    has_files init
else
    skip "name spaces cannot be made"
fi
end

begin "an executable that is replaced while it runs, one in memory, one that is deleted"
cat > self.c << 'SOURCE'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static void *volatile kept;
__attribute__((noinline)) void real_name(void)
{
    for (clock_t end = clock() + CLOCKS_PER_SEC / 8; clock() < end;) {
    }
    for (int i = 0; i < 10; i++) {
        kept = malloc(100);
        free(kept);
    }
}
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "replaced") == 0) {
        real_name();
        if (rename("other", argv[0]) != 0) {
            return 1;
        }
    } else if (argc > 1 && strcmp(argv[1], "deleted") == 0) {
        unlink(argv[0]);
    } else if (argc > 1) {
        static char bytes[1 << 20];
        char *args[] = {argv[0], NULL};
        int in = open(argv[0], O_RDONLY);
        int fd = memfd_create("memory", MFD_CLOEXEC);
        ssize_t n = read(in, bytes, sizeof(bytes));
        if (write(fd, bytes, (size_t)n) != n) {
            return 1;
        }
        fexecve(fd, args, environ);
    }
    real_name();
    puts("done");
    return 0;
}
SOURCE
sed 's/real_name/other_name_of_other_length/; s/real_name/other_name_of_other_length/g' self.c > other.c
settings=$settings_all
for how in replaced memory deleted; do
    gcc -O1 -o self self.c && gcc -O1 -o other other.c
    bare ./self $how
    gcc -O1 -o self self.c && gcc -O1 -o other other.c
    rm -f "$p"/*
    prof ./self $how
    same
    strict
    has_function cpu real_name $(find "$p" -type f)
    has_function alloc_objects real_name $(find "$p" -type f)
    if judge cum cpu $(find "$p" -type f) | grep other_name; then
        bad "a name from another file"
    fi
    if judge mappings $(find "$p" -type f) | grep -F '(deleted)'; then
        bad "a mapping with the kernel's addition to its name"
    fi
done
end

for ld in lld mold gold bfd; do
    begin "a program made by $ld, text in a place of its own"
    settings=$settings_all
    flags="-fuse-ld=$ld"
    [ $ld = bfd ] && flags="-no-pie -Wl,--section-start=.text=0x5000000"
    if gcc -O1 -o self "$here/call_edges.c" -I"$here" $flags 2> /dev/null; then
        bare ./self
        prof ./self
        same
        strict
        has_function cpu caller_a $(find "$p" -type f)
        has_function cpu middle_b $(find "$p" -type f)
    else
        skip "no $ld"
    fi
    end
done

begin "a program that profiles itself (-pg)"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"
cat > pg.c << 'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
volatile unsigned long x;
static void *volatile kept;
__attribute__((noinline)) void burns_here(void)
{
    for (int i = 0; i < 3000000; i++) {
        x = x * 3 + 1;
    }
}
int main(void)
{
    clock_t begin = clock();
    for (int i = 0; i < 150; i++) { /* so much work, about a second; a clock may jump */
        burns_here();
    }
    FILE *f = fopen(getenv("HUNDREDTHS"), "w");
    fprintf(f, "%ld\n", (long)((clock() - begin) * 100 / CLOCKS_PER_SEC));
    fclose(f);
    kept = malloc(10);
    puts("done");
    return 0;
}
SOURCE
if gcc -O1 -pg -o pg pg.c; then
    bare env HUNDREDTHS="$d/bare.truth" ./pg
    mv gmon.out bare.gmon
    prof env HUNDREDTHS="$d/truth" ./pg
    same
    strict
    has_function cpu burns_here $(find "$p" -type f)
    equal "size of gmon.out" "$(stat -c %s bare.gmon)" "$(stat -c %s gmon.out)"
    if need gprof; then
        # A hundred a second of its own clock, as the kernel counts: twice the truth would be seen. No two runs are equally
        # fast; for what a machine takes away in the second there need not be ticks.
        gprof -bp ./pg gmon.out | awk '$NF == "burns_here" { print int($3 * 100) }' > ticks
        truth=$(cat truth) least=$(cat bare.truth)
        [ "$least" -le "$truth" ] || least=$truth
        between "ticks of its own" $((least * 6 / 10)) $((truth * 15 / 10)) "$(cat ticks)"
    fi
fi
end

begin "standard error is closed: what is logged to a file does not become it"
run_to "$d/bare" sh -c 'exec perl -e "print syswrite(STDERR, q(x)) ? 1 : 0" 2>&-'
bare_status=$?
run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" OTELPROF_HEAP_INTERVAL=1 OTELPROF_LOG=debug \
    OTELPROF_LOG_FILE="$d/log" sh -c 'exec perl -e "print syswrite(STDERR, q(x)) ? 1 : 0" 2>&-'
status=$?
same
equal "what was written" 0 "$(cat prof.out)"
grep -q profiling log || bad "nothing is logged"
strict
end
