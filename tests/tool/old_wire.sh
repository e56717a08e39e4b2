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

begin "a default type that is said very often: the last one counts, and it takes no longer"
for version in 1.6 1.7; do
    "$python" "$here/old_wire.py" $version old.otlp
    "$python" "$here/old_wire.py" $version many.otlp many
    for one in old many; do
        timeout "$limit" "$tool" convert -o $one.jsonl $one.otlp 2> err || bad "$one: exit status $?: $(cat err)"
    done
    cmp -s old.jsonl many.jsonl || bad "proto $version: it says something else"
done
end

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

begin "a refusal names a place in the file, whatever byte is wrong"
"$python" "$here/old_wire.py" 1.7 old.otlp
cat > wrong.py << 'SCRIPT'
import re, subprocess, sys
tool, path = sys.argv[1:]
good = open(path, "rb").read()
refused = 0
for at in range(0, len(good), 3):
    for value in (0x7f, good[at] ^ 1):
        open("wrong.otlp", "wb").write(good[:at] + bytes([value]) + good[at + 1:])
        run = subprocess.run([tool, "info", "wrong.otlp"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode == 3:
            refused += 1
            place = re.fullmatch(r"otelprof: wrong.otlp: offset (\d+): .+\n", run.stderr)
            if place is None or int(place[1]) > len(good):
                print("byte %d as %#x: %s" % (at, value, run.stderr))
        elif run.returncode != 0:
            print("byte %d as %#x: status %d" % (at, value, run.returncode))
print(refused, file=sys.stderr)
SCRIPT
"$python" wrong.py "$tool" old.otlp > out 2> refused
[ ! -s out ] || bad "$(head -n 3 out)"
[ "$(cat refused)" -gt 50 ] || bad "$(cat refused) were refused"
end
finish
