extension ImagePipeline {
    /// One log event, for ``ImagePipeline/Configuration/log``.
    public struct LogEntry: Sendable, Hashable, CustomStringConvertible {
        public enum Level: Int, Sendable, Hashable, Comparable, CaseIterable {
            /// Each step of each job.
            case trace
            /// Each exchange and its end.
            case debug
            /// Events of interest to a program's owner, such as a repeated request or one that continues elsewhere.
            case notice
            /// A load failed.
            case error

            public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
        }

        public let level: Level
        /// The message, constant for each kind of event. Details are in `fields`.
        public let message: String
        /// The details, in a fixed order. URLs are without credentials, and values contain no control characters.
        public let fields: [(name: String, value: String)]

        init(_ level: Level, _ message: String, _ fields: [(name: String, value: String)]) {
            self.level = level
            self.message = message
            self.fields = fields.map { field in
                let scalars = field.value.unicodeScalars.filter { $0.properties.generalCategory != .control }
                return (field.name, String(String.UnicodeScalarView(scalars)))
            }
        }

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
