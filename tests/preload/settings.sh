#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# settings.sh: what the variables switch on and off, and that a value that cannot be understood costs one line.
. "$(dirname "$0")/../common.sh"
begin "a program that takes every signal loses the CPU profile, and it is said once"
host takes_all
settings="OTELPROF_HEAP_INTERVAL=1k OTELPROF_LOG=warn"
bare "$host"
prof "$host"
same_status
same_file "$d/bare.out" "$d/prof.out" "standard output"
strict
equal "types" "alloc_objects alloc_space inuse_objects inuse_space" \
    "$(judge totals $(files takes_all) | cut -d ' ' -f 1 | sort | xargs)"
one_line "$d/prof.err" "no CPU profile" signal
end

host ends

# A malformed value: the program runs on and is profiled, and stderr has one line that names variable and value.
while read -r variable value; do
    begin "one line about $variable=$value"
    bare "$host" exit
    settings="OTELPROF_HEAP_INTERVAL=4k $variable=$value"
    [ "$variable" != OTELPROF_HEAP_INTERVAL ] || settings="$variable=$value"
    prof "$host" exit
    same_status
    same_file "$d/bare.out" "$d/prof.out" "standard output"
    one_line "$d/prof.err" "$variable" "$value" "allowed: " "using "
    has_files ends
    end
done << LIST
OTELPROF_INTERVAL sixty
OTELPROF_INTERVAL -5s
OTELPROF_INTERVAL 1h
OTELPROF_CPU maybe
OTELPROF_CPU_HZ 0
OTELPROF_CPU_HZ 10001
OTELPROF_CPU_HZ 99999999999999999999999
OTELPROF_CPU_HZ 12.5
OTELPROF_CPU_ENGINE magic
OTELPROF_HEAP 2
OTELPROF_HEAP_INTERVAL 0
OTELPROF_HEAP_INTERVAL 12q
OTELPROF_HEAP_INTERVAL -1
OTELPROF_MAX_DEPTH 0
OTELPROF_MAX_DEPTH 1025
OTELPROF_TIMESTAMPS perhaps
OTELPROF_THREAD_ATTRIBUTES name,colour
OTELPROF_FOLLOW_FORK yes-please
OTELPROF_MEMORY_LIMIT lots
OTELPROF_MEMORY_LIMIT 99999999999g
OTELPROF_SHUTDOWN_TIMEOUT soon
OTELPROF_START sometimes
OTELPROF_TOGGLE_SIGNAL KILL
OTELPROF_TOGGLE_SIGNAL 0
OTELPROF_TOGGLE_SIGNAL -1
OTELPROF_TOGGLE_SIGNAL 9
OTELPROF_TOGGLE_SIGNAL 27
OTELPROF_TOGGLE_SIGNAL 65
OTELPROF_TOGGLE_SIGNAL stop
OTELPROF_TOGGLE_SIGNAL SIG
OTELPROF_TOGGLE_SIGNAL SIGNONE
OTELPROF_CPU_BUDGET 101%
OTELPROF_MAX_LABELS many
OTELPROF_PUBLISH_CONTEXT x
OTELPROF_LOG loudly
OTEL_EXPORTER_OTLP_TIMEOUT ten
OTEL_EXPORTER_OTLP_PROTOCOL carrier-pigeon
OTEL_EXPORTER_OTLP_COMPRESSION lzma
OTELPROF_PROGRAMS ,
OTELPROF_PROGRAMS [
OTELPROF_PROGRAMS true,[e
OTELPROF_PROGRAMS /usr/bin/true
OTELPROF_SKIP_PROGRAMS ,,
OTELPROF_SKIP_PROGRAMS ends,[z-a]
LIST

begin "one line about an output that is none"
bare "$host" exit
run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT=floppy:a.otlp OTELPROF_HEAP_INTERVAL=4k "$host" exit
status=$?
same_status
one_line "$d/prof.err" OTELPROF_OUTPUT floppy:a.otlp
[ -n "$(find "$d" -name 'otelprof-ends-*.otlp.gz')" ] || bad "no profile under the standard name"
end

begin "one line about a variable that does not exist"
settings="OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU_HERTZ=50"
prof "$host" exit
equal "exit status" 3 "$status"
one_line "$d/prof.err" OTELPROF_CPU_HERTZ
has_files ends
end

begin "a line for each of three faults"
settings="OTELPROF_HEAP_INTERVAL=x OTELPROF_INTERVAL=x OTELPROF_CPU_HZ=x"
prof "$host" exit
equal "exit status" 3 "$status"
equal "lines on standard error" 3 "$(wc -l < "$d/prof.err")"
has_files ends
end

begin "nothing is said when the log is off"
settings="OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU_HZ=x OTELPROF_LOG=none"
prof "$host" exit
equal "standard error" "" "$(cat "$d/prof.err")"
has_files ends
end

begin "a log file takes the lines"
settings="OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU_HZ=x OTELPROF_LOG_FILE=$d/log"
prof "$host" exit
equal "standard error" "" "$(cat "$d/prof.err")"
one_line "$d/log" OTELPROF_CPU_HZ
end

begin "a log file that cannot be opened: one line says so, and stderr takes the others"
settings="OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU_HZ=x OTELPROF_INTERVAL=x OTELPROF_LOG_FILE=$d/none/log"
prof "$host" exit
equal "exit status" 3 "$status"
equal "lines on standard error" 3 "$(wc -l < "$d/prof.err")"
equal "lines about the log file" 1 "$(grep -c "OTELPROF_LOG_FILE=\"$d/none/log\" cannot be opened: no such file" "$d/prof.err")"
for word in OTELPROF_CPU_HZ OTELPROF_INTERVAL; do
    equal "lines about $word" 1 "$(grep -c "$word=\"x\"" "$d/prof.err")"
