# SPDX-License-Identifier: Apache-2.0
# postgres: its regression tests and a load whose sums are checked, against a server of many processes.
packages='postgresql postgresql-server-dev-all gcc libc6-dev util-linux'
programs='postgres psql'
least=150

version() {
    ls /usr/lib/postgresql | sort -n | tail -n 1
}

prepare() {
    source_of "postgresql-$(version)"
    once module module
}

module() {
    cd "$src/postgresql-$(version)/src/test/regress"
    gcc -w -O1 -fPIC -shared -I"$("/usr/lib/postgresql/$(version)/bin/pg_config" --includedir-server)" -o regress.so regress.c
}

cases() {
    bin=/usr/lib/postgresql/$(version)/bin
    cp -r "$src/postgresql-$(version)/src/test/regress" .
    for module in autoinc refint; do
        ln -s "$(dirname "$bin")/lib/$module.so" regress/
    done
    chown -R postgres "$scratch"
    user='setpriv --reuid postgres --regid postgres --clear-groups'
    [ "$(id -u)" = 0 ] || user=
    cd regress || exit 1
    # shellcheck disable=SC2046,SC2086
    $user env -u PARITY_SETTINGS HOME="$scratch" $PARITY_SETTINGS \
        "$(dirname "$bin")/lib/pgxs/src/test/regress/pg_regress" --bindir="$bin" --dlpath=. --inputdir=. \
        --temp-instance="$scratch/instance" --port=54399 --max-connections=8 --schedule=parallel_schedule \
        > "$scratch/tests.out" 2>&1
    cat "$scratch/tests.out" >&2
    parse lines '^(test |     )?(?P<name>[a-z_0-9.]+) +\.\.\. (?P<result>ok|FAILED|failed)' "$scratch/tests.out"
    load
}

# What the load has done can be told from the tables, whatever the order.
load() {
    data=$scratch/load
    as() {
        # shellcheck disable=SC2086
        $user env -u PARITY_SETTINGS HOME="$scratch" PGHOST="$scratch" PGPORT=54398 PGDATABASE=postgres $PARITY_SETTINGS "$@"
    }
    as "$bin/initdb" -D "$data" -A trust -U postgres > /dev/null
    as "$bin/pg_ctl" -D "$data" -w -l "$scratch/load.log" -o "-p 54398 -k $scratch -c listen_addresses=" start > /dev/null
    as "$bin/pgbench" -U postgres -i -q -s 2 > /dev/null 2>&1
    as "$bin/pgbench" -U postgres -c 8 -j 2 -t 500 -n > "$scratch/bench.out" 2>&1
    sed -n 's|^number of transactions actually processed: |pgbench transactions\tok |p; s|^number of failed transactions: \([0-9]*\).*|pgbench failed\tok \1|p' \
        "$scratch/bench.out"
    as "$bin/psql" -U postgres -Atc "select 'pgbench sums are equal' || chr(9) || case when count(*) = 1 then 'ok' else 'fail' end
        from (select sum(abalance) from pgbench_accounts union select sum(tbalance) from pgbench_tellers
        union select sum(bbalance) from pgbench_branches union select sum(delta) from pgbench_history) s"
    as "$bin/psql" -U postgres -Atc "select 'pgbench history' || chr(9) || 'ok ' || count(*) from pgbench_history"
    as "$bin/pg_ctl" -D "$data" -w -m fast stop > /dev/null
    printf 'pg_ctl stop\tok %s\n' $?
}
