/// The reason why a load failed.
///
/// The message says what happened and what to do about it. URLs in it carry no credentials.
public struct LoadError: Error, Sendable {
    /// The kind of failure: an open set, so switch over it with a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String

        /// Creates a code, for failures that this library does not define.
        ///
        /// - Parameter rawValue: the name, which appears in logs and messages. Codes with equal names are equal.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }
    }

    /// The stage of a load that failed: an open set, so switch over it with a `default`.
    public struct Stage: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String

        /// Creates a stage, for failures outside the stages that this library defines.
        ///
        /// - Parameter rawValue: the name, which appears in logs and messages. Stages with equal names are equal.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        /// The request itself: it is invalid, was not admitted, or was cancelled or shut down as a whole.
        public static let request = Stage(rawValue: "request")
        /// Fetching the bytes.
        public static let fetch = Stage(rawValue: "fetch")
        /// Decoding or inspecting the bytes.
        public static let decode = Stage(rawValue: "decode")
        /// Processing the pixels.
        public static let process = Stage(rawValue: "process")
        /// Encoding the pixels.
        public static let encode = Stage(rawValue: "encode")
        /// Writing a file, or using the disk cache.
        public static let store = Stage(rawValue: "store")
    }

    // One reference, so that results and errors stay small when millions of them are moved.
    private final class Storage: Sendable {
        let code: Code
        let stage: Stage
        let url: String?
        let message: String
        let status: Int?
        let underlying: (any Error)?

        init(code: Code, stage: Stage, url: String?, message: String, status: Int?, underlying: (any Error)?) {
            self.code = code
            self.stage = stage
            self.url = url
            self.message = message
            self.status = status
            self.underlying = underlying
        }
    }

    private let storage: Storage

    /// Creates an error, for example in a transport, a codec, a source or a hook.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - stage: the stage that failed.
    ///   - url: the requested URL, which must not contain a user name or password; nil if it is not known.
    ///   - message: one or two sentences for people: what happened, and what to do about it.
    ///   - status: the status of the HTTP response that caused the failure; nil if none did.
    ///   - underlying: the error that caused this one, if any.
    public init(
        _ code: Code, stage: Stage, url: String? = nil, message: String, status: Int? = nil,
        underlying: (any Error)? = nil
    ) {
        storage = Storage(
            code: code, stage: stage, url: url, message: message, status: status, underlying: underlying)
    }

    /// The kind of failure.
    public var code: Code { storage.code }
    /// Whether the load was cancelled: by `ImageTask.cancel()`, with its surrounding Swift task, or by its loader.
    /// Such an error is not a `CancellationError`, and is usually not shown to people.
    public var isCancellation: Bool { code == .cancelled }
    /// The stage of the load that failed.
    public var stage: Stage { storage.stage }
    /// The requested URL, without user name and password; nil if the error concerns no URL.
    public var url: String? { storage.url }
    /// What happened and what to do, in one sentence or two, for people.
    public var message: String { storage.message }
    /// The status of the HTTP response that caused the failure; nil if none did.
    public var status: Int? { storage.status }
    /// The error that caused this one, if any: for example the error that a hook of the program threw.
    public var underlying: (any Error)? { storage.underlying }

    /// Returns the same error with `url`, if it does not name a URL yet.
    public func about(url: String) -> LoadError {
        guard storage.url == nil else { return self }
        return LoadError(
            code, stage: stage, url: url, message: message, status: status, underlying: underlying)
    }
}

extension LoadError {
    /// Returns the error for a lack of file descriptors.
    package static func tooManyOpenFiles(_ stage: Stage, url: String? = nil) -> LoadError {
        LoadError(
            .tooManyOpenFiles, stage: stage, url: url,
            message: "Too many open files in this process. Load fewer images at once, or raise the limit (ulimit -n).")
    }
}

extension Error {
    /// This error as one of the engine's, or nil: for a `catch` without a type.
    ///
    /// ```swift
    /// } catch { show(error.loadError?.message ?? "\(error)") }
    /// ```
    public var loadError: LoadError? { self as? LoadError }
}

extension LoadError: CustomStringConvertible {
    public var description: String {
        let place = url.map { " \($0):" } ?? ""
        return "\(code) (\(stage)):\(place) \(message)"
    }
}

extension LoadError {
    package static func cancelled(url: String?, stage: Stage) -> LoadError {
        LoadError(.cancelled, stage: stage, url: url, message: "The load was cancelled.")
    }
}

