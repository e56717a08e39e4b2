#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tls.sh: outputs over TLS. Only a server with a valid certificate for the right name gets anything.
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../servers.sh"
host busy
busy=$host
command -v openssl > /dev/null || {
    begin "TLS"
    skip "openssl is not installed"
    end
    finish
}

mkdir "$work/pki"
cd "$work/pki" || exit 1
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 3 -subj /CN=test-ca 2> /dev/null
touch index.txt
cat > ca.cnf << 'END'
[ca]
default_ca = a
[a]
database = index.txt
new_certs_dir = .
default_md = sha256
policy = p
rand_serial = yes
unique_subject = no
[p]
commonName = supplied
END
# certificate NAME SUBJECT_ALT_NAMES START END [KEY]: dates as YYYYMMDDHHMMSSZ, or - for valid ones
certificate() {
    now=$(date -u +%Y%m%d%H%M%SZ -d '-1 day')
    later=$(date -u +%Y%m%d%H%M%SZ -d '+2 days')
    [ "$3" = - ] || now=$3
    [ "$4" = - ] || later=$4
    # shellcheck disable=SC2086
    openssl req -newkey ${5:-rsa:2048} -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2> /dev/null
    echo "subjectAltName=$2" > "$1.ext"
    openssl ca -batch -config ca.cnf -cert ca.pem -keyfile ca.key -in "$1.csr" -out "$1.pem" -notext \
        -startdate "$now" -enddate "$later" -extfile "$1.ext" 2> ca.err || cat ca.err
}
certificate good DNS:localhost,IP:127.0.0.1 - -
certificate name DNS:localhost - -
certificate curve DNS:localhost,IP:127.0.0.1 - - "ec -pkeyopt ec_paramgen_curve:P-256"
certificate client DNS:client - -
certificate curved DNS:client - - "ec -pkeyopt ec_paramgen_curve:P-256"
certificate other DNS:other.example,IP:127.0.0.2 - -
certificate wild DNS:*.localhost - -
certificate expired DNS:localhost,IP:127.0.0.1 20200101000000Z 20210101000000Z
certificate future DNS:localhost,IP:127.0.0.1 20900101000000Z 20910101000000Z
openssl req -x509 -newkey rsa:2048 -nodes -keyout self.key -out self.pem -days 3 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2> /dev/null
openssl req -x509 -newkey rsa:1024 -nodes -keyout weak.key -out weak.pem -days 3 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2> /dev/null
echo "no certificate" > empty.pem

wants= # what the server wants of clients: see server.py
tls_server() { # TEMPER [NAME]
    server "$1" ${2:+"$work/pki/$2.pem" "$work/pki/$2.key"} ${wants:+"$wants"}
}

run() { # OUTPUT [SETTING…]; goes on until something is in $folder, when that is set
    output=$1
    shift
    run_to "$d/prof" "$python" "$here/steps.py" "$d/end" env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$output,file:$p/%n.otlp" \
        OTELPROF_HEAP_INTERVAL=4k OTELPROF_SHUTDOWN_TIMEOUT=30s OTELPROF_LOG=warn OTEL_EXPORTER_OTLP_TIMEOUT=60000 \
        "$@" "$busy" 100 ${folder:+"$folder" 1}
    equal "exit status" 3 $?
    equal "output" "done" "$(cat "$d/prof.out")"
    flushes=$(find "$p" -type f | wc -l)
}

# troubled URL [SETTING…]: the program, until it has said something, and not much longer; that is in $d/log/said
troubled() {
    mkdir "$d/log"
    folder=$d/log
    run "$@" OTELPROF_INTERVAL=100ms OTELPROF_LOG_FILE="$d/log/said" OTELPROF_SHUTDOWN_TIMEOUT=500ms
    folder=
    equal "standard error" "" "$(cat "$d/prof.err")"
}

folder=
ca=OTEL_EXPORTER_OTLP_CERTIFICATE

# accepted TEST URL NAME TEMPER [SETTING…]
accepted() {
    begin "$1"
    url=$2 cert=$3 temper=$4
    shift 4
    tls_server "$temper" "$cert"
    run "$url:$port" "$ca=$work/pki/ca.pem" "$@"
    equal "standard error" "" "$(cat "$d/prof.err")"
    equal "requests" "$flushes" "$(requests)"
    stop_server
    end
}

# refused TEST URL NAME WORDS [SETTING…]
refused() {
    begin "$1"
    url=$2 cert=$3 words=$4
    shift 4
    tls_server answers:200 "$cert"
    troubled "$url:$port" "$@"
    grep -qF -- "$words" "$d/log/said" || bad "the log does not say '$words': $(head -c 400 "$d/log/said")"
    equal "requests" 0 "$(requests)"
    stop_server
    end
}

