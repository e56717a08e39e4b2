#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profcheck.sh [SCRIPT...]: runs test scripts and has each OTLP message that they check strictly, or that the tool writes
# in them, looked at by profcheck, the conformance checker of OpenTelemetry's profiling group, with all of its flags.
#   PROFCHECK_DIR   the folder of its source: profcheck in github.com/open-telemetry/sig-profiling (needed)
# Without scripts: formats, real programs, spans, the tool and the odd programs of tests/hosts.
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build}
case $build in /*) ;; *) build=$top/$build ;; esac
if [ -z "${PROFCHECK_DIR:-}" ]; then
    echo "profcheck.sh: set PROFCHECK_DIR to the folder of profcheck's source, the one with its go.mod" >&2
    exit 2
fi
[ $# -gt 0 ] || set -- tests/preload/format.sh tests/preload/exact.sh tests/preload/threads.sh tests/preload/exits.sh \
    tests/preload/processes.sh tests/preload/outputs.sh tests/real/compress.sh tests/real/servers.sh \
    tests/real/interpreters.sh tests/real/compiler.sh tests/real/crypto.sh tests/real/plugins.sh tests/real/runtimes.sh \
    tests/context/run.sh tests/tool/convert.sh tests/tool/merge.sh tests/tool/symbolize.sh tests/tool/library.sh \
    tests/hosts/run.sh

work=$(mktemp -d "${TMPDIR:-/tmp}/otelprof-profcheck.XXXXXX")
chmod 711 "$work" # some scripts run the tool as another user
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP INT TERM
mkdir "$work/message"
(cd "$PROFCHECK_DIR" && go build -o "$work/profcheck" ./cmd/profcheck) || exit 2

# Stands for the tool: does the same, then has the checker look. FILES are told apart by their content, as the tool does.
cat > "$work/tool" << END
#!/bin/sh
"$build/otelprof" "\$@"
status=\$?
unset LD_PRELOAD
look() {
    case \$1 in *.pb* | *.json* | *.otep239* | *.html | *.svg | *.folded) return ;; esac
    [ -s "\$1" ] || return
    m=\$(mktemp "$work/message/XXXXXX")
    case \$(head -c 4 "\$1" | od -An -tx1 | tr -d ' \n') in
    1f8b*) gzip -dc "\$1" > "\$m" 2> /dev/null ;;
    28b52ffd) zstd -dcq "\$1" > "\$m" 2> /dev/null ;;
    *) cat "\$1" > "\$m" ;;
    esac
    [ -s "\$m" ] || { echo "FAIL  \$1 of \$PWD (\$*): cannot be unpacked" >> "$work/found"; rm -f "\$m"; return; }
    orphans=-check-orphans
    # Strings that a resource refers to are orphans in its eyes; only \`otelprof convert --refer\` writes such.
    python3 "$top/tests/interop/refers.py" "\$m" && { orphans= ; echo "\$1" >> "$work/referring"; }
    if "$work/profcheck" -check-dupes -check-sample-shapes \$orphans "\$m" > "\$m.out" 2>&1; then
        echo "\$1" >> "$work/clean"
    else
        { echo "FAIL  \$1 of \$PWD (\$*)"; head -n 5 "\$m.out" | cut -c 1-300 | sed 's/^/    /'; } >> "$work/found"
        [ -z "\${KEEP:-}" ] || cp "\$m" "$build/profcheck-\$\$.otlp"
    fi
    rm -f "\$m" "\$m.out"
}
case \$status:\$1 in
0:check)
    shift
    for f; do look "\$f"; done
    ;;
0:*)
    previous=
    for f; do
        case \$previous in -o | --output) look "\$f" ;; esac
        previous=\$f
    done
    ;;
esac
exit \$status
END
chmod +x "$work/tool"
: > "$work/clean"
: > "$work/found"
: > "$work/referring"

cd "$top" || exit 2
broken=0
for script; do
    TEST_TOOL=$work/tool sh "$script" > "$work/out" 2>&1 || {
        broken=$((broken + 1))
        echo "FAIL  $script:"
        tail -n 3 "$work/out"
    }
    echo "      $script: $(wc -l < "$work/clean") messages without a finding so far, $(grep -c '^FAIL' "$work/found") with"
done
cat "$work/found"
echo "      $(wc -l < "$work/referring") of them not looked at for orphans, since their resources refer to strings"
clean=$(wc -l < "$work/clean") found=$(grep -c '^FAIL' "$work/found")
[ "$clean" -gt 0 ] || broken=$((broken + 1))
echo "profcheck: $clean passed, $((found + broken)) failed"
[ $((found + broken)) = 0 ]
