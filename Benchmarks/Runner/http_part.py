"""Many small files over HTTP, beside a C program on libcurl and beside URLSession."""

import re
import shutil
import statistics
import subprocess
import urllib.request

from measure import in_turns, sample


def server_counts(bench):
    """The connections and requests that nginx has counted, without this request."""
    with urllib.request.urlopen(bench.plain + "/status") as answer:
        lines = answer.read().decode().splitlines()
    accepted, _, requests = map(int, lines[2].split())
    return accepted - 1, requests - 1


def counted(bench, measure):
    """Runs a measurement and adds the connections and requests that nginx counted during it."""
    connections, requests = server_counts(bench)
    value = measure()
    after = server_counts(bench)
    return value | {"connections": after[0] - connections - 1, "requests": after[1] - requests - 1}


def rate(samples):
    return [one["loads"] / one["seconds"] for one in samples]


def cpu(samples):
    """Microseconds per load."""
    return [one["cpu"] / one["loads"] * 1e6 for one in samples]


def faster_loop(peer, arguments, options):
    """The peer's faster event loop: epoll or curl_multi_poll, whichever needs less CPU time on this machine."""
    tries = in_turns(
        3,
        **{loop: lambda loop=loop: sample([peer, *arguments, loop, "plain", *options]) for loop in ("epoll", "poll")})
    return min(tries, key=lambda loop: statistics.median(one["cpu"] for one in tries[loop]))


def run(bench, table):
    ours, peer, session = bench.binary("HTTPSpeed"), bench.peer("http_multi"), bench.binary("URLSessionSpeed")
    count, at_once = bench.count, 64
    cases = [
        ("HTTP/1.1", bench.plain, [], [], "≥ 0.90"),
        ("TLS, HTTP/2", bench.tls, ["--cacert", bench.certificate], [bench.certificate], "≥ 0.85"),
    ]
    for name, base, our_options, peer_options, target in cases:
        loop = faster_loop(peer, [base, count, at_once], peer_options)
        both = in_turns(
            bench.rounds,
            ours=lambda: counted(bench, lambda: sample([ours, base, count, "--at-once", at_once, *our_options])),
            plain=lambda: counted(bench, lambda: sample([peer, base, count, at_once, loop, "plain", *peer_options])),
            same=lambda: counted(bench, lambda: sample([peer, base, count, at_once, loop, "same", *peer_options])),
        )
        own = both["ours"]
        for fields, wanted in [("plain", target), ("same", "")]:
            peer_name = f"C on libcurl, {loop}" + (", the same fields" if fields == "same" else "")
            other = both[fields]
            table.compare(f"{name}, {count:,} files: rate", "/s", rate(own), rate(other), peer_name, wanted)
            table.compare(
                f"{name}: CPU time per request", "µs", cpu(own), cpu(other), peer_name, "≤ 1.25" if wanted else "")
        connections = [f"{max(one['connections'] for one in both[side]):.0f}" for side in ("ours", "plain")]
        table.add(f"{name}: connections to nginx, maximum", connections[0], f"C on libcurl: {connections[1]}")

    both = in_turns(
        max(2, bench.rounds // 3),
        ours=lambda: sample([ours, bench.plain, count, "--at-once", at_once]),
        peer=lambda: sample([session, bench.plain, count, "--at-once", at_once]),
    )
    table.compare(
        "HTTP/1.1: rate", "/s", rate(both["ours"]), rate(both["peer"]), "URLSession", "≥ 8")
    table.compare("HTTP/1.1: CPU time per request", "µs", cpu(both["ours"]), cpu(both["peer"]), "URLSession")


def instructions(bench, program, *options):
    """The instructions of one more load over HTTP/1.1, outside the kernel, from the difference of two counts."""
    few, many = bench.count // 10, bench.count // 2
    # Valgrind cannot read the debug information of every compiler.
    copy = bench.folder / program.name
    subprocess.run(["strip", "--strip-debug", "-o", copy, program], check=True)

    def counted_by_callgrind(loads):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", copy, bench.plain, loads, *options]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])

    return (counted_by_callgrind(many) - counted_by_callgrind(few)) / (many - few)


def run_instructions(bench, table):
    """Counts the instructions of a load and of the peer's, which do not depend on the load of the machine."""
    what = "instructions per load over HTTP/1.1"
    if not shutil.which("valgrind"):
        table.add(what, "not measured: `valgrind` is not installed")
        return
    ours = instructions(bench, bench.binary("HTTPSpeed"), "--at-once", 64)
    for fields, target in ("plain", ""), ("same", "≤ 105,000 of ours"):
        peer = instructions(bench, bench.peer("http_multi"), 64, "epoll", fields)
        name = "C on libcurl" + (", the same fields" if fields == "same" else "")
        table.add(what, f"{ours:,.0f}", f"{name}: {peer:,.0f}", f"{ours / peer:.2f}", target)


def run_sharing(bench, table):
    """Compares twenty tasks for each URL with one. All tasks are enqueued before the first request is sent."""
    ours, count, tasks = bench.binary("HTTPSpeed"), bench.count, 20
    both = in_turns(
        bench.rounds,
        one=lambda: sample([ours, bench.plain, count, "--tasks", 1]),
        many=lambda: counted(bench, lambda: sample([ours, bench.plain, count, "--tasks", tasks])),
    )
    requests = sorted(one["requests"] for one in both["many"])
    table.add(
        f"{tasks} tasks for each of {count:,} URLs: requests sent",
        f"{statistics.median(requests):,.0f} ({requests[0]:,.0f} … {requests[-1]:,.0f})", target=f"{count:,}")
    extra = [
        (many["cpu"] - one["cpu"]) / (count * (tasks - 1)) * 1e6 for one, many in zip(both["one"], both["many"])
    ]
    table.alone("CPU time per coalesced task", "µs", extra, "< 3 µs")
