/// The source of bytes for an exchange that needs no network. Created and used by one thread at a time.
protocol LocalReader: AnyObject {
    var head: ResponseHead { get }
    /// The length of the body, if known.
    var length: Int64? { get }

    /// Reads the next bytes into the beginning of `room`.
    /// - Returns: the number of bytes read; 0 at the end.
    func read(into room: UnsafeMutableRawBufferPointer) throws(LoadError) -> Int
}

extension LoadError {
    /// Returns the error of a local exchange.
    static func local(_ code: Code, _ request: TransportRequest, _ message: String) -> LoadError {
        // A data: URL may be megabytes long. Its beginning is enough for an error.
        let url = request.url.string
        return LoadError(code, stage: .fetch, url: url.utf8.count > 256 ? url.prefix(80) + "…" : url, message: message)
    }
}
