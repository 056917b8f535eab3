#!/usr/bin/env python3
"""Installs the Debian packages in a minimal Debian 12 without a toolchain, and uses, upgrades and purges them there.

    Scripts/test-packages.py FOLDER-OF-PACKAGES FOLDER-OF-NEWER-PACKAGES

Needs root, mmdebstrap, bubblewrap, Xvfb and xdotool, and the machine's own mirror of Debian 12. The packages run as
root and as an unprivileged user; bubblewrap enters with pivot_root, since chroot forbids user namespaces.
"""

import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "Screens"))

from display import Display, png  # noqa: E402

USER = 1000
HOME = "/var/user"
PACKAGES = ["inflight", "inflight-decoder-vips", "inflight-lab", "inflight-gallery"]
# Files that change with every installation.
CHANGING = ("dev", "proc", "run", "tmp", "var/user", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log")
COMPLETE = """
    source /usr/share/bash-completion/bash_completion
    _completion_loader inflight
    COMP_WORDS=(inflight ca) COMP_CWORD=1 COMP_LINE='inflight ca' COMP_POINT=11
    "$(complete -p inflight | sed -E 's/.*-F ([^ ]+).*/\\1/')" inflight ca inflight
    echo "${COMPREPLY[@]}"
"""


def step(text):
    print(f"--- {text}", flush=True)


def check(holds, text):
    if not holds:
        sys.exit(f"test-packages: failed: {text}")


def mirrors():
    """The machine's own sources of Debian 12."""
    form = "$(ORIGIN)|$(CODENAME)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", form, "Created-By: Packages"], capture_output=True, text=True, check=True)
    found = [line.split("|") for line in dict.fromkeys(listed.stdout.splitlines())]
    return [source for origin, name, source in found if origin == "Debian" and name.startswith("bookworm")]


class Root:
    def __init__(self, folder, packages, newer):
        self.path = folder / "root"
        self.shared = folder / "shared"
        self.binds = {packages: "/packages", newer: "/newer", self.shared: "/shared", "/tmp/.X11-unix": "/tmp/.X11-unix"}
        self.shared.mkdir()
        self.shared.chmod(0o777)
        sources = mirrors()
        check(sources, "the machine's apt has no source of Debian 12 (bookworm)")
        # A mirror may be a snapshot of an earlier day.
        subprocess.run(
            ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--include=bash-completion,man-db",
             '--aptopt=Acquire::Check-Valid-Until "false"', "bookworm", self.path, *sources], check=True)
        self.run(0, "useradd", "--uid", str(USER), "--home-dir", HOME, "--create-home", "user")

    def command(self, user, *command, options=(), **environment):
        """The command that runs another one in the root, with options of bwrap."""
        binds = [part for source, target in self.binds.items() for part in ("--bind-try", source, target)]
        home = HOME if user else "/root"
        variables = {"PATH": os.defpath.lstrip(":") + ":/usr/sbin:/sbin", "HOME": home, "LC_ALL": "C.UTF-8",
                     "DEBIAN_FRONTEND": "noninteractive", **environment}
        settings = [part for name, value in variables.items() for part in ("--setenv", name, value)]
        to_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return ["bwrap", "--bind", self.path, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run",
                "--perms", "1777", "--tmpfs", "/tmp",
                "--ro-bind", os.path.realpath("/etc/resolv.conf"), "/etc/resolv.conf", *binds, "--unshare-pid",
                "--die-with-parent", "--cap-add", "ALL", "--clearenv", *settings, *options, "--chdir", "/tmp", *to_user,
                *command]

    def run(self, user, *command, status=0, **environment):
        """Runs a command in the root, and returns what it printed."""
        done = subprocess.run(
            self.command(user, *command, **environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL, timeout=900)
        check(done.returncode == status, f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def apt(self, *arguments):
        return self.run(0, "apt-get", "-qq", "-y", *arguments)

    def files(self):
        found = set()
        for folder, folders, names in os.walk(self.path):
            here = pathlib.Path(folder).relative_to(self.path)
            folders[:] = [name for name in folders if str(here / name) not in CHANGING]
            found |= {str(here / name) for name in folders + names}
        return found


class Server(http.server.ThreadingHTTPServer):
    """Serves the files of a folder on loopback, fresh for an hour, and counts requests."""

    def __init__(self, folder):
        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=str(folder))

            def end_headers(self):
                self.server.requests += 1
                self.send_header("Cache-Control", "max-age=3600")
                super().end_headers()

            def log_message(self, *_):
                pass

        self.requests = 0
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, name):
        return f"http://127.0.0.1:{self.server_port}/{name}"


def use_command(root, server, user):
    step(f"the command as {'an unprivileged user' if user else 'root'}")
    check(root.run(user, "inflight", "--version").startswith("inflight "), "--version")
    check("inflight get" in root.run(user, "man", "inflight-get", MANPAGER="cat"), "man inflight-get")
    check("cache" in root.run(user, "bash", "-c", COMPLETE), "completions of bash")

    check("deadlock" in root.run(user, "inflight", "lab", "--list"), "the lab of its package")

    get = ["inflight", "get", "-o", f"/shared/out-{user}"]
    cached = ["--cache", f"/shared/cache-{user}"]
    root.run(user, *get, server.url("square.png"), *cached, "--size", "32x32", "--format", "jpeg")
    check((root.shared / f"out-{user}/square.jpg").read_bytes()[:2] == b"\xff\xd8", "a JPEG of a download")
    requests = server.requests
    root.run(user, *get, server.url("square.png"), *cached, "--size", "16x16", "--format", "webp")
    check(server.requests == requests, "the second run has to be a cache hit")

    # Fails if the sandbox lacks one of these protections.
    sandboxed = ["--require-protection", "landlock,namespaces", "--no-cache"]
    root.run(user, *get, server.url("square.png"), "--format", "avif", *sandboxed)
    avif = root.shared / f"out-{user}/square.avif"
    check(b"ftypavif" in avif.read_bytes()[:64], "an AVIF image")
    avif.rename(root.shared / f"{user}.avif")
    print(root.run(user, *get, server.url(f"{user}.avif"), "--format", "png", *sandboxed).rstrip())
    check((root.shared / f"out-{user}/{user}.png").read_bytes()[:4] == b"\x89PNG", "a PNG of an AVIF image")


