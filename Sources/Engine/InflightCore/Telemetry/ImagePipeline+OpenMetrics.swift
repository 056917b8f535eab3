extension ImagePipeline.Statistics {
    /// Returns the counters, and those of metrics with their histograms, in the text format of OpenMetrics 1.0, which
    /// Prometheus reads.
    ///
    /// Serve the text by HTTP as `application/openmetrics-text; version=1.0.0; charset=utf-8`. It ends with `# EOF`.
    /// Names begin with `inflight_`. Sizes are in bytes and durations in seconds, as the names say. The article
    /// Telemetry lists them.
    ///
    /// - Thread: any. A function of its arguments, which takes no lock.
    ///
    /// - Parameters:
    ///   - metrics: the metrics of the same pipeline, from its ``ImagePipeline/Observer``; nil leaves out what they
    ///     add.
    ///   - labels: labels of every sample, such as `["pipeline": "avatars"]` if a program has several pipelines. Values
    ///     may be any text. A name that the format does not allow traps: names consist of ASCII letters, digits and
    ///     underscores, do not begin with a digit, and are none of `source`, `code`, `lane` and `le`.
    public func openMetrics(
        with metrics: ImagePipeline.Metrics? = nil, labels: [String: String] = [:]
    ) -> String {
        var text = OpenMetricsText(labels: labels)
        add(to: &text)
        metrics?.add(to: &text)
        return text.ended
    }

    private func add(to text: inout OpenMetricsText) {
        text.counter("tasks", "Tasks that waited for a job.", tasks)
        text.counter("coalesced_tasks", "Tasks that were coalesced with a job in flight.", coalescedTasks)
        text.counter("exchanges", "Slots of the fetch lane that were put to use.", exchanges)
        let sources = Set(Self.knownSources).union(successes.keys).map { ($0.rawValue, successes[$0] ?? 0) }
        text.counters("successes", "Successful loads by source.", by: "source", sources)
        text.counters(
            "failures", "Failed loads by error code.", by: "code", failures.map { ($0.key.rawValue, $0.value) })
        text.counter("cancelled_loads", "Loads that were cancelled before their delivery.", cancelledLoads)
        text.counter(
            "saved_by_sharing_bytes", "Bytes of bodies that coalescing saved.", bytesSavedBySharing, unit: "bytes")
        text.gauge("tasks_in_flight", "Tasks that wait for a job.", tasksInFlight)
        text.gauge("jobs_in_flight", "Jobs that are queued or running, or have not stopped yet.", jobsInFlight)
        text.gauges("waiting_jobs", "Jobs that wait for a slot, by lane.", by: "lane", waiting.byName)
        text.gauges("running_jobs", "Jobs that have a slot, by lane.", by: "lane", running.byName)
        text.gauge(
            "in_flight_body_bytes", "Bytes of bodies in flight that are in memory.", bodyBytesInFlight,
            unit: "bytes")
        text.gauge("paused_transfers", "Transfers that are paused until memory is released.", pausedTransfers)
    }
}

extension ImagePipeline.Metrics {
    fileprivate func add(to text: inout OpenMetricsText) {
        text.gauge("loads_in_flight", "Loads whose result has not been delivered.", loadsInFlight)
        text.counter("requests", "Requests handed to transports.", exchanges)
        text.counter("retries", "Retries after transient failures.", retries)
        text.counter("wire_bytes", "Bytes of bodies on the wire.", wireBytes, unit: "bytes")
        text.counter("store_read_bytes", "Bytes read from the store.", storedBytesRead, unit: "bytes")
        text.sizes("body_size_bytes", "Sizes of bodies.", bodySizes)
        text.times("queue_time_seconds", "Times that jobs were queued for a slot.", queueTimes)
        text.times("first_byte_time_seconds", "Times from a request to the head of its response.", firstByteTimes)
        text.times("fetch_time_seconds", "Times from a request to the end of its exchange.", fetchTimes)
        text.times("decode_time_seconds", "Running times of decodes and processors.", decodeTimes)
        text.times("load_time_seconds", "Times from a load's start until its result is known.", totalTimes)
        text.times("delivery_time_seconds", "Times from a result being known to its delivery.", deliveryTimes)
    }
}

