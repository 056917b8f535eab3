/// Where an exchange that needs no network takes its bytes from. Made and used by one thread at a time.
protocol LocalReader: AnyObject {
    var head: ResponseHead { get }
    /// How long the body is, where that is known.
    var length: Int64? { get }

    /// Fills the beginning of `room` with the next bytes.
    /// - Returns: how many there are; 0 at the end.
    func read(into room: UnsafeMutableRawBufferPointer) throws(LoadError) -> Int
}

extension LoadError {
    /// What a local exchange ends with.
    static func local(_ code: Code, _ request: TransportRequest, _ message: String) -> LoadError {
        // A data: URL may be megabytes long; in an error its beginning tells enough.
        let url = request.url.string
        return LoadError(code, stage: .fetch, url: url.utf8.count > 256 ? url.prefix(80) + "…" : url, message: message)
    }
}