extension LoadError.Code {
    /// The caller cancelled, or the surrounding task was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The text is not a valid absolute URL, or the data in a `data:` URL cannot be decoded.
    public static let invalidURL = Self(rawValue: "invalidURL")
    /// No transport of this pipeline serves the URL's scheme.
    public static let unsupportedScheme = Self(rawValue: "unsupportedScheme")
    /// The request or the configuration is invalid, for example a size of zero.
    public static let invalidRequest = Self(rawValue: "invalidRequest")
    /// The pipeline has as many loads as `ImagePipeline.Configuration.maximumQueuedTasks` allows.
    public static let overloaded = Self(rawValue: "overloaded")
    /// The request's `deadline` has passed before the result was known.
    public static let deadlineExceeded = Self(rawValue: "deadlineExceeded")
    /// The pipeline was shut down.
    public static let shutDown = Self(rawValue: "shutDown")

    /// The name did not resolve, the connection was refused, or it was lost before any response.
    public static let cannotConnect = Self(rawValue: "cannotConnect")
    /// The address policy allows none of the host's addresses.
    public static let addressNotAllowed = Self(rawValue: "addressNotAllowed")
    /// Connections to the origin failed several times in a row, so this load was not sent. The message names the origin
    /// and the time of the next attempt. See `ImagePipeline.CircuitBreaker`.
    public static let originUnavailable = Self(rawValue: "originUnavailable")
    /// A connection that an earlier request had opened was lost, or the server refused an HTTP/2 stream, before the
    /// response began. Another attempt may work.
    public static let connectionLost = Self(rawValue: "connectionLost")
    /// The process may open no more files and sockets (`ulimit -n`).
    public static let tooManyOpenFiles = Self(rawValue: "tooManyOpenFiles")
    /// The server's certificate is not trusted, or the TLS handshake failed.
    public static let untrusted = Self(rawValue: "untrusted")
    /// Connecting, a stall, the whole load, or its decoding exceeded a time limit, or the transfer was too slow.
    public static let timedOut = Self(rawValue: "timedOut")
    /// The response is malformed, or its content coding cannot be decoded.
    public static let badResponse = Self(rawValue: "badResponse")
    /// The status says that the body is not the requested resource. See ``LoadError/status``.
    public static let badStatus = Self(rawValue: "badStatus")
    /// Too many redirects, a loop, a redirect without a target, or one to a URL that is not allowed.
    public static let badRedirect = Self(rawValue: "badRedirect")
    /// The body ended before its announced length, or the connection was lost in its middle. Over HTTP/2 also: it was
    /// longer, or the response was malformed.
    public static let truncated = Self(rawValue: "truncated")
    /// The body is longer than the limit, before or after its content coding is decoded.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// No usable response is cached, and network access is disabled.
    public static let notStored = Self(rawValue: "notStored")
    /// A local file or the disk cache does not exist or cannot be read.
    public static let cannotRead = Self(rawValue: "cannotRead")

    /// The hook `ImagePipeline.Configuration.didReceive` refused the response.
    public static let refused = Self(rawValue: "refused")
    /// Code of the program failed: a hook, or a source.
    public static let extensionFailed = Self(rawValue: "extensionFailed")

    /// The bytes are not an image.
    public static let notAnImage = Self(rawValue: "notAnImage")
    /// The image's format is known, but no codec of this pipeline reads or writes it.
    public static let unsupportedFormat = Self(rawValue: "unsupportedFormat")
    /// The image is truncated or corrupt, or the body does not match `ImageRequest.checksum`.
    public static let damaged = Self(rawValue: "damaged")
    /// The image's header declares more pixels than the limit, or there is not enough memory for its pixels.
    public static let tooManyPixels = Self(rawValue: "tooManyPixels")
    /// Decoding the image would take more memory than the limit.
    public static let tooMuchMemory = Self(rawValue: "tooMuchMemory")
    /// The decoder process crashed, was killed, or broke its protocol. Nothing else is affected.
    public static let decoderCrashed = Self(rawValue: "decoderCrashed")
    /// The decoder program does not exist, or cannot be started.
    public static let decoderUnavailable = Self(rawValue: "decoderUnavailable")
    /// The animation has more frames than the limit.
    public static let tooManyFrames = Self(rawValue: "tooManyFrames")
    /// The image cannot be encoded in the requested format.
    public static let cannotEncode = Self(rawValue: "cannotEncode")
    /// A file or folder cannot be written, or the disk is full.
    public static let cannotWrite = Self(rawValue: "cannotWrite")
}
