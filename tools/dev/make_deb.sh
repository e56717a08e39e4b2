#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_deb.sh BUILD: a Debian package of what is built there, BUILD/libotelprof_VERSION_ARCH.deb. What it depends on
# is read from the programs themselves.
set -eu
build=$1
version=$(sed -n 's/.*OTP_VERSION "\(.*\)".*/\1/p' core/base/version.h)
arch=$(dpkg --print-architecture)
stage=$build/deb
package=$build/libotelprof_${version}_$arch.deb
rm -rf "$stage"
mkdir -p "$stage"
stage=$(cd "$stage" && pwd)
${MAKE:-make} -s install PREFIX=/usr DESTDIR="$stage"

# Debug information is for developers; symbols of our own functions are not needed to run.
strip --strip-unneeded "$stage/usr/lib/libotelprof.so" "$stage/usr/bin/otelprof"
doc=$stage/usr/share/doc/libotelprof
if [ -f "$doc/CHANGELOG.md" ]; then
    mv "$doc/CHANGELOG.md" "$doc/changelog"
    gzip -9n "$doc/changelog"
fi
cat > "$doc/copyright" << END
libotelprof is distributed under the Apache License, version 2.0.

On Debian systems the text of the licence is in /usr/share/common-licenses/Apache-2.0.
END
find "$stage" -type d -exec chmod 755 {} +

# The newest version of libc that any of the programs asks for.
libc=$(objdump -T "$stage/usr/bin/otelprof" "$stage/usr/lib/libotelprof.so" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\)).*/\1/p' | sort -uV | tail -n 1)
others=$(readelf -d "$stage/usr/bin/otelprof" "$stage/usr/lib/libotelprof.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vx -e 'libc\.so\.6' -e 'ld-linux-x86-64\.so\.2' || [ $? = 1 ])
[ -n "$libc" ] || { echo "make_deb: no version of libc found" >&2; exit 1; }
[ -z "$others" ] || { echo "make_deb: needed libraries that no package is named for: $others" >&2; exit 1; }
mkdir "$stage/DEBIAN"
cat > "$stage/DEBIAN/control" << END
Package: libotelprof
Version: $version
Architecture: $arch
Maintainer: libotelprof maintainers <maintainers@libotelprof.invalid>
Installed-Size: $(du -ks "$stage/usr" | cut -f 1)
Depends: libc6 (>= $libc)
Section: devel
Priority: optional
Multi-Arch: no
Description: CPU and heap profiles of unmodified programs, as OpenTelemetry Profiles
 LD_PRELOAD=/usr/lib/libotelprof.so makes any program that is dynamically linked
 to glibc write profiles of its CPU time and its heap: to files, sockets, or an
 OpenTelemetry Collector. The tool otelprof reads, compares, draws, receives and
 sends them.
END
(cd "$stage" && find usr -type f -exec md5sum {} + | LC_ALL=C sort -k 2 > DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$stage" "$package" > /dev/null
rm -rf "$stage"
echo "$package: $(wc -c < "$package") bytes"
