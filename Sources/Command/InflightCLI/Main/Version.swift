import InflightCurl

/// The version of the command and of the library that it is part of.
enum Version {
    static let number = CurlTransport.version
    static let text = "inflight \(number)"
    /// The date of that version, which its man pages carry. `Scripts/check-files.py` compares it with `CHANGELOG.md`.
    static let date = "November 24, 2026"
}
