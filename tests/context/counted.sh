#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# counted.sh: an allocation that loses its span and labels is counted once, on whatever way it loses them.
. "$(dirname "$0")/../common.sh"

begin "more spans than there is memory for, each allocation with its time"
host starve -I"$top"
settings="OTELPROF_CPU=false OTELPROF_HEAP_INTERVAL=1 OTELPROF_TIMESTAMPS=true OTELPROF_MEMORY_LIMIT=4m"
bare "$host"
prof "$host"
same
strict
# shellcheck disable=SC2046
between "links lost of 60,500 allocations" 1000 60500 "$(judge note-of alloc_space otelprof.dropped.links $(files))"
# shellcheck disable=SC2046
between "attributes dropped with them" 1000 60500 "$(judge dropped alloc_space $(files))"
end
finish
