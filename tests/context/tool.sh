#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tool.sh: spans and labels in every format, and what the tool does with them.
. "$(dirname "$0")/../common.sh"

said() { # COMMAND...: its standard output in $d/said
    "$tool" "$@" > "$d/said" 2> "$d/errors"
    status=$?
    equal "exit status of $1" 0 "$status"
}

says() { # LINE: as it is printed, but for the width of columns
    sed 's/  */ /g; s/^ //' "$d/said" | grep -qxF -- "$1" || bad "'$1' is not among: $(head -n 4 "$d/said" | tr '\n' '|')"
}

begin "each format written by the library, and each made of the others, keeps spans and labels"
host many -I"$top"
settings="OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=1 OTELPROF_OUTPUT=file:$p/%e-%p.otlp,file:$p/%e-%p.pb,file:$p/%e-%p.jsonl,file:$p/%e-%p.otep239"
run_to "$d/prof" env LD_PRELOAD="$lib" $settings "$host" 40
equal "files" 4 "$(files | wc -l)"
judge span-sites alloc_space make_block "$p"/*.otlp | sort > "$d/wanted"
judge by user alloc_space "$p"/*.otlp | sort > "$d/users"
equal "spans" 40 "$(wc -l < "$d/wanted")"
for format in pb jsonl otep239; do
    "$tool" convert -o "$d/from-$format.otlp" "$p"/*.$format 2> "$d/errors" || bad "convert: $(cat "$d/errors")"
    judge span-sites alloc_space make_block "$d/from-$format.otlp" | sort > "$d/got" # in pb they are labels
    same_file "$d/wanted" "$d/got" "spans in $format"
    equal "groups by span in $format" 41 "$("$tool" top -t alloc_space --by span --json "$p"/*.$format | grep -c '"name"')"
    judge by user alloc_space "$d/from-$format.otlp" | sort > "$d/got"
    same_file "$d/users" "$d/got" "labels in $format"
done
end

begin "top, flame and info by span, label and thread"
settings="OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=1"
prof "$host" 40
equal "exit status" 0 "$status"
profile=$(files)
said top -t alloc_space --by label=kind -n 0 "$profile"
grep -qE ' (a|b)$' "$d/said" || bad "top: $(tail -n 1 "$d/said")"
# 40 spans of 2 blocks of 100 + k bytes: every third is of kind a
equal "bytes of kind a" $((13 * 200 + 2 * 3 * 91)) "$("$tool" top -t alloc_space --by label=kind --json "$profile" | sed -n 's/.*"name": "a", "value": \([0-9]*\),.*/\1/p')"
equal "groups by span" 41 "$("$tool" top -t alloc_space --by span --json "$profile" | grep -c '"name"')"
equal "groups by trace" 41 "$("$tool" top -t alloc_space --by trace --json "$profile" | grep -c '"name"')"
equal "the thread" 1 "$("$tool" top -t alloc_space --by thread --json "$profile" | grep -c '"name": "many"')"
equal "bytes of user-7" 214 "$("$tool" top -t alloc_space --where user=user-7 --json "$profile" | sed -n 's/.*"total": \([0-9]*\),.*/\1/p')"
equal "bytes of span 7" 214 "$("$tool" top -t alloc_space --where span=0700000000000000 --json "$profile" | sed -n 's/.*"total": \([0-9]*\),.*/\1/p')"
equal "bytes of nobody" 0 "$("$tool" top -t alloc_space --where user=nobody --json "$profile" | sed -n 's/.*"total": \([0-9]*\),.*/\1/p')"
said flame -t alloc_space --by label=user --where kind=a -o "$d/f.folded" "$profile"
equal "users in the flame graph" 13 "$(cut -d ';' -f 1 "$d/f.folded" | sort -u | grep -c '^user-')"
equal "others in it" 0 "$(cut -d ';' -f 1 "$d/f.folded" | grep -vc '^user-')"
for end in html svg; do
    said flame --by trace -o "$d/f.$end" "$profile"
    [ -s "$d/f.$end" ] || bad "no f.$end"
done
said info "$profile"
says "links of 160 samples: 40 spans, 40 traces"
grep -q 'labels of samples: kind (2), thread.name (1), user (40)' "$d/said" || bad "info: $(tail -n 1 "$d/said")"
for wrong in "--by nonsense" "--by label=" "--where nonsense" "--where =x"; do
    # shellcheck disable=SC2086
    "$tool" top $wrong "$profile" > /dev/null 2> "$d/errors"
    equal "exit status of top $wrong" 2 "$?"
    one_line "$d/errors" "expected"
done
end

begin "values of a label that look like others stay apart"
host odd_labels -I"$top"
settings="OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=1"
bare "$host"
prof "$host"
same
strict
profile=$(files)
said flame -t alloc_space --by label=odd -o "$d/f.folded" "$profile"
grep make_block "$d/f.folded" | awk '{ n = $NF; sub(/;.*/, ""); print n, $0 }' | sort -n > "$d/seen"
cat > "$d/wanted" << 'EOF'
1 ""
2 "[no label]"
4 """"
8 a\x3bb
16 a:b
32 a\x0ab
64 a?b
128 a\x5cx3bb
256 ""[no label]""
512 [no label]
EOF
same_file "$d/wanted" "$d/seen" "values in folded stacks"
"$tool" top -t alloc_space --by label=odd -n 0 --json "$profile" > "$d/said"
grep -o '"name": .*, "value": [0-9]*' "$d/said" | sed 's/^"name": //; s/, "value": / /' | sort > "$d/seen"
equal "groups in top" 10 "$(wc -l < "$d/seen")"
for pair in '"\u0022\u0022" 1' '"\u0022[no label]\u0022" 2' '"a;b" 8' '"a\u000ab" 32' '"a\u005cx3bb" 128'; do
    grep -qxF -- "$pair" "$d/seen" || bad "top: $pair is not among $(tr '\n' '|' < "$d/seen")"
done
equal "bytes of the empty value" 1 "$("$tool" top -t alloc_space --where odd= --json "$profile" | sed -n 's/.*"total": \([0-9]*\),.*/\1/p')"
end
finish