accepted "a good certificate, by name" https://localhost good answers:200
accepted "a good certificate, by address" https://127.0.0.1 good answers:200
accepted "a good certificate of an elliptic curve" https://localhost curve answers:200
accepted "gRPC over TLS" grpcs://localhost good h2:status=0
accepted "gRPC over TLS, compressed" grpcs://127.0.0.1 curve h2:status=0 OTEL_EXPORTER_OTLP_COMPRESSION=gzip

trust="$ca=$work/pki/ca.pem"
refused "another host's name" https://localhost other "is for another host" "$trust"
refused "another host's address" https://127.0.0.1 other "is for another host" "$trust"
refused "a name does for no address" https://127.0.0.1 name "is for another host" "$trust"
refused "a wildcard does not stand for nothing" https://localhost wild "is for another host" "$trust"
refused "expired" https://localhost expired "has expired" "$trust"
refused "not valid yet" https://localhost future "is not valid yet" "$trust"
refused "self-signed" https://localhost self "not signed by a trusted authority" "$trust"
refused "signed by nobody that the system trusts" https://localhost good "not signed by a trusted authority"
refused "a weak key" https://localhost weak "certificate" "$ca=$work/pki/weak.pem"
refused "a server that speaks no TLS" https://localhost "" "cannot agree on TLS" "$trust"
refused "a file of trusted certificates that is not there" https://localhost good "does not exist" "$ca=/nonexistent.pem"
refused "a file of trusted certificates without one" https://localhost good "has none" "$ca=$work/pki/empty.pem"
refused "a client's key that is not there" https://localhost good "client's key" "$trust" \
    "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=$work/pki/good.pem" OTEL_EXPORTER_OTLP_CLIENT_KEY=/nonexistent
refused "http to a server that wants TLS" http://localhost good "localhost" "$trust"

# A server that knows its clients by their certificates.
e=OTEL_EXPORTER_OTLP
wants=$work/pki/ca.pem
for kind in client curved; do
    accepted "a client with a certificate ($kind): HTTP" https://localhost good answers:200 \
        "${e}_CLIENT_CERTIFICATE=$work/pki/$kind.pem" "${e}_CLIENT_KEY=$work/pki/$kind.key"
    accepted "a client with a certificate ($kind): gRPC" grpcs://localhost good h2:status=0 \
        "${e}_PROFILES_CLIENT_CERTIFICATE=$work/pki/$kind.pem" "${e}_PROFILES_CLIENT_KEY=$work/pki/$kind.key"
done
refused "a client without a certificate" https://localhost good "localhost" "$trust"
refused "a client without a certificate: gRPC" grpcs://localhost good "localhost" "$trust"
refused "a client with somebody else's certificate" https://localhost good "localhost" "$trust" \
    "${e}_CLIENT_CERTIFICATE=$work/pki/self.pem" "${e}_CLIENT_KEY=$work/pki/self.key"
refused "a client with a certificate and another's key" https://localhost good "not that of its certificate" "$trust" \
    "${e}_CLIENT_CERTIFICATE=$work/pki/client.pem" "${e}_CLIENT_KEY=$work/pki/good.key"
wants=1.3
refused "a server that insists on TLS 1.3" https://localhost good "cannot agree on TLS" "$trust"
refused "a server that insists on TLS 1.3: gRPC" grpcs://localhost good "cannot agree on TLS" "$trust"
wants=

# gRPC without a scheme: over TLS, unless it is said otherwise.
for variable in INSECURE PROFILES_INSECURE; do
    begin "gRPC to HOST:PORT with $variable=true goes without TLS"
    tls_server h2:status=0
    run otlp "${e}_ENDPOINT=localhost:$port" ${e}_PROTOCOL=grpc "${e}_$variable=true"
    equal "standard error" "" "$(cat "$d/prof.err")"
    equal "requests" "$flushes" "$(requests)"
    stop_server
    end
done
begin "gRPC to HOST:PORT goes over TLS"
tls_server h2:status=0 good
run otlp "${e}_ENDPOINT=localhost:$port" ${e}_PROTOCOL=grpc "$trust"
equal "standard error" "" "$(cat "$d/prof.err")"
equal "requests" "$flushes" "$(requests)"
stop_server
end
begin "gRPC to HOST:PORT does not go without TLS"
tls_server h2:status=0
troubled otlp "${e}_ENDPOINT=localhost:$port" ${e}_PROTOCOL=grpc "$trust"
grep -qF "cannot agree on TLS" "$d/log/said" || bad "the log does not say so: $(head -c 400 "$d/log/said")"
equal "requests" 0 "$(requests)"
stop_server
end

