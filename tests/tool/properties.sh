#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# properties.sh: what holds for any profile, over random ones: a format and back is the identity on what it can say, merging
# does not mind the order, writing twice gives the same bytes.
. "$(dirname "$0")/../common.sh"
judge="$python $top/tests/judge.py"
rounds=${ROUNDS:-2}

# All that the judge can see of a file: totals, stacks and threads of each type.
content() {
    $judge totals "$1" | sort
    for type in $($judge totals "$1" | awk '{ print $1 }' | sort); do
        echo "$type"
        $judge stacks "$type" "$1" | sort
        $judge by thread.name "$type" "$1" | sort
    done
}

random() { # SEED FILE
    "$python" "$here/otlp_gen.py" good "$2" "seed=$1" "stacks=$((10 + $1 * 3))" "depth=$((1 + $1 * 3))" "scale=$1"
}

begin "through each format and back"
for seed in $(seq 1 "$rounds"); do
    random "$seed" x.otlp
    content x.otlp > want
    [ "$(wc -l < want)" -gt 20 ] || bad "seed $seed: little to compare: $(wc -l < want) lines"
    for kind in otlp otlp.gz jsonl.zst pb pb.zst otep239; do
        rm -f y.* z.otlp
        "$tool" convert -o y.$kind x.otlp 2> /dev/null || bad "seed $seed, $kind: exit status $?"
        "$tool" convert -o z.otlp y.$kind 2> /dev/null || bad "seed $seed, back from $kind: exit status $?"
        content z.otlp > have
        cmp -s want have || bad "seed $seed: $kind and back differs: $(diff want have | head -n 3)"
    done
done
end

begin "pprof by way of OTLP is the same pprof"
for seed in $(seq 1 "$rounds"); do
    random "$seed" x.otlp
    "$tool" convert -o a.pb x.otlp 2> /dev/null
    "$tool" convert -o b.otlp a.pb 2> /dev/null
    "$tool" convert -o c.pb b.otlp 2> /dev/null
    for file in a c; do "$python" "$here/pprof_text.py" show $file.pb > $file; done
    [ "$(wc -l < a)" -gt 20 ] || bad "seed $seed: little to compare"
    cmp -s a c || bad "seed $seed: $(diff a c | head -n 3)"
    rm -f a.pb b.otlp c.pb
done
end

begin "the order of files does not matter to a merge"
for seed in $(seq 1 "$rounds"); do
    for part in 1 2 3; do random $((seed * 3 + part)) "$part.otlp"; done
    "$tool" merge --squash -o m.otlp 1.otlp 2.otlp 3.otlp || bad "exit status $?"
    content m.otlp > want
    for order in "1 3 2" "2 1 3" "2 3 1" "3 1 2" "3 2 1"; do
        # shellcheck disable=SC2086
        set -- $order
        rm -f n.otlp
        "$tool" merge --squash -o n.otlp "$1.otlp" "$2.otlp" "$3.otlp" || bad "exit status $?"
        content n.otlp > have
        cmp -s want have || bad "seed $seed, order $order: $(diff want have | head -n 3)"
    done
    rm -f m.otlp
done
end

begin "the same input gives the same bytes"
for seed in $(seq 1 "$rounds"); do
    random "$seed" x.otlp
    for kind in otlp jsonl pb otep239; do
        rm -f a.* b.*
        "$tool" convert -o a.$kind x.otlp 2> /dev/null
        "$tool" convert -o b.$kind x.otlp 2> /dev/null
        cmp -s a.$kind b.$kind || bad "seed $seed: two $kind differ"
    done
done
end
finish
