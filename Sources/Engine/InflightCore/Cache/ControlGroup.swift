/// The memory settings of this process's Linux control group. On other systems there is none.
///
/// Source: the kernel's `cgroup-v2.rst`, `cgroup-v1/memory.rst`, `proc_pid_mountinfo(5)`.
struct ControlGroup: Sendable {
    /// The lowest limit of the group and its ancestors, in bytes; nil if there is none.
    let memoryLimit: Int?
    /// The file for watching the group's memory stalls, if the group is of version 2.
    let pressureFile: String?

    /// The control group of this process, determined once.
    static let current = ControlGroup { SystemFile.read($0, limit: 1 << 20) }

    /// - Parameter read: returns the text of a file, or nil if it cannot be read.
    init(read: (String) -> String?) {
        guard let groups = read("/proc/self/cgroup"), let mounts = read("/proc/self/mountinfo") else {
            self.init(memoryLimit: nil, pressureFile: nil)
            return
        }
        var limits: [Int] = []
        var pressureFile: String?
        for mount in Self.mounts(in: mounts) {
            guard let path = Self.path(in: groups, version: mount.version),
                let directory = mount.directory(of: path)
            else { continue }
            let (file, root) = (mount.version == .two ? "memory.max" : "memory.limit_in_bytes", mount.point)
            limits += Self.ancestors(of: directory, upTo: root).compactMap { directory in
                // `max`, and everything else that is not a number, means no limit.
                read("\(directory)/\(file)").flatMap { Int($0.prefix { !$0.isWhitespace }) }
            }
            if mount.version == .two { pressureFile = "\(directory)/memory.pressure" }
        }
        self.init(memoryLimit: limits.filter { $0 > 0 }.min(), pressureFile: pressureFile)
    }

    private init(memoryLimit: Int?, pressureFile: String?) {
        self.memoryLimit = memoryLimit
        self.pressureFile = pressureFile
    }

    private enum Version {
        case one, two
    }

    private struct Mount {
        var version: Version
        /// The mounted group, and the mount point.
        var root: Substring
        var point: Substring

        /// Returns the folder with the files of the group at `path`, or nil if it is not below this mount.
        func directory(of path: Substring) -> String? {
            // A group above the namespace's root is not visible.
            guard !path.hasPrefix("/..") else { return nil }
            if root == "/" { return path == "/" ? String(point) : "\(point)\(path)" }
            guard path.hasPrefix(root) else { return nil }
            let rest = path.dropFirst(root.count)
            return rest.isEmpty || rest.hasPrefix("/") ? "\(point)\(rest)" : nil
        }
    }

    /// Parses lines such as `36 35 98:0 /root /point rw,noatime shared:1 - cgroup2 cgroup2 rw`.
    private static func mounts(in text: String) -> [Mount] {
        text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            // A backslash begins an escaped character. No control group is mounted at such a path.
            guard fields.count > 4, let dash = fields.firstIndex(of: "-"), dash + 3 < fields.count,
                !line.contains("\\")
            else { return nil }
            let version: Version
            switch fields[dash + 1] {
            case "cgroup2": version = .two
            case "cgroup" where fields[dash + 3].split(separator: ",").contains("memory"): version = .one
            default: return nil
            }
            return Mount(version: version, root: fields[3], point: fields[4])
        }
    }

    /// Returns the path in lines such as `4:memory:/path` (version 1) and `0::/path` (version 2).
    private static func path(in text: String, version: Version) -> Substring? {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[2].hasPrefix("/") else { continue }
            switch version {
            case .one where fields[1].split(separator: ",").contains("memory"): return fields[2]
            case .two where fields[0] == "0" && fields[1].isEmpty: return fields[2]
            default: continue
            }
        }
        return nil
    }

    /// Returns `directory` and its ancestors up to `root`, at most 64 in all.
    private static func ancestors(of directory: String, upTo root: Substring) -> [String] {
        var result: [String] = []
        var directory = directory[...]
        while result.count < 64 {
            result.append(String(directory))
            guard directory.count > root.count, let slash = directory.lastIndex(of: "/") else { break }
            directory = directory[..<slash]
        }
        return result
    }
}
