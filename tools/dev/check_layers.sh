#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_layers.sh: every include of a project file points at its own folder or at a lower rank of core/LAYERS.
# Generated message code is for the encoder, the decoder and the tool only.
set -eu

find core preload tools/otelprof -name '*.[ch]' | sort | xargs awk -v layers=core/LAYERS '
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
    function fail(text) { print FILENAME ":" FNR ": " text; bad++ }
    BEGIN { while ((getline line < layers) > 0)
                if (line !~ /^#/ && split(line, f, " ") >= 2) rank[f[2]] = f[1] }
    FNR == 1 { mine = folder(FILENAME); files++
               if (!(mine in rank)) fail("folder " mine " is not in " layers) }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        seen++
        split($0, part, "\"")
        its = folder(part[2])
        if (part[2] ~ /\.pb-c\.h$/) {
            if (mine !~ /^(core\/encode|core\/decode|tools\/otelprof)$/)
                fail("generated message code in " mine)
        } else if (!(its in rank)) fail(part[2] " is not a path from the root into a folder of " layers)
        else if (its != mine && rank[its] >= rank[mine])
            fail("rank " rank[mine] " must not include " part[2] ", rank " rank[its])
    }
    END { if (!seen) bad++
          printf "check-layers: %d includes in %d files looked at, %d failed\n", seen, files, bad
          exit bad > 0 }'
