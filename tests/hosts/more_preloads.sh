# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# Sourced by run.sh: what else may be preloaded, before us and behind us, and auditors of the loader.
for l in early_bird lonely_blocks stack_walker trivial_audit; do
    begin "libs/$l.c compiles"
    shared "$l"
    end
done
source=$here/worker.cc
host worker -I"$here"

found() { # NAME: the path of an installed library, or nothing
    for f in /usr/lib/x86_64-linux-gnu/"$1" /usr/lib/x86_64-linux-gnu/*/"$1"; do
        [ -e "$f" ] && echo "$f" && return
    done
}

# with PRELOADS PROGRAM...: LD_PRELOAD is PRELOADS, in which LIB stands for ours; bare without ours.
with() {
    others=$(echo "$1" | sed 's/LIB//; s/^://; s/:$//; s/::/:/')
    ours=$(echo "$1" | sed "s|LIB|$lib|")
    shift
    # shellcheck disable=SC2086
    run_to "$d/bare" env LD_PRELOAD="$others" $settings "$@"
    bare_status=$?
    # shellcheck disable=SC2086
    run_to "$d/prof" env LD_PRELOAD="$ours" OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" $settings "$@"
    status=$?
    same
}

while read -r what file; do
    path=$(found "$file")
    [ -e "$libs/$file" ] && path=$libs/$file
    for order in "LIB:$path" "$path:LIB"; do
        case $order in LIB:*) begin "preload of $what, behind ours" ;; *) begin "preload of $what, before ours" ;; esac
        if [ -z "$path" ]; then
            skip "$file is not installed"
            end
            continue
        fi
        settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"
        with "$order" "$host" argument
        strict
        has_function cpu work_in_thread $(files worker)
        case $order in
        LIB:*) has_function alloc_objects work_in_thread $(files worker) ;;
        esac
        settings="OTELPROF_CPU_HZ=1000"
        with "$order" "$host" argument
        # Programs that call reallocarray, which allocators leave to the C library.
        with "$order" ls /
        with "$order" sed -n 1p /etc/passwd
        with "$order" grep -c . /etc/passwd
        end
    done
done << LIST
jemalloc libjemalloc.so.2
tcmalloc libtcmalloc_minimal.so.4
mimalloc libmimalloc.so.2
eatmydata libeatmydata.so
faketime libfaketime.so.1
faketimeMT libfaketimeMT.so.1
early_bird early_bird.so
lonely_blocks lonely_blocks.so
stack_walker stack_walker.so
LIST

begin "three preloads around ours"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000"
with "$libs/early_bird.so:LIB:$libs/stack_walker.so:$libs/lonely_blocks.so" "$host" argument
strict
has_function alloc_objects work_in_thread $(files worker)
end

begin "an auditor of the loader"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 LD_AUDIT=$libs/trivial_audit.so"
bare "$host" argument
prof "$host" argument
same
strict
has_function cpu work_in_thread $(files worker)
bare /bin/ls /
prof /bin/ls /
same
end

begin "the library twice, by two names"
cp "$lib" "$d/second.so"
settings="OTELPROF_CPU_HZ=1000"
with "LIB:$d/second.so" "$host" argument
end
