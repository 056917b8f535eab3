import Testing

@testable import InflightCore

@Suite("Control group memory limit", .timeLimit(.minutes(10)))
struct ControlGroupTests {
    private func group(_ files: [String: String]) -> ControlGroup {
        ControlGroup { files[$0] }
    }

    @Test("In cgroup v2, the memory limit is the lowest of the group and its ancestors")
    func versionTwo() {
        let group = group([
            "/proc/self/cgroup": "0::/user.slice/app.scope\n",
            "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
            "/sys/fs/cgroup/user.slice/app.scope/memory.max": "max\n",
            "/sys/fs/cgroup/user.slice/memory.max": "536870912\n",
        ])
        #expect(group.memoryLimit == 536_870_912)
        #expect(group.pressureFile == "/sys/fs/cgroup/user.slice/app.scope/memory.pressure")
    }

    @Test("In a container, the files are those at the cgroup v2 mount point")
    func namespace() {
        let group = group([
            "/proc/self/cgroup": "0::/\n",
            "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            "/sys/fs/cgroup/memory.max": "1000000\n",
        ])
        #expect(group.memoryLimit == 1_000_000)
        #expect(group.pressureFile == "/sys/fs/cgroup/memory.pressure")
    }

    @Test("In cgroup v1, paths resolve below a mounted subtree, and there is no pressure file")
    func versionOne() {
        let group = group([
            "/proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc/inner\n0::/docker/abc\n",
            "/proc/self/mountinfo": """
            35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
            36 31 0:33 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
            """,
            "/sys/fs/cgroup/memory/inner/memory.limit_in_bytes": "9223372036854771712\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n",
        ])
        #expect(group.memoryLimit == 2_000_000)
        #expect(group.pressureFile == nil)
    }

    @Test(
        "Malformed cgroup and mountinfo files yield no limit",
        arguments: [
            ("", 1), ("garbage", 1), ("0::", 1), ("0::relative", 1), ("0::/../../else", 1), ("0::/a\u{0}b", 1),
            (":", 10_000), ("0::/a", 10_000), ("/a ", 10_000),
        ])
    func nonsense(text: String, times: Int) {
        let line = String(repeating: text, count: times)
        let mount = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n30 - - -\n- cgroup2\n \n"
        #expect(group(["/proc/self/cgroup": line, "/proc/self/mountinfo": mount]).memoryLimit == nil)
        #expect(group(["/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": line]).memoryLimit == nil)
    }

    @Test(
        "Invalid, zero or overflowing numbers mean no limit", arguments: ["", "-5", "0", "12x", "99999999999999999999"])
    func numbers(text: String) {
        let group = group([
            "/proc/self/cgroup": "0::/\n",
            "/proc/self/mountinfo": "30 23 0:26 / /c rw - cgroup2 cgroup2 rw\n", "/c/memory.max": text,
        ])
        #expect(group.memoryLimit == nil)
    }

    @Test("Without a control group, there is no limit and no pressure file")
    func none() {
        #expect(group([:]).memoryLimit == nil)
        #expect(group([:]).pressureFile == nil)
    }

    @Test("A file is read only up to the given limit, and a missing one yields nil")
    func boundedFile() {
        #expect(SystemFile.read("/dev/zero", limit: 100_000)?.utf8.count == 100_000)
        #expect(SystemFile.read("/proc/self/no-such-file", limit: 10) == nil)
    }

    @Test("The default limit of the memory cache is 15 % of memory, at most 768 MiB")
    func defaultLimit() {
        #expect(MemoryCacheConfiguration().limit == min(AvailableMemory.bytes / 100 * 15, 768 * 1024 * 1024))
        #expect(MemoryCacheConfiguration().limit > 0)
    }
}
