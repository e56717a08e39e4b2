#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# interpreters.sh: python3, perl, sqlite3, bash and /bin/true.
. "$(dirname "$0")/../common.sh"
more=1
[ -z "${TEST_LONG:-}" ] || more=10

begin "python3, with many allocations"
cat > script.py << 'PYTHON'
import json, sys
class Node:
    def __init__(self, depth):
        self.name = "node %d" % depth
        self.children = [Node(depth - 1) for _ in range(4)] if depth else []
def count(node):
    return 1 + sum(count(c) for c in node.children)
kept = {}
for i in range(int(sys.argv[1]) * 200000):
    kept[i % 5000] = [str(i)] * 3
print(len(json.dumps(kept)), count(Node(7)))
sys.stderr.write("to stderr\n")
sys.exit(5)
PYTHON
bare "$python" script.py $((more * 6))
prof "$python" script.py $((more * 6))
same
strict
cpu_time_is_right
equal "exit status" 5 "$status"
has_function cpu _PyEval_EvalFrameDefault $(files)
has_function alloc_space _PyEval_EvalFrameDefault $(files)
[ "$(judge cum cpu $(files) | grep -c Py)" -gt 5 ] || bad "few functions of the interpreter have a name"
end

begin "perl"
script='my %h; my $n = shift; for my $i (1 .. $n) { my $k = "key" . ($i % 50003); $h{$k} .= chr(97 + $i % 26);
    $h{$k} = reverse $h{$k} if $i % 7 == 0 } my $t = 0; $t += length $_ for values %h; print join(",", (sort keys %h)[0 .. 3]), " $t\n";
    warn "to stderr\n"; exit 6'
bare perl -e "$script" $((more * 2000000))
prof perl -e "$script" $((more * 2000000))
same
strict
cpu_time_is_right
equal "exit status" 6 "$status"
has_function cpu Perl_runops_standard $(files)
has_function alloc_space Perl_safesysmalloc $(files)
end

begin "perl: the map of memory is read for each object, not for each frame"
if need strace; then
    strace -f -o trace -e trace=open,openat -E LD_PRELOAD="$lib" -E OTELPROF_OUTPUT="file:$p/%e-%p.otlp.gz" \
        -E OTELPROF_HEAP_INTERVAL=4k perl -e 'my %h; $h{$_} = $_ x 10 for 1 .. 5000' > trace.out 2>&1
    strict
    [ "$(judge stacks alloc_space $(files) | tr '<' '\n' | grep -c Perl_)" -gt 20 ] || bad "few frames of the program itself"
    between "times that maps was opened" 1 8 "$(grep -c '/maps"' trace)"
fi
end

begin "sqlite3, loading"
if need sqlite3; then
    cat > load.sql << SQL
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, s TEXT);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < $((more * 300000)))
    INSERT INTO t SELECT i, (i * 7919) % 100003, printf('row %d of many %s', i, hex(i * 31)) FROM c;
CREATE INDEX tk ON t(k);
SELECT count(*), sum(k), max(s) FROM t;
SELECT k % 10 AS g, count(*), avg(length(s)) FROM t GROUP BY g ORDER BY g;
UPDATE t SET s = s || '!' WHERE k % 3 = 0;
DELETE FROM t WHERE k % 5 = 0;
SELECT count(*), sum(length(s)) FROM t;
SELECT no_such_column FROM t;
SQL
    input=load.sql
    bare sqlite3 bare.db
    prof sqlite3 prof.db
    same
    cmp -s bare.db prof.db || bad "the databases differ"
    strict
    cpu_time_is_right
    has_function cpu sqlite3_step $(files sqlite3)
    has_function alloc_space sqlite3_step $(files sqlite3)
fi
end

begin "a bash script with functions, subshells, pipes and traps"
cat > script.bash << 'BASH'
trap 'echo trapped; exit 4' EXIT
f() { local n=$1; ((n <= 1)) && { echo 1; return; }; echo $((n * $(f $((n - 1))))); }
f 12
for i in {1..300}; do a[$i]=$(printf '%05d' $i); done
echo "${a[@]}" | tr ' ' '\n' | sort -r | head -n 3
wait
(cd / && ls -d usr)
echo err >&2
cat <(echo process substitution)
false | true; echo "${PIPESTATUS[@]}"
BASH
settings="OTELPROF_HEAP_INTERVAL=4k"
bare bash script.bash
prof bash script.bash
same
strict
equal "exit status" 4 "$status"
has_files bash 50
has_files sort
end

begin "bash and signals"
bare bash -c 'trap "echo got it" USR1; kill -USR1 $$; sleep 0.1; kill -TERM $$; echo not here'
prof bash -c 'trap "echo got it" USR1; kill -USR1 $$; sleep 0.1; kill -TERM $$; echo not here'
same
end

begin "/bin/true and /bin/false"
bare /bin/true
prof /bin/true
same
equal "exit status" 0 "$status"
no_rest
bare /bin/false
prof /bin/false
same
equal "exit status" 1 "$status"
end
finish
