"""The machine and the versions of the programs measured."""

import os
import platform
import re
import subprocess


def output(*command):
    """The output of a command, or an empty string if it is not installed."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return ""
    return done.stdout


def version(text, pattern):
    match = re.search(pattern, text)
    return match[1] if match else "unknown"


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return version(file.read(), r"model name\s*:\s*(.*)")


def lines(bench):
    import PIL
    from PIL import features

    load = os.getloadavg()
    yield (
        f"{len(os.sched_getaffinity(0))} cores ({processor()}), kernel {platform.release()}; "
        f"load average {load[0]:.1f} (1 minute), {load[2]:.1f} (15 minutes)"
    )
    versions = {
        "Swift": version(output(bench.swift, "--version"), r"Swift version (\S+)"),
        "libcurl": version(output("curl-config", "--version"), r"libcurl (\S+)"),
        "nginx": version(output("nginx", "-v"), r"nginx/(\S+)"),
        "libvips": version(output("pkg-config", "--modversion", "vips"), r"(\S+)"),
        "Pillow": PIL.__version__,
        "libjpeg-turbo": features.version("libjpeg_turbo"),
    }
    yield ", ".join(f"{name} {number}" for name, number in versions.items())