# What a scheme says counts before the variable.
accepted "https with INSECURE=true is over TLS" https://localhost good answers:200 ${e}_INSECURE=true
accepted "grpcs with INSECURE=true is over TLS" grpcs://localhost good h2:status=0 ${e}_INSECURE=true

# The key is in no log and no profile, and as text no longer in memory once it was read: also when it is in the same file
# as the certificate.
cat "$work/pki/client.pem" "$work/pki/client.key" > "$work/pki/both.pem"
cat > "$work/find.py" << 'END'
import glob, os, re, signal, sys, time
wanted = [w.encode() for w in sys.argv[2:]]
count = dict.fromkeys(wanted, 0)

def stands():
    states = [open(f).read().rsplit(")", 1)[1].split()[0] for f in glob.glob("/proc/%s/task/*/stat" % sys.argv[1])]
    return states and set(states) == {"T"}

# While it stands still no memory comes or goes between the list and the look at it.
os.kill(int(sys.argv[1]), signal.SIGSTOP)
while not stands():
    time.sleep(0.01)
with open("/proc/%s/maps" % sys.argv[1]) as maps, open("/proc/%s/mem" % sys.argv[1], "rb") as mem:
    for line in maps:
        start, end, rights = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
        if rights[:2] == "rw":
            mem.seek(int(start, 16))
            data = mem.read(int(end, 16) - int(start, 16))
            for w in wanted:
                count[w] += data.count(w)
os.kill(int(sys.argv[1]), signal.SIGCONT)
print(*count.values())
END
for files in "client.pem client.key" "both.pem both.pem"; do
    begin "a client's key is nowhere: $files"
    wants=$work/pki/ca.pem
    tls_server answers:200 good
    wants=
    mkdir "$d/go"
    env LD_PRELOAD="$lib" OTELPROF_OUTPUT="https://localhost:$port,file:$p/%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
        OTELPROF_INTERVAL=100ms OTELPROF_SHUTDOWN_TIMEOUT=30s OTELPROF_LOG=debug "$trust" \
        "${e}_CLIENT_CERTIFICATE=$work/pki/${files% *}" "${e}_CLIENT_KEY=$work/pki/${files#* }" \
        "$busy" 100 "$d/go" 1 > "$d/prof.out" 2> "$d/prof.err" &
    program=$!
    pids="$pids $program"
    wait_for 30 test -s "$d/server/requests" || bad "nothing arrives"
    secret=$(sed -n 5p "$work/pki/client.key")
    [ "${#secret}" -gt 40 ] || bad "no line of the key"
    found=$("$python" "$work/find.py" "$program" "$secret" "$work/pki/${files#* }")
    equal "the key in memory" 0 "${found% *}"
    [ "${found#* }" -gt 0 ] || bad "nor is its name there: nothing was looked at"
    : > "$d/go/on"
    wait "$program"
    equal "exit status" 3 $?
    grep -qF "$secret" "$d/prof.err" "$p"/* && bad "it is in the log or in a profile"
    stop_server
    end
done

# Without a file of its own, the system's list is what counts.
system=/etc/ssl/certs/ca-certificates.crt
if [ "$(id -u)" = 0 ] && [ -e $system ] && unshare -m true 2> /dev/null; then
    for kind in https grpcs; do
        begin "an authority that the system trusts: $kind"
        case $kind in https) tls_server answers:200 good ;; *) tls_server h2:status=0 good ;; esac
        cat $system "$work/pki/ca.pem" > "$d/list"
        run_to "$d/prof" unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$d/list" $system \
            env LD_PRELOAD="$lib" OTELPROF_OUTPUT="$kind://localhost:$port,file:$p/%n.otlp" OTELPROF_HEAP_INTERVAL=4k \
            OTELPROF_SHUTDOWN_TIMEOUT=30s OTELPROF_LOG=warn "$busy" 100
        equal "exit status" 3 $?
        equal "standard error" "" "$(cat "$d/prof.err")"
        equal "requests" "$(find "$p" -type f | wc -l)" "$(requests)"
        stop_server
        end
    done
else
    begin "an authority that the system trusts"
    skip "root, namespaces and ca-certificates are needed"
    end
fi

begin "silence in the middle of the handshake"
tls_server deaf
troubled "https://localhost:$port" "$trust" OTEL_EXPORTER_OTLP_TIMEOUT=300
between "ms to the end of the process" 0 4000 "$(cat "$d/end")"
stop_server
end

finish
