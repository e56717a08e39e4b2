#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hostile.sh: broken thread contexts do no harm and give no wrong link.
. "$(dirname "$0")/../common.sh"

good="attributes far_attributes good long_entry many_attributes unknown_keys"
bad_ones="cut half kernel no_trace not_valid nowhere odd other_valid strange unmapped"

for how in "by the kernel's copies" "without those"; do
    begin "broken records, $how"
    host hostile -rdynamic
    bare "$host"
    settings="OTELPROF_CPU_HZ=1000 OTELPROF_HEAP_INTERVAL=1 OTELPROF_INTERVAL=500ms"
    case $how in
    without*)
        # A filter that answers EPERM, as some sandboxes do. Unmapping while the record is looked at is beyond what
        # is left then, so the thread that does it is not started.
        host refuse_copies
        filter=$host
        host hostile -rdynamic
        prof "$filter" "$host" calm
        ;;
    *) prof "$host" ;;
    esac
    equal "exit status" 0 "$status"
    same
    strict
    for kind in cpu alloc_objects; do
        # shellcheck disable=SC2046
        judge joined "$kind" $(files hostile) | sed 's/^[0-9]* //' | grep '^burn_' | grep -v '^burn_changing' | sort > "$d/seen"
        { for f in $good; do echo "burn_$f 11"; done; for f in $bad_ones; do echo "burn_$f -"; done; } | sort > "$d/wanted"
        same_file "$d/wanted" "$d/seen" "$kind: functions and their spans"
        # shellcheck disable=SC2046
        judge links "$kind" $(files hostile) | sed 's/^[0-9]* //' | sort -u > "$d/links"
        grep -vxE -- '- -|(11){16} (11){8}|(22){16} (22){8}|(33){16} (33){8}' "$d/links" > "$d/wrong"
        [ ! -s "$d/wrong" ] || bad "wrong links: $(head -n 3 "$d/wrong")"
    done
    case $how in
    by*) equal "links of the record that changes" 2 "$(grep -cE '^(22|33)' "$d/links")" ;;
    esac
    # shellcheck disable=SC2046
    equal "values of the first attribute" ":new" "$(judge sample-attr first $(files hostile) | tr '\n' ':' | sed 's/:$//')"
    # shellcheck disable=SC2046
    equal "values of the second attribute" "" "$(judge sample-attr second $(files hostile))"
    # Some at each tick in two functions of 100 ms: timers alone tick 50 times there, where the machine lets them.
    # shellcheck disable=SC2046
    between "attributes that were lost" 20 1000000 "$(judge dropped cpu $(files hostile))"
    end
done
finish
