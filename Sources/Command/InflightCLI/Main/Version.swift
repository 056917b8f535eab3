/// The version of the command and of the library that it is part of.
enum Version {
    static let text = "inflight 0.1.0"
    /// The date of that version, which its man pages carry.
    static let date = "November 23, 2026"
}
