#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# apt_packages.sh PACKAGE...: installs those that are missing; says nothing when none is.
# Without root or sudo it names what is missing and fails; on a system without dpkg it names what is wanted and goes on.
set -eu

command -v dpkg-query > /dev/null || {
    echo "apt_packages: not a Debian or Ubuntu machine; please install: $*" >&2
    exit 0
}
missing=
for p; do
    dpkg-query -W -f '${db:Status-Status}\n' "$p" 2> /dev/null | grep -qx installed ||
        missing="$missing $p"
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo > /dev/null || {
        echo "apt_packages: not root and no sudo; please install:$missing" >&2
        exit 1
    }
    sudo=sudo
fi
echo "  APT    $missing"

# Daemons that come with a package are not to be started: we only want their programs.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" > /dev/null
    $sudo chmod 755 "$policy"
    trap '$sudo rm -f "$policy"' EXIT INT TERM
fi
log=$(mktemp)
apt() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o DPkg::Lock::Timeout=600 "$@" \
        >> "$log" 2>&1
}
# shellcheck disable=SC2086
if ! { apt update && apt install --no-install-recommends $missing; }; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "apt_packages: could not install:$missing" >&2
    exit 1
fi
rm -f "$log"