done
has_files ends
end

for value in a=b,c a=%zz a=%C3%28; do
    begin "one line about OTEL_RESOURCE_ATTRIBUTES=$value"
    settings="OTELPROF_HEAP_INTERVAL=4k OTEL_RESOURCE_ATTRIBUTES=$value"
    prof "$host" exit
    equal "exit status" 3 "$status"
    one_line "$d/prof.err" OTEL_RESOURCE_ATTRIBUTES "\"${value#a=b,}\"" "allowed: " "using none"
    equal "a" "" "$(judge attr a $(files ends))"
    end
done

# What stands behind the = of a header may be a secret. Nobody listens: that is a line of its own.
while read -r value words; do
    for variable in OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_PROFILES_HEADERS; do
        begin "one line about $variable=$value"
        run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="http://127.0.0.1:1,file:$p/ends-0.otlp" \
            OTELPROF_HEAP_INTERVAL=4k OTELPROF_SHUTDOWN_TIMEOUT=100ms "$variable=good=hush,$(echo "$value" | tr + ' ')" \
            "$host" exit
        equal "exit status" 3 "$?"
        grep -v 'cannot connect to http://127.0.0.1:1: ' "$d/prof.err" > "$d/lines"
        one_line "$d/lines" "error: $variable: header 2 $words"
        grep -qi hush "$d/prof.err" && bad "a value is in the log"
        has_files ends
        end
    done
done << LIST
hush is ignored: it has no =
a=%zzhush "a" is ignored: the value is not percent-encoded
b+b=hush "b..." is ignored: that is no name of a header
Authorization:+Bearer+hush== "Authorization..." is ignored: that is no name of a header
host=hush "host" is ignored: it belongs to the request itself
content-length=5hush "content-length" is ignored: it belongs to the request itself
LIST

begin "several headers that cannot be used are one line"
run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="http://127.0.0.1:1" OTELPROF_HEAP_INTERVAL=4k \
    OTELPROF_SPOOL="$lib/spool" OTELPROF_SHUTDOWN_TIMEOUT=100ms OTEL_EXPORTER_OTLP_HEADERS=a=%zz,host=x "$host" exit