def use_gallery(root, server):
    step("the gallery")
    with Display(640, 480) as display:
        urls = [server.url(f"{name}?{turn}") for turn in range(8) for name in ("square.png", f"{USER}.avif")]
        gallery = display.start(root.command(
            USER, "inflight-gallery", *urls, DISPLAY=display.name, GSK_RENDERER="cairo", NO_AT_BRIDGE="1"))
        # The images are the only pixels of these colours.
        shown = display.wait(lambda shown: sum(row.count(b"\xf0\x20\x90") for row in shown[2]) > 2000, "images")
        (root.shared / "gallery.png").write_bytes(png(shown))
        titles = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--class", "", "getwindowname", "%@"], capture_output=True, text=True,
            env={**os.environ, "DISPLAY": display.name})
        print("windows:", ", ".join(titles.stdout.split("\n")).strip(", "))
        display.keys("ctrl+q")
        check(gallery.wait(30) == 0, "the gallery quits with Ctrl-Q")
        display.programs.remove(gallery)


def main(packages, newer):
    check(os.geteuid() == 0, "it needs root, to make a root folder with files of several users")
    with tempfile.TemporaryDirectory(prefix="inflight-packages-") as name:
        # The unprivileged user enters it, too.
        os.chmod(name, 0o755)
        step("a minimal Debian 12")
        root = Root(pathlib.Path(name), packages, newer)
        (root.shared / "square.png").write_bytes(png((64, 64, [b"\xf0\x20\x90" * 64] * 64)))
        server = Server(root.shared)
        root.apt("update")
        bare = root.files()

        step("the command without the decoder of libvips")
        root.apt("install", "--no-install-recommends", *(f"/packages/{each}" for each in names(packages, PACKAGES[:1])))
        check(not any("libvips" in path for path in root.files() - bare), "no libvips")
        listed = root.run(0, "inflight", "info", "--formats")
        check("Debian packages: inflight-decoder-vips" in listed, f"the missing package is named:\n{listed}")
        refused = root.run(0, "inflight", "lab", "serial", status=69)
        check(refused.endswith("Install inflight-lab.\n"), f"the missing lab is named:\n{refused}")

        step("all packages")
        root.apt("install", *(f"/packages/{each}" for each in names(packages, PACKAGES)))
        root.apt("purge", *PACKAGES)
        without = root.files()
        check(not [path for path in without if "inflight" in path.lower()], "purge leaves no file")
        root.apt("install", *(f"/packages/{each}" for each in names(packages, PACKAGES)))
        installed = root.files() - without
        print(f"{len(installed)} files and folders")

        for user in (0, USER):
            use_command(root, server, user)
        use_gallery(root, server)
        without_namespaces(root, server)

        step("upgrade")
        versions = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\\n", *PACKAGES]
        before = root.run(0, *versions)
        root.apt("install", *(f"/newer/{each}" for each in names(newer, PACKAGES)))
        after = root.run(0, *versions)
        print(before + after.rstrip())
        check(set(before.split("\n")) & set(after.split("\n")) == {""}, "each package has the newer version")
        check(root.files() - without == installed, "the upgrade changes no names")
        root.run(USER, "inflight", "get", server.url(f"{USER}.avif"), "--format", "png", "--no-cache", "-o", "/tmp/out")

        step("remove and purge")
        root.apt("remove", *PACKAGES)
        check(root.files() == without, f"remove leaves {root.files() - without}")
        # apt-get does not know packages that left no configuration.
        root.run(0, "dpkg", "--purge", *PACKAGES)
        check(root.files() == without, f"purge leaves {root.files() - without}")
        check("inflight" not in root.run(0, "dpkg-query", "-W", "-f", "${Package}\\n"), "purge leaves a package")
        print("no file of the packages is left")


def without_namespaces(root, server):
    step("a container that forbids user namespaces")
    get = ["inflight", "get", *(server.url(f"{USER}.avif?{turn}") for turn in range(3)), "--format", "png", "--no-cache", "-o",
           "/tmp/out"]
    forbidden = ["--unshare-user", "--disable-userns"]
    printed = root.run(0, *get, options=forbidden)
    print(printed.rstrip())
    check(printed.count("protection") == 1, "the missing protection is reported once")
    refused = root.run(0, *get, "--require-protection", "namespaces", status=1, options=forbidden)
    print(refused.rstrip())
    check("namespaces" in refused, "the required protection is named")


def names(folder, packages):
    """The file names of packages in a folder that has one version of each."""
    found = [path.name for each in packages for path in pathlib.Path(folder).glob(f"{each}_*.deb")]
    check(len(found) == len(packages), f"{folder} has to have one version of each package")
    return found


if __name__ == "__main__":
    main(*(os.path.realpath(folder) for folder in sys.argv[1:3]))
