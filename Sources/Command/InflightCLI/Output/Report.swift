import Inflight

/// The result of one requested URL.
struct Report: Sendable {
    enum Outcome: String, Sendable {
        case ok, failed, skipped
    }

    struct Picture: Equatable, Sendable {
        var format: ImageFormat
        var width: Int
        var height: Int
    }

    var outcome: Outcome
    /// The path of the file, as seen from the working directory.
    var file: String?
    /// The written image; with `--discard`, the source image.
    var picture: Picture?
    var source: Picture?
    /// The size of the body in bytes, after content decoding.
    var bytes: Int64?
    /// The size of the body in bytes, before content decoding.
    var wireBytes: Int64?
    var status: Int?
    /// The source of the bytes: `network`, `disk`, `revalidated`, `shared`, `memory`, `file`, `data`.
    var from: LoadSource?
    /// The final URL, if there were redirects.
    var finalURL: String?
    /// Whether only a part of the image could be decoded.
    var isIncomplete = false
    /// The paths of the progressive previews, as seen from the working directory.
    var previews: [String] = []
    var error: LoadError?

    static func failure(_ error: LoadError) -> Report {
        Report(outcome: .failed, status: error.status, error: error)
    }

    /// Returns the part that is the same for every request of this URL.
    ///
    /// - Parameter withMembers: Whether lines of JSON are written.
    func digest(withMembers: Bool) -> Digest {
        Digest(
            outcome: outcome, hasSource: from != nil,
            failure: error.map(Digest.Failure.init), members: withMembers ? members : [])
    }

    private var members: [UInt8] {
        var members = JSONWriter()
        if let file { members.add("file", file) }
        if let picture {
            members.add("format", picture.format.rawValue)
            members.add("width", picture.width)
            members.add("height", picture.height)
        }
        if let bytes { members.add("bytes", bytes) }
        if let wireBytes { members.add("wireBytes", wireBytes) }
        if let status { members.add("status", status) }
        if let source {
            members.add("sourceFormat", source.format.rawValue)
            members.add("sourceWidth", source.width)
            members.add("sourceHeight", source.height)
        }
        if let finalURL { members.add("finalURL", finalURL) }
        if isIncomplete { members.add("incomplete", true) }
        if !previews.isEmpty { members.add("previews", previews) }
        if let error {
            members.add(error)
        }
        return members.members
    }

    /// The part of a report that is remembered for later requests of the same URL.
    struct Digest: Equatable, Sendable {
        struct Failure: Hashable, Sendable, CustomStringConvertible {
            var code: String
            /// The HTTP status, if that is the failure.
            var status: Int?

            init(code: String, status: Int? = nil) {
                self.code = code
                self.status = status
            }

            /// The class as in `inflight batch`: the code, or `http_404` for a status.
            var description: String { status.map { "http_\($0)" } ?? code }

            init(_ error: LoadError) {
                self.init(code: error.code.rawValue, status: error.code == .badStatus ? error.status : nil)
            }
        }

        var outcome: Outcome
        /// Whether bytes were obtained, so that a repeated request shares them.
        var hasSource: Bool
        var failure: Failure?
        /// The members of the JSON line.
        var members: [UInt8]
    }
}

extension Report.Digest {
    /// Returns the line for one requested URL.
    func line(url: String, from: String?, milliseconds: Int) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("url", url)
        writer.add("outcome", outcome.rawValue)
        writer.add(members: members)
        if let from { writer.add("from", from) }
        writer.add("ms", milliseconds)
        return writer.line
    }

    var encoded: [UInt8] {
        let status = UInt16(clamping: failure?.status ?? 0)
        let code = (failure?.code ?? "").utf8.prefix(255)
        var bytes: [UInt8] = [
            outcome == .ok ? 0 : outcome == .failed ? 1 : 2, hasSource ? 1 : 0,
            UInt8(status >> 8), UInt8(status & 0xFF), UInt8(code.count),
        ]
        bytes += code
        bytes += members
        return bytes
    }

    init?(encoded bytes: [UInt8]) {
        guard bytes.count >= 5, bytes[0] <= 2, bytes.count >= 5 + Int(bytes[4]) else { return nil }
        outcome = [.ok, .failed, .skipped][Int(bytes[0])]
        hasSource = bytes[1] == 1
        let code = String(decoding: bytes[5..<5 + Int(bytes[4])], as: UTF8.self)
        let status = Int(bytes[2]) << 8 | Int(bytes[3])
        failure = code.isEmpty ? nil : Failure(code: code, status: status == 0 ? nil : status)
        members = Array(bytes[(5 + Int(bytes[4]))...])
    }
}

extension JSONWriter {
    /// Adds the member `error`.
    mutating func add(_ error: LoadError) {
        add("error") { inner in
            inner.add("code", error.code.rawValue)
            inner.add("stage", error.stage.rawValue)
            inner.add("message", error.commandMessage)
        }
    }
}
