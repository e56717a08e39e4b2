# SPDX-License-Identifier: Apache-2.0
# glibc: the C library's own tests, on the installed one: the allocator under three sets of tunables, threads,
# cancellation, signals, timers, fork, backtraces.
packages='gcc libc6-dev'
programs='malloc+tst-*'
least=100

prepare() {
    once sources sources
    once "programs${quick:+-quick}" programs
}

sources() {
    APT_SOURCE_STATE="$store/apt" sh "$top/tools/dev/apt_source.sh" "$src/download" glibc
    for folder in support malloc nptl sysdeps/pthread signal setjmp rt debug posix stdlib; do
        echo "*/$folder/*.[ch]"
    done > list.wanted
    printf '%s\n' '*/test-skeleton.c' '*/include/array_length.h' '*/include/libc-diag.h' '*/include/libc-pointer-arith.h' \
        '*/include/intprops*.h' >> list.wanted
    tar -xf "$(ls -S "$src"/download/glibc_*.orig.tar.* | head -n 1)" -C "$src" --wildcards --strip-components=1 -T list.wanted
    rm -rf "$src/download"
}

# Tests that need what is only inside the C library's build do not compile: they are not cases.
programs() {
    mkdir -p objects bin
    : > include/config.h
    printf '#include <elf.h>\n#define _STACK_GROWS_DOWN 1\n#define DEFAULT_STACK_PERMS (PF_R | PF_W)\n' > include/stackinfo.h
    wanted='check|write_message|ignore_stderr|oom_error|delayed_exit|temp_file|next_to_fault|blob_repeat|timespec.*|x[a-z_0-9]*'
    wanted="$wanted|support_(test_verify_impl|test_compare_[a-z_]*|record_failure|capture_subp.*|subprocess|quote_.*|set_small_.*"
    wanted="$wanted|shared_.*|isolate_.*|need_proc|paths|stack_alloc|wait_for.*|write_file.*|create_timer|openpty)"
    ls support/*.c | grep -E "/($wanted)\.c\$" | grep -vE 'time64|_main\.c|locale|xreadlink' | sed 's|^|../|' > list.support
    echo ../support/support_test_main.c >> list.support
    for path in SRCDIR OBJDIR OBJDIR_ELF_LDSO INSTDIR LIBDIR BINDIR SBINDIR SLIBDIR ROOTSBINDIR COMPLOCALEDIR; do
        echo "#define ${path}_PATH \"/nowhere\""
    done > folders.h
    flags="-w -O1 -std=gnu11 -D_GNU_SOURCE -I$src -I$src/include"
    export flags
    # shellcheck disable=SC2086
    (cd objects &&
        xargs gcc $flags -DTIMEOUTFACTOR=1 -include limits.h -include ../folders.h "-I$src/support" -c < ../list.support)
    rm -f libsupport.a
    ar rcs libsupport.a objects/*.o
    tests_of > list.tests
    # shellcheck disable=SC2016
    xargs -P 2 -n 1 sh -c 'name=$(echo "$0" | tr / + | sed "s/\.c$//") aux=
        case $0 in *interpose-*thread.c) aux=malloc/tst-interpose-aux-${0##*-} ;; esac
        gcc $flags -I"$src/${0%/*}" -o "bin/$name" "$0" $aux libsupport.a -lm 2> "objects/$name.log"
        exit 0' < list.tests
}

tests_of() {
    ls malloc/mallocbug.c malloc/tst-*.c | grep -vE "aux|static|skeleton${quick:+|mallocfork[23]}"
    if [ -n "$quick" ]; then
        ls sysdeps/pthread/tst-cancel*.c sysdeps/pthread/tst-signal*.c sysdeps/pthread/tst-timer*.c sysdeps/pthread/tst-fork*.c \
            sysdeps/pthread/tst-exec*.c debug/tst-backtrace*.c signal/tst-*.c setjmp/*tst*.c
    else
        ls sysdeps/pthread/tst-*.c nptl/tst-*.c signal/tst-*.c setjmp/*tst*.c rt/tst-*.c debug/tst-backtrace*.c posix/tst-*.c stdlib/tst-*.c
    fi
}

cases() {
    export TIMEOUTFACTOR=20
    cat > one << 'END'
case $1 in
*@one) export GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1:glibc.malloc.perturb=90 ;;
*@map) export GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4096:glibc.malloc.trim_threshold=4096:glibc.malloc.hugetlb=1 ;;
esac
mkdir "$scratch/in-$1"
cd "$scratch/in-$1" || exit 1
TMPDIR=$PWD exec "$src/bin/${1%@*}"
END
    for name in $(cd "$src" && tests_of | tr / + | sed 's/\.c$//'); do
        [ -x "$src/bin/$name" ] || continue
        echo "$name"
        case $name in
        malloc+tst-mallocfork[23]) ;; # a thousand forks under a storm of signals: once is enough
        malloc+*) printf '%s@one\n%s@map\n' "$name" "$name" ;;
        esac
    done | each 6 600 sh "$scratch/one"
    for status in "$out"/*.status; do
        word="status $(cat "$status")"
        case $word in *' 0') word=ok ;; *' 77') word=skip ;; esac
        printf '%s\t%s\n' "$(basename "$status" .status)" "$word"
    done
}