extension [ImagePipeline.Event.Lane: Int] {
    fileprivate var byName: [(String, Int)] { map { ($0.key.rawValue, $0.value) } }
}

/// Metric families in the text format of OpenMetrics 1.0.
private struct OpenMetricsText {
    /// Upper bounds of the buckets of durations, in nanoseconds: from 100 µs to a minute.
    private static let timeBounds: [Int64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000,
        250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, 30_000_000_000,
        60_000_000_000,
    ]
    /// Upper bounds of the buckets of sizes: from 1 KiB to 64 MiB.
    private static let sizeBounds: [Int64] = (5...13).map { 1 << (2 * $0) }
    private static let reserved: Set<String> = ["source", "code", "lane", "le"]

    private let labels: [(name: String, value: String)]
    private var text = ""

    init(labels: [String: String]) {
        for name in labels.keys {
            precondition(Self.isValid(name) && !Self.reserved.contains(name), "a label must not be named \(name)")
        }
        self.labels = labels.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    var ended: String { text + "# EOF\n" }

    mutating func counter(_ name: String, _ help: String, _ value: some BinaryInteger, unit: String? = nil) {
        begin(name, "counter", help, unit)
        sample("\(name)_total", "\(value)")
    }

    mutating func counters(_ name: String, _ help: String, by label: String, _ values: [(String, Int)]) {
        begin(name, "counter", help)
        for (key, value) in values.sorted(by: { $0.0 < $1.0 }) { sample("\(name)_total", "\(value)", (label, key)) }
    }

    mutating func gauge(_ name: String, _ help: String, _ value: some BinaryInteger, unit: String? = nil) {
        begin(name, "gauge", help, unit)
        sample(name, "\(value)")
    }

    mutating func gauges(_ name: String, _ help: String, by label: String, _ values: [(String, Int)]) {
        begin(name, "gauge", help)
        for (key, value) in values.sorted(by: { $0.0 < $1.0 }) { sample(name, "\(value)", (label, key)) }
    }

    mutating func sizes(_ name: String, _ help: String, _ histogram: ImagePipeline.Histogram) {
        self.histogram(name, help, histogram, bounds: Self.sizeBounds, scale: 1, unit: "bytes")
    }

    mutating func times(_ name: String, _ help: String, _ histogram: ImagePipeline.Histogram) {
        self.histogram(name, help, histogram, bounds: Self.timeBounds, scale: 1_000_000_000, unit: "seconds")
    }

    private mutating func histogram(
        _ name: String, _ help: String, _ histogram: ImagePipeline.Histogram, bounds: [Int64], scale: Double,
        unit: String
    ) {
        begin(name, "histogram", help, unit)
        for (bound, count) in zip(bounds, histogram.cumulativeCounts(upTo: bounds)) {
            sample("\(name)_bucket", "\(count)", ("le", "\(Double(bound) / scale)"))
        }
        sample("\(name)_bucket", "\(histogram.count)", ("le", "+Inf"))
        sample("\(name)_count", "\(histogram.count)")
        sample("\(name)_sum", "\(Double(histogram.sum) / scale)")
    }

    private mutating func begin(_ name: String, _ type: String, _ help: String, _ unit: String? = nil) {
        text += "# TYPE inflight_\(name) \(type)\n"
        if let unit { text += "# UNIT inflight_\(name) \(unit)\n" }
        text += "# HELP inflight_\(name) \(help)\n"
    }

    private mutating func sample(_ name: String, _ value: String, _ own: (name: String, value: String)? = nil) {
        let all = (labels + [own].compactMap { $0 }).map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
        text += "inflight_\(name)\(all.isEmpty ? "" : "{\(all.joined(separator: ","))}") \(value)\n"
    }

    private static func isValid(_ name: String) -> Bool {
        let isLetter = { (byte: UInt8) in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
        }
        guard let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// A line feed within the pair CR LF, which is one character, is escaped too.
    private static func escaped(_ value: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\"": escaped.append(contentsOf: "\\\"".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
