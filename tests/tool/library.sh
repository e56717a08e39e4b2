#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# library.sh: the builders as a library: what `make install` puts there is enough for a program of somebody else.
. "$(dirname "$0")/../common.sh"
judge="$python $top/tests/judge.py"

begin "the example is built from what is installed, and what it writes is right"
make -s -C "$top" BUILD="${build#"$top"/}" install DESTDIR="$d/root" PREFIX=/usr > make.out 2>&1 || bad "$(tail -n 3 make.out)"
for file in lib/libotelprof.so bin/otelprof lib/libotelprofile.a include/otelprofile.h lib/pkgconfig/otelprofile.pc; do
    [ -f "root/usr/$file" ] || bad "$file is not installed"
done
flags=$(PKG_CONFIG_SYSROOT_DIR=$d/root PKG_CONFIG_PATH=$d/root/usr/lib/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
    PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs --static otelprofile) || bad "pkg-config does not know it"
# shellcheck disable=SC2086
${CC:-gcc} -std=c11 -Wall -Wextra -Wpedantic -Werror -o profile "$top/docs/examples/profile.c" $flags 2> err ||
    bad "it does not compile: $(head -n 3 err)"
./profile out.otlp out.pb || bad "exit status $?"
"$tool" check --strict out.otlp > check || bad "$(head -n 3 check)"
equal "totals" "cpu 40000000
samples 4" "$($judge totals out.otlp | sort)"
equal "totals of pprof" "$($judge totals out.otlp | sort)" \
    "$("$tool" convert -o back.otlp out.pb 2> /dev/null; $judge totals back.otlp | sort)"
equal "the leaves" "30000000 work
10000000 main" "$($judge flat cpu out.otlp)"
equal "the threads" "20000000 right
10000000 -
10000000 left" "$($judge by thread.name cpu out.otlp | sort -k1,1nr -k2,2)"
end

begin "the header stands alone, in C and in C++"
printf '#include <otelprofile.h>\nint main(void) { return otp_status_text(OTP_OK) == 0; }\n' > alone.c
${CC:-gcc} -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$build" alone.c 2> err || bad "C: $(head -n 3 err)"
${CXX:-g++} -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$build" -x c++ alone.c 2> err || bad "C++: $(head -n 3 err)"
end

begin "it brings nothing of the profiler"
nm "$build/libotelprofile.a" 2> /dev/null | awk '$2 ~ /^[TDBR]$/ && $3 !~ /^(otp_|opentelemetry__|perftools__|otep239__)/ { print $3 }' > foreign
equal "names without a prefix of ours" "" "$(head -n 5 foreign)"
[ "$(nm "$build/libotelprofile.a" 2> /dev/null | grep -c ' T otp_otlp_builder_')" -ge 5 ] || bad "the builder is not in it"
end
finish
