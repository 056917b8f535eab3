import Inflight
import InflightCore

/// The facts about the loads, with a column for each fact; -1 if unknown.
struct LoadColumns {
    private var id = NumberColumn()
    private var url = NumberColumn()
    private var outcome = NumberColumn()
    private var from = NumberColumn()
    private var start = NumberColumn()
    private var length = NumberColumn()
    private var bytes = NumberColumn()
    private var status = NumberColumn()
    private var format = NumberColumn()
    private var width = NumberColumn()
    private var height = NumberColumn()
    private var file = NumberColumn()
    private var error = NumberColumn()
    private var spans = NumberColumn()
    private var marks = NumberColumn()

    mutating func append(_ load: RunRecord.Load, texts: inout TextTable, failures: inout FailureColumns) {
        id.append(difference: load.id)
        url.append(difference: texts.number(load.url))
        outcome.append(RunRecord.Load.Outcome.allCases.firstIndex(of: load.outcome) ?? 0)
        from.append(texts.number(load.from))
        start.append(difference: load.start)
        length.append(max(0, load.end - load.start))
        bytes.append(load.bytes.map(Int.init) ?? -1)
        status.append(load.status ?? -1)
        format.append(texts.number(load.format))
        width.append(load.width ?? -1)
        height.append(load.height ?? -1)
        file.append(texts.number(load.file))
        error.append(load.error.map { failures.number($0, texts: &texts) } ?? -1)
        spans.append(load.spans.count)
        marks.append(load.marks.count)
    }

    func add(to writer: inout JSONWriter) {
        for (name, column) in [
            ("id", id), ("url", url), ("outcome", outcome), ("from", from), ("start", start), ("length", length),
            ("bytes", bytes), ("status", status), ("format", format), ("width", width), ("height", height),
            ("file", file), ("error", error), ("spans", spans), ("marks", marks),
        ] {
            writer.add(name, plain: column.bytes)
        }
    }
}

/// The distinct failures.
struct FailureColumns {
    private var numbers: [RunRecord.Failure: Int] = [:]
    private var code = NumberColumn()
    private var stage = NumberColumn()
    private var message = NumberColumn()

    mutating func number(_ failure: RunRecord.Failure, texts: inout TextTable) -> Int {
        if let number = numbers[failure] { return number }
        let number = numbers.count
        numbers[failure] = number
        code.append(texts.number(failure.code))
        stage.append(texts.number(failure.stage))
        message.append(texts.number(failure.message))
        return number
    }

    func add(to writer: inout JSONWriter) {
        writer.add("code", plain: code.bytes)
        writer.add("stage", plain: stage.bytes)
        writer.add("message", plain: message.bytes)
    }
}

/// The jobs of the listed loads, numbered in the order in which loads first refer to them.
struct JobColumns {
    private var numbers: [Int: Int] = [:]
    private var kind = NumberColumn()
    private var subject = NumberColumn()
    private var start = NumberColumn()
    private var length = NumberColumn()
    private var waiters = NumberColumn()

    mutating func number(_ index: Int, _ job: RunRecord.Job, texts: inout TextTable) -> Int {
        if let number = numbers[index] { return number }
        let number = numbers.count
        numbers[index] = number
        kind.append(RunRecord.Job.Kind.allCases.firstIndex(of: job.kind) ?? 0)
        // A job with a single load needs no subject, because the load identifies it.
        subject.append(job.waiters > 1 ? texts.number(job.subject) : -1)
        start.append(difference: job.start)
        length.append(max(0, job.end - job.start))
        waiters.append(job.waiters)
        return number
    }

    func add(to writer: inout JSONWriter) {
        writer.add("jobs") { jobs in
            jobs.add("kind", plain: kind.bytes)
            jobs.add("subject", plain: subject.bytes)
            jobs.add("start", plain: start.bytes)
            jobs.add("length", plain: length.bytes)
            jobs.add("waiters", plain: waiters.bytes)
        }
    }
}

/// The distinct thumbnails of the first loads, as many as fit into the page.
struct ThumbnailColumns {
    private var loads = NumberColumn()
    /// The index in ``pictures`` for each of those loads.
    private var numbers = NumberColumn()
    private var pictures: [String] = []

    /// - Parameter room: The maximum number of bytes that they take in the page.
    init(_ all: [RunRecord.Load], room: Int) {
        var left = room - 64
        var known: [[UInt8]: Int] = [:]
        for (index, load) in all.enumerated() {
            guard let bytes = load.thumbnail, let type = Self.mediaType(bytes) else { continue }
            let number = known[bytes] ?? pictures.count
            // Two numbers; for a new one also base64, its prefix, quotation marks and comma.
            let cost = 8 + (number == pictures.count ? (bytes.count + 2) / 3 * 4 + 32 : 0)
            guard cost <= left else { continue }
            left -= cost
            loads.append(difference: index)
            numbers.append(difference: number)
            guard number == pictures.count else { continue }
            known[bytes] = number
            pictures.append("data:\(type);base64,\(Base64.encoded(bytes))")
        }
    }

    func add(to writer: inout JSONWriter) {
        writer.add("loads", plain: loads.bytes)
        writer.add("numbers", plain: numbers.bytes)
        writer.add("pictures", pictures)
    }

    /// Returns the media type for the first bytes, or `nil` if this program's encoders cannot have written them.
    private static func mediaType(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return "image/webp"
        }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        return bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) ? "image/png" : nil
    }
}

/// Reduces the samples of a value that changes with time, evenly over the whole time.
enum Thinning {
    /// Returns the last sample of each interval, and the busiest one.
    static func lane(_ samples: [RunRecord.Lane.Sample], to most: Int) -> [RunRecord.Lane.Sample] {
        guard samples.count > most, let end = samples.last?.at else { return samples }
        var result: [RunRecord.Lane.Sample] = []
        var rest = samples[...]
        let parts = max(1, most / 2)
        for part in 1...parts {
            let until = part == parts ? Int.max : end / parts * part
            let those = rest.prefix { $0.at <= until }
            rest = rest.dropFirst(those.count)
            guard let last = those.indices.last else { continue }
            let busiest = those.indices.max { one, other in
                (those[one].running + those[one].waiting) < (those[other].running + those[other].waiting)
            }
            if let busiest, busiest != last { result.append(those[busiest]) }
            result.append(those[last])
        }
        return result
    }

    /// Returns the last sample of each interval: the bytes received by then.
    static func bytes(_ samples: [RunRecord.BytesSample], to most: Int) -> [RunRecord.BytesSample] {
        guard samples.count > most, let end = samples.last?.at else { return samples }
        var result: [RunRecord.BytesSample] = []
        var part = -1
        for sample in samples {
            let own = end <= 0 ? 0 : sample.at * most / (end + 1)
            if own == part { result.removeLast() }
            part = own
            result.append(sample)
        }
        return result
    }
}
