#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inputs.sh: what cannot be read gives one line with file, offset and reason, exit status 3, and no result.
. "$(dirname "$0")/../common.sh"
"$python" "$here/otlp_gen.py" good "$work/good.otlp" stacks=6 depth=4

refused() { # FILE WORD…
    path=$1
    shift
    for command in info top check "flame -o out.html"; do
        # shellcheck disable=SC2086
        "$tool" $command "$path" > out 2> err
        equal "exit status of $command" 3 $?
        equal "output of $command" "" "$(cat out)"
        one_line err "otelprof: $path: offset " "$@"
    done
    [ ! -e out.html ] || bad "a file was written"
}

begin "a missing file, a folder, an empty file"
mkdir folder
: > empty
refused missing "No such file"
refused folder "directory"
refused empty "empty"
end

begin "other formats are named"
printf '{"resourceProfiles":[' > json
printf '\012\004\010\001\020\002' > pprof
gzip -k pprof
printf '\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\47\0\0\0\0\0\0\0\0\0\0\0\0\0\0' > cpu
echo "some text" > text
refused json
refused pprof pprof
refused pprof.gz pprof
refused cpu gperftools
printf "heap profile:  1:  100 [ 1: 100] @ heapprofile\n" > heap
refused heap gperftools
refused text "known format"
refused "$tool" "known format"
end

begin "a good file before a bad one does not help"
head -c 100 "$work/good.otlp" > cut
for command in top "flame -o out.html" "convert -o out.pb" "merge -o out.otlp"; do
    # shellcheck disable=SC2086
    "$tool" $command "$work/good.otlp" cut > out 2> err
    equal "exit status of $command" 3 $?
    equal "output of $command" "" "$(cat out)"
    one_line err "cut: offset"
    [ ! -e "${command##* }" ] || bad "$command wrote a file"
done
end

begin "info shows the files that can be read, and says which ones cannot"
head -c 100 "$work/good.otlp" > cut
cp "$work/good.otlp" good.otlp
cp good.otlp other.otlp
"$tool" info cut good.otlp missing other.otlp > out 2> err
equal "exit status" 3 $?
equal "files shown" "good.otlp other.otlp" "$(sed -n 's/^\([a-z]*\.otlp\): OTLP.*/\1/p' out | xargs)"
equal "lines on standard error" 2 "$(wc -l < err)"
equal "files not shown" "cut missing" "$(sed -n 's/^otelprof: \([a-z]*\): offset [0-9]*.*: ..*/\1/p' err | xargs)"
end

begin "a bomb ends at the limit"
head -c 1100000000 /dev/zero | gzip -1 > bomb.gz
refused bomb.gz "more than the limit"
end

begin "a profile without profiles"
printf '\022\000' > none
for command in info top "flame -o out.html"; do
    # shellcheck disable=SC2086
    "$tool" $command none > out 2> err
    equal "exit status of $command" 3 $?
    one_line err "no profile"
done
end

begin "indices that point nowhere: one line with the place"
"$python" "$here/otlp_gen.py" broken . > rules
for path in base.*_out_of_range.otlp; do
    for command in top "flame -o out.html"; do
        # shellcheck disable=SC2086
        "$tool" $command "$path" > out 2> err
        equal "exit status of $command $path" 3 $?
        one_line err "is outside its table"
    done
    "$tool" info "$path" > out 2> err || bad "info refuses $path: $(cat err)"
done
between "files" 15 100 "$(ls base.*_out_of_range.otlp | wc -l)"
end

begin "cut off and damaged files never crash a command"
"$python" - "$tool" "$work/good.otlp" << 'P' > said || bad "$(cat said)"
import random, subprocess, sys
tool, path = sys.argv[1:]
good = open(path, "rb").read()
rnd = random.Random(7)
cases = [good[:n] for n in range(0, len(good), 41)]
for _ in range(60):
    d = bytearray(good)
    for _ in range(rnd.randrange(1, 8)):
        d[rnd.randrange(len(d))] = rnd.randrange(256)
    cases.append(bytes(d))
bad = 0
for i, d in enumerate(cases):
    for command in (["info"], ["top"], ["check", "--strict"], ["flame", "-o", "f.html"], ["flame", "-o", "f.svg"]):
        r = subprocess.run([tool, *command, "-"], input=d, capture_output=True, timeout=60)
        lines = r.stderr.decode("utf-8", "replace").count("\n")
        if r.returncode not in (0, 1, 3) or (r.returncode == 3) != (lines == 1):
            bad += 1
            print(i, command, r.returncode, r.stderr[:200])
print(len(cases), "inputs looked at,", bad, "failed")
sys.exit(bad > 0 or not cases)
P
end

begin "a small file of very many empty messages is refused"
head -c 8000000 /dev/zero | gzip -c > zeros.gz
"$tool" info zeros.gz > out 2> err
equal "exit status" 3 $?
one_line err "zeros.gz: offset 2000000 of the unpacked data" "more than 500000 messages"
end

begin "a message whose first field has 123 bytes is no JSON"
"$python" - << 'P'
def field(number, content):
    return bytes([number << 3 | 2, len(content)]) + content
words = b"".join(field(5, w) for w in (b"", b"cpu", b"nanoseconds"))
profiles = field(2, field(2, field(1, b"\x08\x01\x10\x02")))
attribute = field(1, field(1, b"k") + field(2, field(1, b"v" * (123 - len(profiles) - 11))))
resource = field(1, attribute)
first = field(1, resource + profiles)
assert first[:2] == b"\n{", first[:2]
open("brace.otlp", "wb").write(first + field(2, words))
P
"$tool" info brace.otlp > out 2> err
equal "exit status" 0 $?
grep -q '^brace.otlp: OTLP, proto 1.10' out || bad "$(head -n 1 out) $(cat err)"
printf '\n{"resourceProfiles":[]}\n' > text.jsonl
"$tool" info text.jsonl > out 2> err
grep -q '^text.jsonl: OTLP/JSON' out || bad "$(head -n 1 out) $(cat err)"
end
finish
