#!/bin/bash
# Builds the benchmarks and their peers, starts nginx on loopback, and runs the benchmarks.
#
#     Scripts/bench.sh [--quick] [PART…]
#
# Benchmarks/README.md lists the parts. Requires the release build of `inflight` (`make build`).
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PATH:/usr/sbin:/sbin"

say() { printf 'bench: %s\n' "$*" >&2; }

swift=${SWIFT:-swift}
cc=$(command -v cc || command -v clang) || { say "no C compiler: install clang"; exit 1; }
nginx=$(command -v nginx) || { say "nginx is not installed; run Scripts/deps.sh bench"; exit 1; }
# Pillow is installed for the system's Python, which may not be the first in PATH.
for python in /usr/bin/python3 python3 none; do
    "$python" -c 'import PIL' 2>/dev/null && break
done
[ "$python" != none ] || { say "Pillow is not installed; run Scripts/deps.sh bench"; exit 1; }

say "building the peers"
peers=Benchmarks/.build/peers
mkdir -p "$peers"
peer() { "$cc" -O2 -Wall -Wextra -o "$peers/$1" "Benchmarks/Peers/$1.c" "${@:2}"; }
read -ra vips <<<"$(pkg-config --cflags --libs vips)"
peer http_multi -lcurl
peer decode_vips "${vips[@]}" -lpthread
peer process_vips "${vips[@]}"
# The header uses clang's nullability annotations, which other compilers lack.
peer disk_peer -D_Nonnull= -D_Nullable= -ISources/BackEnds/CInflightSQLite/include Sources/BackEnds/CInflightSQLite/checksum.c -lsqlite3
peer decode_floor -ljpeg -lpthread
peer whole_limit -O3 -march=native -lcurl -ljpeg -lm
peer quality -ljpeg -lpthread -lm

# The newest peers of Python, which Debian lacks, in a folder of their own.
newest=${SCRATCH:-.build}/bench-python
if [ ! -x "$newest/bin/img2dataset" ]; then
    say "installing the newest peers of Python"
    if ! { "$python" -m venv "$newest" \
        && "$newest/bin/pip" install --quiet --disable-pip-version-check pillow aiohttp img2dataset==1.47.0; } >&2; then
        say "cannot install them; they are not measured"
        rm -rf "$newest"
    fi
fi
case " $* " in *" cluster "*)
    say "installing Spark and Ray"
    "$newest/bin/pip" install --quiet --disable-pip-version-check 'pyspark[sql]>=4.1,<5' 'ray[data]>=2.50,<3' >&2 \
        || say "cannot install them; they are not measured" ;;
esac
pypi=()
if [ -x "$newest/bin/img2dataset" ]; then pypi=(--python "$(realpath -s "$newest/bin/python")"); fi

say "building the benchmarks"
flags=(--package-path Benchmarks -c release)
# SwiftPM looks for new files of the package beside it only if a manifest is newer than its build plan.
touch Package.swift Benchmarks/Package.swift
"$swift" build "${flags[@]}" >&2
binaries=$("$swift" build "${flags[@]}" --show-bin-path)
inflight=$("$swift" build -c release --static-swift-stdlib --scratch-path "${SCRATCH:-.build}" --show-bin-path)/inflight
[ -x "$inflight" ] || { say "no release build of inflight; run make build"; exit 1; }

# Uses memory if it has space, because a disk's file system would dominate the times of `get`.
space=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1 || true)
if [ "${space:-0}" -gt 400000 ] && [ -w /dev/shm ]; then
    folder=$(mktemp -d -p /dev/shm)
else
    folder=$(mktemp -d)
fi
server=
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# nginx's worker may run as another user.
chmod 755 "$folder"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>/dev/null
read -r port tls_port <<<"$("$python" - <<'PYTHON'
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(each.getsockname()[1] for each in sockets))
PYTHON
)"
cat >"$folder/nginx.conf" <<CONF
daemon off;
worker_processes 1;
pid $folder/nginx.pid;
error_log $folder/error.log;
events { worker_connections 4096; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000000;
    keepalive_timeout 300s;
    open_file_cache max=20000 inactive=600s;
    open_file_cache_valid 600s;
    types { image/jpeg jpg; }
    client_body_temp_path $folder/t1;
    proxy_temp_path $folder/t2;
    fastcgi_temp_path $folder/t3;
    uwsgi_temp_path $folder/t4;
    scgi_temp_path $folder/t5;
    root $folder/files;
    server {
        listen 127.0.0.1:$port backlog=1024;
        location = /status { stub_status; }
        location /fresh/ { alias $folder/files/; add_header Cache-Control "max-age=3600"; }
    }
    server {
        listen 127.0.0.1:$tls_port ssl http2 backlog=1024;
        ssl_certificate $folder/certificate.pem;
        ssl_certificate_key $folder/key.pem;
    }
}
CONF
"$nginx" -c "$folder/nginx.conf" -e "$folder/error.log" &
server=$!
for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$tls_port") 2>/dev/null && break
    kill -0 "$server" 2>/dev/null || { say "nginx did not start:"; cat "$folder/error.log" >&2; exit 1; }
    sleep 0.05
done

"$python" Benchmarks/Runner/bench.py --folder "$folder" --binaries "$binaries" --peers "$peers" --inflight "$inflight" \
    --swift "$swift" "${pypi[@]}" --port "$port" --tls-port "$tls_port" "$@"
