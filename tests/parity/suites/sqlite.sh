# SPDX-License-Identifier: Apache-2.0
# sqlite: the database's own tests in Tcl, on a library built for them.
packages='gcc libc6-dev make tcl-dev tcl'
programs='testfixture'
least=3000
quick_too=no

prepare() {
    source_of sqlite3
    once built built
}

built() {
    cd "$src/sqlite3"
    [ -x configure ] || autoreconf -fi
    ./configure --enable-all --with-tcl=/usr/lib/tcl8.6 --disable-readline CFLAGS='-O1 -w'
    make -j2 testfixture
}

cases() {
    list='select1 insert join trans lock thread1 json101 window1 with1 trigger1 savepoint memdb hook types view collate1 expr in'
    [ -n "$quick" ] || list="$list $(cd "$src/sqlite3/test" && ls [a-m]*.test wal.test thread001.test where.test | sed 's/\.test$//' |
        grep -vE 'all|quick|soak|permut|malloc|ioerr|speed|fuzz|bigsort|big|misc7|incrvacuum|backup_|fts4merge|corrupt[A-Z]')"
    for test in $list; do
        [ ! -f "$src/sqlite3/test/$test.test" ] || echo "$test"
    done | sort -u | each 2 600 sh -c 'mkdir "$scratch/in-$0" && cd "$scratch/in-$0" && exec "$src/sqlite3/testfixture" "$src/sqlite3/test/$0.test" --verbose=1'
    for o in "$out"/*.out; do
        name=$(basename "$o" .out)
        sed -n "s/^\([A-Za-z][^ ]*\)\.\.\. Ok\$/$name \1\tok/p; s/^! \([^ ]*\) .*/$name \1\tfail/p" "$o" | sort -u
        printf '%s exit\tstatus %s\n' "$name" "$(cat "${o%.out}.status")"
    done
}
