#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh: `make install` and `make deb`, the package in a clean root, and what docs/fleet says about services and images,
# as far as it can be tried without a container engine and without systemd as the first process.
# The root is kept in OTELPROF_CACHE (~/.cache/libotelprof).
. "$(dirname "$0")/../common.sh"
suite=install
cache=${OTELPROF_CACHE:-${HOME:-/root}/.cache/libotelprof}/roots
root=$cache/minimal
snippets=$top/docs/fleet

begin "make install"
make -C "$top" -s install PREFIX=/opt/otp DESTDIR="$d/stage" > "$d/out" 2>&1 || bad "$(tail -n 3 "$d/out")"
for f in lib/libotelprof.so bin/otelprof include/otelprof.h share/doc/libotelprof/README.md; do
    [ -f "$d/stage/opt/otp/$f" ] || bad "$f is missing"
done
equal "what is outside of the prefix" "" "$(find "$d/stage" -type f ! -path "$d/stage/opt/otp/*")"
"$d/stage/opt/otp/bin/otelprof" run -o "$d/x.otlp" -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' > "$d/out" 2>&1 ||
    bad "the installed tool does not find its library: $(cat "$d/out")"
"$tool" check --strict "$d"/x*.otlp > "$d/out" 2>&1 || bad "$(tail -n 1 "$d/out")"
end

[ "$(id -u)" = 0 ] || {
    begin "a clean root"
    skip "only root can change the root"
    end
    finish
}
sh "$top/tools/dev/apt_packages.sh" mmdebstrap dpkg-dev systemd python3-yaml nginx-light

begin "make deb"
rm -f "$build"/libotelprof_*.deb
make -C "$top" -s deb > "$d/out" 2>&1 || bad "$(tail -n 3 "$d/out")"
deb=$(ls "$build"/libotelprof_*.deb)
[ -f "$deb" ] || bad "there is no package"
dpkg-deb -f "$deb" Depends | grep -q '^libc6 (>= 2\.[0-9]*)$' || bad "it depends on $(dpkg-deb -f "$deb" Depends)"
equal "owners" "root/root" "$(dpkg-deb -c "$deb" | awk '{ print $2 }' | sort -u)"
dpkg-deb -c "$deb" | awk '{ print $6 }' | grep -v -e '^\./$' -e '^\./usr/' > "$d/foreign" && bad "outside of /usr: $(cat "$d/foreign")"
end

mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1
}

inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/ LC_ALL=C "$@"
}

begin "a clean root takes the package"
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
if [ ! -e "$root/complete" ]; then
    rm -rf "$root" "$root.new"
    mkdir -p "$cache"
    mmdebstrap --quiet --mode=root --variant=essential --components=main --aptopt='Acquire::Languages "none"' \
        "$codename" "$root.new" "$(mirror)" > "$d/out" 2>&1 || bad "no root: $(tail -n 3 "$d/out")"
    [ -c "$root.new/dev/null" ] || mknod -m 666 "$root.new/dev/null" c 1 3
    : > "$root.new/complete"
    mv "$root.new" "$root"
fi
inside dpkg --purge libotelprof > /dev/null 2>&1
rm -rf "$root/otp" "$root/etc/ld.so.preload"
mkdir -p "$root/otp"
cp "$deb" "$root/otp/it.deb"
inside dpkg -i /otp/it.deb > "$d/out" 2>&1 || bad "$(tail -n 3 "$d/out")"
inside otelprof doctor perl > "$d/out" 2>&1 || bad "$(tail -n 3 "$d/out")"
grep -q '/usr/lib/libotelprof.so' "$d/out" || bad "doctor does not find the library: $(cat "$d/out")"
inside otelprof run -o /otp/perl.otlp -- perl -e '$x += $_ ** 0.5 for 1 .. 3e6; print "done\n"' > "$d/out" 2>&1
equal "status" 0 $?
equal "output" "done" "$(cat "$d/out")"
inside otelprof check --strict /otp/perl.otlp > "$d/out" 2>&1 || bad "$(tail -n 1 "$d/out")"
inside otelprof top -t cpu /otp/perl.otlp > "$d/out" 2>&1
grep -q 'perl' "$d/out" || bad "perl is not in its profile: $(cat "$d/out")"
end

# received COUNT: at least so many profiles of perl lie in the root's /otp/in
received() {
    n=$(find "$root/otp/in" -name 'otelprof-perl-*.otlp' 2> /dev/null | wc -l)
    [ "$n" -ge "$1" ] || bad "$n profiles of perl arrived: $(ls "$root/otp/in" 2> /dev/null | head -n 3)"
    "$tool" check --strict "$root"/otp/in/*.otlp > "$d/check" 2>&1 || bad "$(tail -n 1 "$d/check")"
}

# A receiver inside the root; $port
receive() {
    rm -rf "$root/otp/in"
    chroot "$root" /usr/bin/otelprof receive --listen tcp:127.0.0.1:0 -o /otp/in > "$d/receive" 2>&1 &
    receiver=$!
    pids="$pids $receiver"
    wait_for 20 grep -q '^listening on' "$d/receive" || bad "no receiver: $(cat "$d/receive")"
    port=$(sed -n 's/^listening on tcp:127.0.0.1://p' "$d/receive")
}

stop_receive() {
    kill "$receiver"
    wait "$receiver" || bad "the receiver lost something: $(cat "$d/receive")"
}

program='$x += $_ ** 0.5 for 1 .. 3e6; print "done\n"'

begin "/etc/ld.so.preload: every program of the root, without a word in its environment but where to"
receive
echo /usr/lib/libotelprof.so > "$root/etc/ld.so.preload"
inside OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:$port" OTELPROF_PROGRAMS='perl*' \
    sh -c "perl -e '$program'; ls / > /dev/null; perl -e '$program'" > "$d/out" 2>&1
equal "output" "done
done" "$(cat "$d/out")"
# The package manager and its scripts live with it.
inside OTELPROF_PROGRAMS='perl*' OTELPROF_OUTPUT=none dpkg --configure -a > "$d/out" 2>&1 || bad "dpkg: $(cat "$d/out")"
rm "$root/etc/ld.so.preload"
stop_receive
received 2
end

begin "the package goes as it came"
echo /usr/lib/libotelprof.so > "$root/etc/ld.so.preload"
inside dpkg --purge libotelprof > "$d/out" 2>&1 || bad "$(tail -n 3 "$d/out")"
[ ! -e "$root/usr/lib/libotelprof.so" ] && [ ! -e "$root/usr/bin/otelprof" ] || bad "it is still there"
# A library that is gone is a line of the loader for each program, not the end of the system.
inside true 2> "$d/out" || bad "programs do not start any more"
rm "$root/etc/ld.so.preload"
inside dpkg -i /otp/it.deb > "$d/out" 2>&1 || bad "$(tail -n 3 "$d/out")"
end

begin "the drop-in of docs/fleet is one that systemd understands, and its variables work"
mkdir -p "$d/units/example.service.d"
printf '[Unit]\nDescription=example\n[Service]\nExecStart=/usr/bin/perl -e 1\nUser=daemon\n' > "$d/units/example.service"
cp "$snippets/otelprof.conf" "$d/units/example.service.d/otelprof.conf"
SYSTEMD_UNIT_PATH="$d/units:" systemd-analyze verify --man=no --recursive-errors=no "$d/units/example.service" > "$d/out" 2>&1 ||
    bad "$(cat "$d/out")"
grep -F -e "$d/units" "$d/out" && bad "it complains: $(cat "$d/out")"
# The same with a line that makes no sense is seen, or nothing was looked at.
echo 'Environmnt=A=b' >> "$d/units/example.service.d/otelprof.conf"
SYSTEMD_UNIT_PATH="$d/units:" systemd-analyze verify --man=no --recursive-errors=no "$d/units/example.service" > "$d/out" 2>&1
grep -q Environmnt "$d/out" || bad "a wrong line is not seen: $(cat "$d/out")"
receive
mkdir -p "$root/otp/state/otelprof"
set -- $(sed -n 's/^Environment=//p' "$snippets/otelprof.conf" | sed -e 's,%p,example,g' -e 's,%S,/otp/state,g' -e "s,localhost:4318,127.0.0.1:$port,")
[ $# -ge 5 ] || bad "only $# variables"
inside "$@" perl -e "$program" > "$d/out" 2>&1
equal "output" "done" "$(cat "$d/out")"
stop_receive
received 1
"$tool" info "$root"/otp/in/*.otlp | grep -q 'service.name *example' || bad "the service has no name"
end

begin "the image of docs/fleet: its steps and variables, in the root"
receive
steps=$(grep -c -E '^(FROM|COPY|RUN|ENV|CMD) ' "$snippets/Dockerfile")
equal "lines that are no steps" "" "$(grep -v -E '^(#|FROM |COPY |RUN |ENV |CMD |$)' "$snippets/Dockerfile")"
[ "$steps" -ge 8 ] || bad "only $steps steps"
inside dpkg --purge libotelprof > /dev/null 2>&1
cp "$deb" "$root/tmp/"
inside sh -c "$(sed -n 's/^RUN //p' "$snippets/Dockerfile")" > "$d/out" 2>&1 || bad "$(tail -n 3 "$d/out")"
set -- $(sed -n 's/^ENV //p' "$snippets/Dockerfile" | sed "s,collector:4318,127.0.0.1:$port,")
sed -n 's/^CMD //p' "$snippets/Dockerfile" | "$python" -c 'import json, sys; print("\0".join(json.load(sys.stdin)), end="")' > "$d/command"
LC_ALL=C xargs -0 -a "$d/command" chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin "$@" > "$d/out" 2>&1
equal "output" "done" "$(cat "$d/out")"
stop_receive
received 1
end

begin "the Kubernetes snippet: what its containers would do"
"$python" - "$snippets/kubernetes.yaml" > "$d/plan" 2> "$d/err" << 'END' || bad "$(tail -n 1 "$d/err")"
import sys, yaml
spec = yaml.safe_load(open(sys.argv[1]))["spec"]["template"]["spec"]
init, = spec["initContainers"]
main, = spec["containers"]
volumes = {v["name"] for v in spec["volumes"]}
mounts = {m["name"]: m["mountPath"] for c in (init, main) for m in c["volumeMounts"]}
assert set(mounts) == volumes, (mounts, volumes)
assert init["command"][0] == "cp" and init["command"][2].rstrip("/") == mounts["otelprof"]
print(" ".join(init["command"]))
for e in main["env"]:
    if "value" in e:
        print("%s=%s" % (e["name"], e["value"].replace("$(NODE)", "127.0.0.1").replace("$(POD)", "1-2")))
END
receive
mkdir -p "$root/otelprof" "$root/spool"
# shellcheck disable=SC2046
inside $(head -n 1 "$d/plan") || bad "the init container fails"
# shellcheck disable=SC2046
inside $(sed -e 1d -e "s,:4318,:$port," "$d/plan") perl -e "$program" > "$d/out" 2>&1
equal "output" "done" "$(cat "$d/out")"
stop_receive
received 1
"$tool" info "$root"/otp/in/*.otlp | grep -q 'k8s.pod.uid *1-2' || bad "the pod is not named"
end

begin "the balancer: one service to one gateway, another gateway when that is away"
mkdir -p "$d/n"
"$tool" receive --listen tcp:127.0.0.1:0 -o "$d/a" > "$d/a.out" 2>&1 &
a=$!
"$tool" receive --listen tcp:127.0.0.1:0 -o "$d/b" > "$d/b.out" 2>&1 &
b=$!
pids="$pids $a $b"
wait_for 20 grep -q '^listening' "$d/a.out" && wait_for 20 grep -q '^listening' "$d/b.out" || bad "no receivers"
front=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -e "s,127.0.0.1:14318,$(sed -n 's/^listening on tcp://p' "$d/a.out")," -e "s,127.0.0.1:24318,$(sed -n 's/^listening on tcp://p' "$d/b.out")," \
    -e "s,listen 127.0.0.1:4318,listen 127.0.0.1:$front," "$snippets/balancer.conf" > "$d/n/nginx.conf"
nginx -p "$d/n" -c "$d/n/nginx.conf" -g "pid $d/n/pid; error_log $d/n/log; daemon off;" > "$d/n/out" 2>&1 &
nginx=$!
pids="$pids $nginx"
wait_for 20 "$python" -c "import socket; socket.create_connection(('127.0.0.1', $front))" || bad "no nginx: $(cat "$d/n/out" "$d/n/log")"
send() { # SERVICE
    OTEL_EXPORTER_OTLP_HEADERS=x-service=$1 "$tool" send -o "http://127.0.0.1:$front" "$2" > "$d/send" 2>&1 || bad "$(cat "$d/send")"
}
count() {
    find "$d/$1" -type f 2> /dev/null | wc -l
}
for i in 1 2 3 4; do
    inside otelprof run -o "/otp/m$i.otlp" -- perl -e '$x += $_ ** 0.5 for 1 .. 3e6' > "$d/out" 2>&1
done
for i in 1 2 3; do send one "$root/otp/m$i.otlp"; done
between "gateways that got one service" 1 1 "$(( ($(count a) > 0) + ($(count b) > 0) ))"
equal "messages" 3 "$(($(count a) + $(count b)))"
if [ "$(count a)" -gt 0 ]; then gone=$a rest=b; else gone=$b rest=a; fi
kill "$gone"
wait "$gone"
equal "messages at the other gateway so far" 0 "$(count $rest)"
send one "$root/otp/m4.otlp"
equal "messages at the other gateway" 1 "$(count $rest)"
equal "messages" 4 "$(($(count a) + $(count b)))"
kill $nginx $a $b 2> /dev/null
end

finish
