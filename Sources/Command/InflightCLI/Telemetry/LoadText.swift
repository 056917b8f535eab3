import Inflight

/// One load in words: the results of lookups, the requests, the shared jobs, and the duration of each stage.
struct LoadText: Sendable {
    var url: String
    var lines: [String]

    init(_ kept: RunRecordBuilder.EndedLoad) {
        url = kept.load.url
        lines = []
        guard let track = kept.track else { return }
        let words = track.words + track.jobs.flatMap(\.words)
        if !words.isEmpty { lines.append(words.joined(separator: "; ")) }
        let spans = track.spans(from: kept.load.start, to: kept.load.end)
        let times = RunRecord.Stage.allCases.compactMap { stage -> String? in
            let total = spans.filter { $0.stage == stage }.reduce(0) { $0 + $1.end - $1.start }
            return total > 0 ? "\(Self.name(stage)) \(Self.time(total))" : nil
        }
        if !times.isEmpty { lines.append("took \(times.joined(separator: ", "))") }
    }

    static func name(_ stage: RunRecord.Stage) -> String {
        switch stage {
        case .queued: "queued"
        case .disk: "disk"
        case .backoff: "backoff"
        case .nameLookup: "DNS"
        case .connect: "connect"
        case .tls: "TLS"
        case .firstByte: "first byte"
        case .download: "download"
        case .decode: "decode"
        case .process: "check"
        case .encode: "encode"
        case .store: "write"
        case .deliver: "deliver"
        }
    }

    /// Returns a time with tenths of a millisecond, because many stages take a fraction of one.
    static func time(_ microseconds: Int) -> String {
        if microseconds < 100 { return "\(microseconds) µs" }
        if microseconds < 10_000 { return "\(microseconds / 1000).\(microseconds / 100 % 10) ms" }
        return Quantity.time(.microseconds(microseconds))
    }
}
