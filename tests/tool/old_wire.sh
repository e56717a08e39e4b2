#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# old_wire.sh: OTLP as proto 1.4 to 1.7 had it is recognised and says the same as today's.
. "$(dirname "$0")/../common.sh"
judge="$python $top/tests/judge.py"

for version in 1.4 1.5 1.6 1.7; do
    begin "proto $version"
    "$python" "$here/old_wire.py" $version old.otlp
    "$tool" info old.otlp > info || bad "exit status $?"
    grep -q "OTLP of proto .*$version" info || bad "not recognised: $(head -n 1 info)"
    "$tool" convert -o new.otlp old.otlp 2> err || bad "exit status of convert: $(cat err)"
    "$tool" check new.otlp > check || bad "$(head -n 3 check)"
    equal "totals" "cpu 60000000
samples 6" "$($judge totals new.otlp | sort)"
    equal "stacks" "30000000 leaf < inner < outer < main
20000000 inner < outer < main
10000000 ?+0x77" "$($judge stacks cpu new.otlp)"
    equal "threads" "30000000 -
30000000 first" "$($judge by thread.name cpu new.otlp | sort -k2)"
    equal "numbers" "30000000 -
30000000 77" "$($judge by thread.id cpu new.otlp | sort -k2)"
    equal "links" "30000000 - -
30000000 000102030405060708090a0b0c0d0e0f 0102030405060708" "$($judge links cpu new.otlp | sort -k2)"
    equal "period" "10000000" "$($judge period cpu new.otlp | cut -d ' ' -f 1)"
    equal "note" "of the profile" "$($judge note note new.otlp | sed 's/ of the profile.*//')"
    equal "service" "old" "$($judge attr service.name new.otlp)"
    "$tool" convert -o new.jsonl new.otlp
    for word in '"00112233445566778899aabbccddeeff00112233"' '"a comment"' '"pprof.mapping.has_functions"' '"column":"4"' \
        '"1700000000000000005"' '"cpu"}'; do
        grep -qF "$word" new.jsonl || bad "$word is gone"
    done
    "$python" "$here/old_wire.py" $version framed.otlp framed
    "$tool" convert -o again.otlp framed.otlp 2> err || bad "framed: $(cat err)"
    equal "totals when framed" "$($judge totals new.otlp)" "$($judge totals again.otlp)"
    end
done

begin "what is cut off or points nowhere is refused in one line"
"$python" "$here/old_wire.py" 1.7 old.otlp
refused=0
for size in $(seq 20 23 "$(wc -c < old.otlp)"); do
    head -c "$size" old.otlp > cut.otlp
    "$tool" info cut.otlp > /dev/null 2> err
    status=$?
    [ $status = 0 ] || { refused=$((refused + 1)); equal "exit status" 3 $status; one_line err "cut.otlp"; }
done
[ $refused -gt 5 ] || bad "$refused were refused"
end
finish
