#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# slot.sh: thread contexts of an SDK that is linked, built in or loaded late, in every model of thread-local storage.
. "$(dirname "$0")/../common.sh"
programs=$hosts/$suite_folder
mkdir -p "$programs"
cflags="-std=gnu11 -O1 -Wall -Wextra -Werror"

# sdk NAME FLAG...: the SDK as a shared library, $so
sdk() {
    so=$programs/sdk-$1.so
    shift
    # shellcheck disable=SC2086
    gcc $cflags -fPIC -shared -o "$so" "$here/sdk.c" "$@" > "$d/compiler" 2>&1 || bad "sdk.c: $(head -n 3 "$d/compiler")"
}

# program NAME FLAG...: $host
program_of() {
    host=$programs/$1
    shift
    # shellcheck disable=SC2086
    gcc $cflags -o "$host" "$here/slot.c" "$@" -pthread -ldl > "$d/compiler" 2>&1 || bad "slot.c: $(head -n 3 "$d/compiler")"
}

value_of() { # LINE-END: of the last answer, in milliseconds
    awk -v want="$1" '{ v = $1; sub(/^[^ ]* /, ""); if ($0 == want) n += v / 1000000 } END { print int(n) }' "$d/told"
}

# of FUNCTION SPAN: milliseconds of samples with that function and that link
joined() {
    # shellcheck disable=SC2046
    judge joined cpu $(files) > "$d/told"
}

# took WHAT NUMBER LINE-END: it has the 300 ms of that span, or what the program's own clock says it was
took() {
    ms=$(truth "with-$2")
    [ "${ms:-0}" -ge 300 ] || bad "the program does not say how long span $2 took"
    between "milliseconds of $1" $((${ms:-0} - 70)) $((${ms:-0} + 90)) "$(value_of "$3")"
}

spans() { # NUMBER...: each has its time, nothing else is linked, and nothing is linked where no span was
    joined
    for n; do
        took "span $n" "$n" "burn_with $n"
    done
    sed 's/^[0-9]* //' "$d/told" | sort > "$d/pairs"
    { for n; do echo "burn_with $n"; done; echo "burn_without -"; } | sort > "$d/wanted"
    # main and the C library around them, and the moment in which the SDK is looked for, are nobody's
    grep '^burn_' "$d/pairs" | grep -v '^burn_unknown -$' > "$d/seen"
    same_file "$d/wanted" "$d/seen" "pairs of function and span"
}

check_all() { # NUMBER...
    equal "exit status" 0 "$status"
    equal "output" "done" "$(cat "$d/prof.out")"
    strict
    spans "$@"
    # shellcheck disable=SC2046
    judge by http_route cpu $(files) > "$d/told"
    took /main 01 /main
    took /child 04 /child
}

begin "part of the program"
program_of own -DOWN -rdynamic
settings="TRUTH=$d/truth"
prof "$host"
check_all 01 02 03 04
end

begin "part of a program at a fixed place"
program_of own-fixed -DOWN -rdynamic -fno-pie -no-pie
settings="TRUTH=$d/truth"
prof "$host"
check_all 01 02 03 04
end

for model in "gnu2 -mtls-dialect=gnu2" "gnu -mtls-dialect=gnu"; do
    begin "linked, dialect ${model%% *}"
    # shellcheck disable=SC2086
    sdk ${model}
    program_of "linked-${model%% *}" -DLINKED "$so" "-Wl,-rpath,$programs"
    settings="TRUTH=$d/truth"
    prof "$host"
    check_all 01 02 03 04
    end
done

# A block of more than what the loader keeps free for late libraries is a dynamic one in every dialect.
for model in "gnu2 -mtls-dialect=gnu2" "gnu -mtls-dialect=gnu" "fixed -ftls-model=initial-exec" \
    "large -mtls-dialect=gnu2 -DLARGE"; do
    begin "loaded late, dialect ${model%% *}"
    # shellcheck disable=SC2086
    sdk ${model}
    program_of late
    settings="TRUTH=$d/truth"
    prof "$host" "$so"
    check_all 01 02 03 04 05
    end
done
finish
