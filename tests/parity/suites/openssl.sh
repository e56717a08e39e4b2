# SPDX-License-Identifier: Apache-2.0
# openssl: its recipes for the command-line tool and for TLS connections, by the installed program.
packages='openssl perl'
programs='openssl perl'
least=300

prepare() {
    source_of openssl
    once configured configured
}

configured() {
    cd "$src/openssl"
    ./Configure linux-x86_64 no-asm > configure.log 2>&1
    mkdir -p apps fuzz
    ln -sf "$(command -v openssl)" apps/openssl
    make build_generated > generated.log 2>&1
    ln -sf /usr/lib/ssl/misc/CA.pl apps/CA.pl
    for wrapper in util/shlib_wrap.sh util/wrap.pl; do
        printf '#!/bin/sh\nexec "$@"\n' > $wrapper
        chmod 755 $wrapper
    done
}

cases() {
    cp -a "$src/openssl/test" "$src/openssl/apps" "$src/openssl/util" "$src/openssl/external" "$src/openssl/configdata.pm" \
        "$src/openssl/VERSION.dat" "$src/openssl/Configure" "$src/openssl/config" "$src/openssl/Configurations" .
    export SRCTOP="$scratch" BLDTOP="$scratch" RESULT_D="$scratch/results" PERL=/usr/bin/perl HARNESS_OSSL_LEVEL=1 \
        OPENSSL_CONF="$scratch/apps/openssl.cnf" OPENSSL_MODULES=/usr/lib/x86_64-linux-gnu/ossl-modules
    mkdir results
    ln -s /usr/lib/x86_64-linux-gnu/ossl-modules providers
    cd test/recipes || exit 1
    list='15-test_gen[dm]*.t 15-test_genrsa.t 15-test_rsa*.t 20-test_enc.t 20-test_enc_more.t 20-test_dgst.t 20-test_passwd.t 20-test_mac.t
        25-test_*.t 80-test_ca.t 80-test_cms.t 80-test_pkcs12.t 80-test_ocsp.t 80-test_tsa.t'
    # shellcheck disable=SC2086
    ls $list | grep -vE "25-test_d2i${quick:+|15-test_genec}" | each 2 600 perl -I"$scratch/util/perl" -I"$scratch"
    parse tap "$out"
}
