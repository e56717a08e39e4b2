# SPDX-License-Identifier: Apache-2.0
# lighttpd: its own tests: a web server with FastCGI and CGI behind it, asked by a client in Perl.
packages='gcc libc6-dev make perl libpcre2-dev zlib1g-dev pkg-config autoconf automake libtool'
programs='lighttpd'
least=200

prepare() {
    source_of lighttpd
    once built built
}

built() {
    cd "$src/lighttpd"
    [ -x configure ] || autoreconf -fi
    ./configure --without-openssl --without-lua --disable-dependency-tracking CFLAGS='-O1 -w'
    make -j2
    make -j2 check TESTS=
}

cases() {
    cp -a "$src/lighttpd" .
    cd lighttpd || exit 1
    VERBOSE=1 under make -k check > tests.out 2> tests.err
    cat tests.out >&2
    parse lines '^(?P<result>PASS|FAIL|SKIP|XFAIL|ERROR): (?P<name>.*)' tests.out
    # The tests of the running server, behind the name of their script.
    awk '/^[.\/]*[a-z-]*\.t \.+/ { script = $1 }
        /^(not )?ok [0-9]+/ { n = $1 == "ok" ? $2 : $3; print script " " n "\t" ($1 == "ok" ? "ok" : "fail") }' tests.out
}