equal "lines about headers" 1 "$(grep -c OTEL_EXPORTER_OTLP_HEADERS "$d/prof.err")"
grep -q 'header 1 "a" is ignored: .*; header 2 "host" is ignored: .*OTELPROF_SPOOL cannot be used: not a folder' "$d/prof.err" ||
    bad "$(cat "$d/prof.err")"
end

begin "one line about a spool that cannot be used"
: > plain
socket=$d/nobody
run_to "$d/prof" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="unix:$socket,file:$p/ends-0.otlp" OTELPROF_HEAP_INTERVAL=4k \
    OTELPROF_SPOOL="$d/plain/spool" OTELPROF_SHUTDOWN_TIMEOUT=100ms "$host" exit
equal "exit status" 3 "$?"
equal "lines about the spool" 1 "$(grep -c 'OTELPROF_SPOOL cannot be used: not a folder' "$d/prof.err")"
equal "lines about the socket" 1 "$(grep -c "cannot connect to unix:$socket: .*; the profile is lost\$" "$d/prof.err")"
equal "lines on standard error" 2 "$(wc -l < "$d/prof.err")"
has_files ends
end

begin "empty values count as unset"
settings="OTELPROF_HEAP_INTERVAL=4k OTELPROF_CPU= OTELPROF_INTERVAL= OTELPROF_PROGRAMS= OTEL_SDK_DISABLED="
prof "$host" exit
equal "standard error" "" "$(cat "$d/prof.err")"
has_files ends
end

begin "OTELPROF_CPU=false leaves the heap profile"
settings="OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=1"
prof "$host" exit
strict
equal "types" "alloc_objects alloc_space inuse_objects inuse_space" \
    "$(judge totals $(files ends) | cut -d ' ' -f 1 | xargs)"
end

begin "OTELPROF_HEAP=false leaves the CPU profile"
host burn
settings="OTELPROF_HEAP=false"
prof "$host" 300
strict
equal "types" "samples cpu" "$(judge totals $(files burn) | cut -d ' ' -f 1 | xargs)"
has_function cpu burn_here $(files burn)
end

begin "the rate is what was asked for"
settings="OTELPROF_HEAP=false OTELPROF_CPU_HZ=1000 TRUTH=$d/truth"
prof "$host" 1000
burnt=$(truth burn_here)
strict
equal "period" 1000000 "$(judge period cpu $(files burn))"
between "samples in a second of CPU time" $((burnt - 300)) $((burnt + 300)) "$(judge site samples burn_here $(files burn))"
between "nanoseconds" $((burnt * 1000000 - 100000000)) $((burnt * 1000000 + 200000000)) "$(judge site cpu burn_here $(files burn))"
end
host ends

for off in OTEL_SDK_DISABLED=true OTEL_SDK_DISABLED=TRUE OTELPROF_OUTPUT=none "OTELPROF_CPU=false OTELPROF_HEAP=false" \
    "OTELPROF_PROGRAMS=other*,thing" "OTELPROF_SKIP_PROGRAMS=*nds"; do
    begin "$off: the library does nothing"
    bare "$host" exit
    settings="OTELPROF_HEAP_INTERVAL=1 $off"
    prof "$host" exit
    same
    no_files
    end
done

for on in OTEL_SDK_DISABLED=false "OTELPROF_PROGRAMS=x,e?ds" "OTELPROF_PROGRAMS=* OTELPROF_SKIP_PROGRAMS=end"; do
    begin "$on: the library works"
    settings="OTELPROF_HEAP_INTERVAL=1 $on"
    prof "$host" exit
    strict
    end
done

begin "OTELPROF_MAX_DEPTH cuts and says so"
host deep
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false OTELPROF_MAX_DEPTH=10"
prof "$host" 50
strict
deepest=$(judge stacks alloc_space $(files deep) | grep deep_down | head -n 1)
equal "frames" 11 "$(echo "$deepest" | awk -F ' < ' '{ print NF }')"
case $deepest in *' < [truncated]') ;; *) bad "the stack does not end in [truncated]: $deepest" ;; esac
end

