public import FoundationEssentials
import InflightConcurrency

extension ImagePipeline {
    /// Fetches a file and writes its bytes, as received, to a local file, which is replaced at once if it exists. The
    /// bytes are not decoded.
    ///
    /// ```swift
    /// try await pipeline.download("https://example.org/cat.jpg", to: URL(filePath: "cat.jpg"))
    /// ```
    ///
    /// A body of more than a few megabytes is written while it is received, into a file of the same folder that has no
    /// name yet, and is not kept in the store. So the memory stays the same, whatever
    /// ``ImageRequest/Limits/maximumBodyBytes`` allows. If the download fails or is cancelled, or the process ends,
    /// nothing is left, and an existing file is unchanged.
    ///
    /// Loads of the same bytes share the fetch. If one of them wants them in memory, they are read into memory once.
    /// Cancelling the surrounding task cancels this load; jobs with other subscribers continue.
    ///
    /// - Parameters:
    ///   - request: the request. Its size and processors are ignored.
    ///   - file: a `file` URL. The folder must exist. An existing file keeps its permissions.
    ///   - earlier: the head of the response that the file has the body of. Its `ETag` or `Last-Modified` is sent along
    ///     (RFC 9110 section 13.1), so that an unchanged body is not sent again. Ignored if there is no file.
    ///   - requiresImage: whether a body that is not a whole image fails. Its structure is checked, not its pixels. It
    ///     is held in memory for that.
    /// - Returns: the response, whose ``LoadedResponse/body`` is empty, because it is in the file; nil if nothing has
    ///   changed since `earlier`, and nothing was written.
    /// - Throws: the error of the load; with `requiresImage`, ``LoadError/Code/notAnImage``,
    ///   ``LoadError/Code/truncated`` or ``LoadError/Code/damaged``; ``LoadError/Code/cannotWrite``, before a request
    ///   is sent if the folder does not exist or is read-only, and later if the disk is full;
    ///   ``LoadError/Code/cancelled`` if the surrounding task is cancelled.
    @discardableResult
    public func download(
        _ request: ImageRequest, to file: URL, ifChangedSince earlier: ResponseHead? = nil,
        requiresImage: Bool = false
    ) async throws(LoadError) -> LoadedResponse? {
        let path = try Self.writablePath(file)
        var request = request
        if requiresImage { request.expectsImage = true } else { request.downloadFolder = SpillFile.folder(of: path) }
        let condition = FileManager.default.fileExists(atPath: path) ? earlier.flatMap(Self.condition) : nil
        if let condition { request.fields[condition.name] = condition.value }
        var response: LoadedResponse
        do throws(LoadError) {
            response = try await wantedResponse(for: request)
        } catch {
            if error.status == 304, condition != nil { return nil }
            throw error
        }
        try await write(response, to: path, after: requiresImage ? engine.codecs(named: request.decoder) : nil)
        (response.body, response.file) = (.empty, nil)
        return response
    }

    /// Fetches a URL and writes its bytes to a local file. Equivalent to
    /// ``download(_:to:ifChangedSince:requiresImage:)-(ImageRequest,_,_,_)`` with its
    /// ``ImageRequestConvertible/imageRequest``.
    @discardableResult
    public func download(
        _ request: some ImageRequestConvertible, to file: URL, ifChangedSince earlier: ResponseHead? = nil,
        requiresImage: Bool = false
    ) async throws(LoadError) -> LoadedResponse? {
        try await download(request.imageRequest, to: file, ifChangedSince: earlier, requiresImage: requiresImage)
    }

    /// Returns the path of a file, if its folder takes files.
    private static func writablePath(_ file: URL) throws(LoadError) -> String {
        guard file.isFileURL else {
            throw LoadError(
                .cannotWrite, stage: .store, message: "Cannot write to \(file.absoluteString): it is not a file URL.")
        }
        do throws(PosixError) {
            _ = try SpillFile(forDownloadsTo: SpillFile.folder(of: file.path))
        } catch {
            throw .cannotWrite(to: file.path, error)
        }
        return file.path
    }

    /// The header field that asks for another response than one with this head; nil if it has no validator.
    private static func condition(on head: ResponseHead) -> (name: String, value: String)? {
        if let tag = head.fields["etag"] { return ("If-None-Match", tag) }
        return head.fields["last-modified"].map { ("If-Modified-Since", $0) }
    }

    /// Writes the body to a file, on one of the decoding threads, which may block.
    ///
    /// - Parameter codecs: those that check whether the body is an image; nil for no check.
    private func write(
        _ response: LoadedResponse, to path: String, after codecs: CodecRegistry?
    ) async throws(LoadError) {
        if Task.isCancelled { throw .cancelled(url: response.url, stage: .store) }
        let result = await ValueBridge<Result<Void, LoadError>>.value { [engine] bridge in
            engine.workers.run {
                let result = Result { () throws(LoadError) in
                    do throws(LoadError) {
                        _ = try codecs?.validate(response.body)
                    } catch {
                        throw error.about(url: response.url)
                    }
                    do throws(PosixError) {
                        try response.publishBody(at: path)
                    } catch {
                        throw .cannotWrite(to: path, error)
                    }
                }
                bridge.open(with: result)
            }
        }
        try result.get()
    }
}

extension LoadedResponse {
    fileprivate func publishBody(at path: String) throws(PosixError) {
        if let file { return try file.file.publish(file.count, at: path, copies: file.isShared) }
        let file = try SpillFile(forDownloadsTo: SpillFile.folder(of: path))
        try file.write(body, at: 0)
        try file.publish(body.count, at: path, copies: false)
    }
}

extension LoadError {
    static func cannotWrite(to path: String, _ error: PosixError) -> LoadError {
        LoadError(
            .cannotWrite, stage: .store,
            message: "Cannot write to \(path): \(error.text). Check the folder and the disk.", underlying: error)
    }
}
