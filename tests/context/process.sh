#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# process.sh: the process context (OTEP 4719): what a program has published is in its profiles; what the library
# publishes, in a child of a fork too, is what another process reads there, and what its profiles say.
. "$(dirname "$0")/../common.sh"
host process

reads() { # PID
    "$python" "$here/process_context.py" "$1"
}

# What profiles of the process $1 say of it, as lines key=value.
says() {
    "$tool" info --json "$p/$1"-*.otlp | "$python" -c 'import json, sys
for f in json.load(sys.stdin)["files"]:
    for m in f["messages"]:
        for r in m["resources"]:
            for key, value in r["attributes"].items():
                print("%s=%s" % (key, value))' | sort -u
}

# starts [own|late] [SETTING…]: $parent, $child, when both have told something
starts() {
    how=$1
    shift
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="file:$p/%p-%n.otlp" OTELPROF_INTERVAL=50ms OTELPROF_HEAP_INTERVAL=4k \
        "$@" "$host" "$d/over" $how > "$d/prof.out" 2> "$d/prof.err" &
    parent=$!
    pids="$pids $!"
    wait_for 30 sh -c "[ \"\$(ls '$p' | sed -n 's/-.*otlp\$//p' | sort -u | wc -l)\" = 2 ]" || bad "no two processes have profiles"
    child=$(cat "/proc/$parent/task/$parent/children")
    child=${child% }
}

ends() {
    : > "$d/over"
    wait "$parent"
    equal "exit status" 0 $?
    equal "standard error" "" "$(cat "$d/prof.err")"
    strict
}

begin "what is not asked for is not published"
starts "" OTEL_SERVICE_NAME=x
equal "of the parent" none "$(reads "$parent")"
equal "of the child" none "$(reads "$child")"
ends
end

begin "what is published is what the profiles say, in the child of a fork too"
starts "" OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES=team=blue%20two OTELPROF_PUBLISH_CONTEXT=true
for pid in $parent $child; do
    wait_for 20 sh -c "'$python' '$here/process_context.py' $pid | grep -q ^service.instance.id=" || bad "$pid publishes nothing"
    reads "$pid" | sort > "published.$pid"
    grep '^bad' "published.$pid" > bad && bad "$(head -n 3 bad)"
    for line in service.name=shop "team=blue two" telemetry.sdk.name=libotelprof "process.pid=$pid"; do
        grep -qxF "$line" "published.$pid" || bad "$pid does not publish $line: $(head -n 5 "published.$pid")"
    done
done
cmp -s "published.$parent" "published.$child" && bad "the child is its parent"
equal "instances" 2 "$(cat published.* | grep '^service.instance.id=' | sort -u | wc -l)"
ends
for pid in $parent $child; do
    says "$pid" > "said.$pid"
    [ -s "said.$pid" ] || bad "nothing is said of $pid"
    same_file "said.$pid" "published.$pid" "what $pid publishes"
done
end

for how in own late; do
    begin "$how: a program's own context is read, and no second one is made"
    starts $how OTELPROF_PUBLISH_CONTEXT=$([ $how = own ] && echo true || echo false)
    : > "$d/over.late"
    wait_for 20 sh -c "'$python' '$here/process_context.py' $parent | grep -qx service.name=from-context" || bad "the program publishes nothing"
    reads "$parent" > read
    equal "what is there" "service.name=from-context service.version=7 team=blue" "$(sort read | tr '\n' ' ' | sed 's/ $//')"
    # The profile that is begun after it.
    n=$(find "$p" -name "$parent-*" | wc -l)
    wait_for 20 sh -c "[ \$(find '$p' -name '$parent-*' | wc -l) -ge $((n + 3)) ]" || bad "no more profiles come"
    ends
    last=$(find "$p" -name "$parent-*" | sort -V | tail -n 1)
    "$tool" info "$last" > info
    for line in 'service.name  *from-context' 'service.version  *7' 'team  *blue'; do
        grep -q "^ *$line\$" info || bad "the profile does not say $line: $(sed -n 3,6p info)"
    done
    end
done

begin "what the user says counts before a context"
starts own OTEL_SERVICE_NAME=mine OTEL_RESOURCE_ATTRIBUTES=team=green
ends
"$tool" info "$p/$parent"-0.otlp > info
for line in 'service.name  *mine' 'service.version  *7' 'team  *green'; do
    grep -q "^ *$line\$" info || bad "the profile does not say $line: $(sed -n 3,6p info)"
done
end

finish
