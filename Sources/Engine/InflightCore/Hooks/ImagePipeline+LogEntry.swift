extension ImagePipeline {
    /// One log entry, for ``ImagePipeline/Configuration/log``: a level, a message and details.
    public struct LogEntry: Sendable, Hashable, CustomStringConvertible {
        /// The importance of a log entry, in ascending order.
        public enum Level: Int, Sendable, Hashable, Comparable, CaseIterable {
            /// Every load that subscribes to a job.
            case trace
            /// Normal operation: exchanges, redirects, cache hits, and the ends of jobs.
            case debug
            /// Events of interest to a program's owner, such as a retry, a load that continues with a fallback, or an
            /// image that is not kept in memory.
            case notice
            /// Failures: a job failed, a processed image could not be stored, or the disk cache cannot be used.
            case error

            public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
        }

        /// The importance of the entry.
        public let level: Level
        /// The message, constant for each kind of entry. Details are in ``fields``.
        public let message: String
        /// The details, in a fixed order. URLs are without credentials, and values contain no control characters.
        public let fields: [(name: String, value: String)]

        package init(_ level: Level, _ message: String, _ fields: [(name: String, value: String)] = []) {
            self.level = level
            self.message = message
            self.fields = fields.map { field in
                let scalars = field.value.unicodeScalars.filter { $0.properties.generalCategory != .control }
                return (field.name, String(String.UnicodeScalarView(scalars)))
            }
        }

        /// The value of the first detail with this name, compared exactly; nil if there is none.
        public subscript(name: String) -> String? {
            fields.first { $0.name == name }?.value
        }

        public var description: String {
            ([message] + fields.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
        }

        public static func == (left: LogEntry, right: LogEntry) -> Bool {
            left.level == right.level && left.message == right.message
                && left.fields.elementsEqual(right.fields) { $0 == $1 }
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(level)
            hasher.combine(message)
            for field in fields {
                hasher.combine(field.name)
                hasher.combine(field.value)
            }
        }
    }
}

/// The program's log hook, if any. Without one, the fields of entries are not built.
struct Log: Sendable {
    let hook: (@Sendable (ImagePipeline.LogEntry) -> Void)?

    @inline(__always)
    func callAsFunction(
        _ level: ImagePipeline.LogEntry.Level, _ message: String, _ fields: () -> [(name: String, value: String)]
    ) {
        guard let hook else { return }
        hook(ImagePipeline.LogEntry(level, message, fields()))
    }
}
