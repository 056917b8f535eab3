#!/bin/bash
# Finds which system packages are missing and installs just those.
#
#     Scripts/deps.sh GROUP…        GROUP: build, test, report, gtk, screenshots, bench
#
# This table is the one place that lists them. Columns: group; Debian's package; how it is recognised where there is no
# dpkg (a C header, or a command); what it is called elsewhere; what it is for.
set -euo pipefail

table() {
    cat <<'TABLE'
build|libcurl4-openssl-dev|curl/curl.h|libcurl 7.84 or later|HTTP: every transfer
build|libc-ares-dev|ares.h|c-ares|names are looked up without a thread for each
build|libidn2-dev|idn2.h|libidn2|host names in other scripts than Latin
build|libjpeg-dev|jpeglib.h|libjpeg-turbo|JPEG
build|libpng-dev|png.h|libpng 1.6|PNG
build|zlib1g-dev|zlib.h|zlib|the compressed parts of PNG; gzip and deflate
build|libbrotli-dev|brotli/decode.h|Brotli|bodies that are coded with Brotli
build|libzstd-dev|zstd.h|Zstandard|bodies that are coded with Zstandard
build|libwebp-dev|webp/decode.h|libwebp|WebP
build|libsqlite3-dev|sqlite3.h|SQLite 3.35 or later|the index of the disk cache
build|libgif-dev|gif_lib.h|giflib 5|GIF
build|liblcms2-dev|lcms2.h|Little CMS 2|colour profiles
build|libseccomp-dev|seccomp.h|libseccomp 2.5 or later|what a decoder's process may ask of the system
build|libvips-dev|vips/version.h|libvips 8.14 or later|AVIF, HEIC, TIFF and SVG, in the worker
build|libtiff-dev|tiffio.h|libtiff 4|TIFF that libvips refuses, in the worker
build|libjxl-dev|jxl/decode.h|libjxl 0.7 or later|JPEG XL, in the worker
build|pkg-config|pkg-config|pkg-config|where the headers of GLib lie, which libvips needs
build|libssl-dev|openssl/ssl.h|OpenSSL 3|TLS of the test kit's server
test|nginx-light|nginx|nginx|tests over HTTP/2 against a real server
test|openssl|openssl|OpenSSL's command|the certificate of that server
test|tmux|tmux|tmux 3.1 or later|pictures in a real terminal, read back from it
test|mandoc|mandoc|mandoc|the man pages, checked and rendered
test|zsh|zsh|zsh|the completions, in that shell
test|fish|fish|fish 3.4 or later|the completions, in that shell
gtk|libgtk-4-dev|gtk-4.0/gdk/gdkkeysyms.h|GTK 4.8 or later|the views, and inflight-gallery
gtk|adwaita-icon-theme|/usr/share/icons/Adwaita/index.theme|GNOME's icons|the symbols in them
gtk|fonts-dejavu-core|/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf|a font|the texts in them
gtk|xvfb|Xvfb|Xvfb|a display without a screen, for their tests
gtk|xauth|xauth|xauth|who may use that display
gtk|libxtst-dev|X11/extensions/XTest.h|libXtst|keys, wheel and pointer for the gallery, in its proof
report|chromium|chromium|Chromium|tests of the page of --report in a browser
screenshots|xdotool|xdotool|xdotool|keys that are pressed for the screenshots
screenshots|xterm|xterm|xterm|a terminal in a window
bench|nginx-light|nginx|nginx|the server that both sides are measured against
bench|pkg-config|pkg-config|pkg-config|how the peer on libvips is built
bench|openssl|openssl|OpenSSL's command|the certificate of that server
bench|curl|curl|curl|a peer: many files to disk, and starting
bench|libvips-dev|vips/version.h|libvips 8.14 or later|a peer: resizing
bench|libvips-tools|vipsthumbnail|libvips's commands|a peer: from URLs to thumbnails, behind curl; AVIF to measure
bench|python3-pil|pil|Pillow|a peer: thumbnails
bench|python3-aiohttp|aiohttp|aiohttp|a peer: from URLs to thumbnails, with Pillow
TABLE
}

say() { printf 'deps: %s\n' "$*"; }

# Whether a header or a command is there; for systems without dpkg.
is_found() {
    case $1 in
        *.h) "$compiler" -fsyntax-only -x c - 2>/dev/null <<<"#include <stddef.h>
#include <stdio.h>
#include <$1>" ;;
        /*) [ -e "$1" ] ;;
        pil) python3 -c 'import PIL' 2>/dev/null ;;
        aiohttp) python3 -c 'import aiohttp' 2>/dev/null ;;
        *) PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null ;;
    esac
}

[ $# -gt 0 ] || { say "which group? build, test, report, gtk, screenshots, bench" >&2; exit 64; }
wanted=" $* "
rows=()
while IFS= read -r row; do
    case $wanted in *" ${row%%|*} "*) rows+=("$row") ;; esac
done < <(table)

missing=()
if command -v dpkg-query >/dev/null; then
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
    for row in "${rows[@]}"; do
        IFS='|' read -r _ package _ <<<"$row"
        grep -qxF "$package" <<<"$installed" || missing+=("$row")
    done
else
    # Swift brings clang, but not always under that name into the path.
    compiler=$(command -v clang || command -v cc || true)
    [ -n "$compiler" ] || { say "no C compiler: install clang, which Swift's tools need too" >&2; exit 1; }
    for row in "${rows[@]}"; do
        IFS='|' read -r _ _ probe _ <<<"$row"
        is_found "$probe" || missing+=("$row")
    done
fi

if [ ${#missing[@]} -eq 0 ]; then
    say "all there ($*)"
    exit 0
fi

packages=()
for row in "${missing[@]}"; do
    IFS='|' read -r _ package _ name purpose <<<"$row"
    if command -v apt-get >/dev/null; then
        say "$package is missing: $purpose"
    else
        say "missing: $name, with its headers if it is a library ($purpose)"
    fi
    packages+=("$package")
done

if ! command -v apt-get >/dev/null; then
    say "this system has no apt-get: install these with its own package manager, then try again" >&2
    exit 1
fi

as_root=(env)
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        say "needs root, and there is no sudo: run as root: apt-get install ${packages[*]}" >&2
        exit 1
    }
    as_root=(sudo env)
fi
as_root+=(DEBIAN_FRONTEND=noninteractive)

# A fresh container has no lists, and stale ones name versions that the mirror no longer has.
can_install() { apt-get install --simulate --no-install-recommends "${packages[@]}" >/dev/null 2>&1; }
update() {
    say "updating the list of packages"
    "${as_root[@]}" apt-get update -qq
}
install() {
    say "installing ${packages[*]}"
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}"
}

fail() {
    say "apt-get failed: see above" >&2
    exit 1
}

# A package that brings a service must not start it on this machine: only its program is wanted.
policy=/usr/sbin/policy-rc.d
if [[ " ${packages[*]} " == *" nginx-light "* && ! -e $policy ]]; then
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
fi

if can_install; then
    install || { update && install; } || fail
else
    { update && install; } || fail
fi
say "installed"