begin "OTELPROF_MAX_DEPTH=1024 keeps deep stacks whole"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU=false OTELPROF_MAX_DEPTH=1024"
prof "$host" 900
strict
judge stacks alloc_space $(files deep) | grep deep_down | head -n 1 > "$d/deepest"
grep -q ' < main < ' "$d/deepest" || bad "main is not in the stack"
equal "frames of the recursion" 900 "$(awk -F 'deep_down' '{ print NF - 1 }' "$d/deepest")"
end

begin "OTEL_SERVICE_NAME wins over the resource attributes"
host ends
settings="OTELPROF_HEAP_INTERVAL=1 OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES=service.name=x,team=a%20b"
prof "$host" exit
strict
equal "service.name" shop "$(judge attr service.name $(files ends))"
equal "team" "a b" "$(judge attr team $(files ends))"
equal "process.executable.name" ends "$(judge attr process.executable.name $(files ends))"
equal "telemetry.sdk.name" libotelprof "$(judge attr telemetry.sdk.name $(files ends))"
end

begin "thread attributes are those asked for"
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_THREAD_ATTRIBUTES=id,name"
prof "$host" exit
equal "thread.name" ends "$(judge sample-attr thread.name $(files ends))"
between "thread.id" 1 99999999 "$(judge sample-attr thread.id $(files ends))"
rm -f "$p"/*
settings="OTELPROF_HEAP_INTERVAL=1 OTELPROF_THREAD_ATTRIBUTES=none"
prof "$host" exit
equal "thread.name" "" "$(judge sample-attr thread.name $(files ends))"
end

# Little memory: fewer scratch stacks and smaller tables, and what does not fit is dropped and counted.
for memory in 1m 2m 4m; do
    begin "OTELPROF_MEMORY_LIMIT=$memory: a profile of a small program"
    settings="OTELPROF_HEAP_INTERVAL=4k OTELPROF_MEMORY_LIMIT=$memory"
    prof "$host" exit
    equal "exit status" 3 "$status"
    equal "standard error" "" "$(cat "$d/prof.err")"
    strict
    end

    begin "OTELPROF_MEMORY_LIMIT=$memory: a profile of Python, CPU and heap"
    settings="OTELPROF_MEMORY_LIMIT=$memory"
    prof "$python" -c "kept = [str(i) for i in range(300000)]; print(sum(i * i % 7 for i in range(3000000)))"
    equal "exit status" 0 "$status"
    equal "standard error" "" "$(cat "$d/prof.err")"
    strict
    for type in samples cpu alloc_objects alloc_space; do
        judge totals $(files) | grep -q "^$type [1-9]" || bad "no $type"
    done
    end
done

begin "OTELPROF_MEMORY_LIMIT=1m: what does not fit is counted"
settings="OTELPROF_HEAP_INTERVAL=64 OTELPROF_CPU=false OTELPROF_MEMORY_LIMIT=1m"
ends=$host
host many_live
prof "$host"
host=$ends
equal "exit status" 0 "$status"
equal "standard output" 300000 "$(cat "$d/prof.out")"
equal "standard error" "" "$(cat "$d/prof.err")"
has_function alloc_space make_live $(files)
strict
"$tool" info $(files) | grep -q ' lost [a-z_]* [1-9]' || bad "no losses: $("$tool" info $(files) | grep -A 3 alloc)"
end

begin "no environment at all"
run_to "$d/prof" env -i LD_PRELOAD="$lib" "$host" exit
equal "exit status" 3 "$?"
equal "standard error" "" "$(cat "$d/prof.err")"
[ -n "$(find "$d" -name 'otelprof-ends-*.otlp.gz')" ] || bad "no profile under the standard name"
end
finish
