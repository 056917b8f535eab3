/// Why a load did not give what was asked for.
///
/// The message says what happened and what to do about it. URLs in it carry no credentials.
public struct LoadError: Error, Sendable {
    /// What kind of failure it was: an open set, so switch over it with a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }
    }

    /// Where in a load's way it happened: an open set.
    public struct Stage: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        public var description: String { rawValue }

        /// Before anything was started.
        public static let request = Stage(rawValue: "request")
        /// While bytes were being obtained.
        public static let fetch = Stage(rawValue: "fetch")
        /// While bytes were being made into pixels, or looked at.
        public static let decode = Stage(rawValue: "decode")
        /// While pixels were being changed.
        public static let process = Stage(rawValue: "process")
        /// While pixels were being made into bytes.
        public static let encode = Stage(rawValue: "encode")
        /// While a result was being written to a file.
        public static let store = Stage(rawValue: "store")
    }

    // One reference, so that results and errors stay small where millions of them are moved.
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

    public init(
        _ code: Code, stage: Stage, url: String? = nil, message: String, status: Int? = nil,
        underlying: (any Error)? = nil
    ) {
        storage = Storage(
            code: code, stage: stage, url: url, message: message, status: status, underlying: underlying)
    }

    public var code: Code { storage.code }
    public var stage: Stage { storage.stage }
    /// The URL that was asked for, without user name and password.
    public var url: String? { storage.url }
    /// What happened and what to do, in one sentence or two; for people.
    public var message: String { storage.message }
    /// The HTTP status, where one was received.
    public var status: Int? { storage.status }
    public var underlying: (any Error)? { storage.underlying }

    /// The same error, about `url` if it does not name a URL yet.
    public func about(url: String) -> LoadError {
        guard storage.url == nil else { return self }
        return LoadError(
            code, stage: stage, url: url, message: message, status: status, underlying: underlying)
    }
}

extension LoadError {
    /// A failure for want of file descriptors.
    package static func tooManyOpenFiles(_ stage: Stage, url: String? = nil) -> LoadError {
        LoadError(
            .tooManyOpenFiles, stage: stage, url: url,
            message: "This process has no file descriptor left. Load less at once, or raise the limit (ulimit -n).")
    }
}

extension LoadError: CustomStringConvertible {
    public var description: String {
        let place = url.map { " \($0):" } ?? ""
        return "\(code) (\(stage)):\(place) \(message)"
    }
}

extension LoadError.Code {
    /// The caller cancelled, or its task was cancelled around it.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The text is no absolute URL.
    public static let invalidURL = Self(rawValue: "invalidURL")
    /// No transport of this pipeline serves the URL's scheme.
    public static let unsupportedScheme = Self(rawValue: "unsupportedScheme")
    /// The request or the configuration asks for something that cannot be, such as a size of zero.
    public static let invalidRequest = Self(rawValue: "invalidRequest")
    /// The pipeline has as many loads as ``ImagePipeline/Configuration/maximumQueuedTasks`` allows.
    public static let overloaded = Self(rawValue: "overloaded")
    /// The pipeline was shut down.
    public static let shutDown = Self(rawValue: "shutDown")

    /// The name did not resolve, the connection was refused, or was lost before any answer.
    public static let cannotConnect = Self(rawValue: "cannotConnect")
    /// The address policy allows none of the addresses that the host has.
    public static let addressNotAllowed = Self(rawValue: "addressNotAllowed")
    /// Connections to the origin failed several times in a row, so this load was not sent. The message names the origin
    /// and says when it is tried again. See ``ImagePipeline/CircuitBreaker``.
    public static let originUnavailable = Self(rawValue: "originUnavailable")
    /// A connection that an earlier request had opened was lost before the response began. A new one may work.
    public static let connectionLost = Self(rawValue: "connectionLost")
    /// The process may open no more files and sockets (`ulimit -n`).
    public static let tooManyOpenFiles = Self(rawValue: "tooManyOpenFiles")
    /// The server's certificate is not trusted, or TLS could not be agreed on.
    public static let untrusted = Self(rawValue: "untrusted")
    /// Connecting, a stall, the whole load, or its decoding took longer than allowed.
    public static let timedOut = Self(rawValue: "timedOut")
    /// The answer breaks HTTP's rules, or its content coding cannot be undone.
    public static let badResponse = Self(rawValue: "badResponse")
    /// A status that carries no picture; see ``LoadError/status``.
    public static let badStatus = Self(rawValue: "badStatus")
    /// Too many redirects, one without a target, or one to a place where it may not go.
    public static let badRedirect = Self(rawValue: "badRedirect")
    /// The body ended before its announced length, or the connection was lost in its middle.
    public static let truncated = Self(rawValue: "truncated")
    /// The body is longer than the limit, before or after its content coding is undone.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// Nothing that may be used is stored, and no server may be asked.
    public static let notStored = Self(rawValue: "notStored")
    /// A local file that is not there or cannot be read.
    public static let cannotRead = Self(rawValue: "cannotRead")

    /// The program's own hook refused the answer.
    public static let refused = Self(rawValue: "refused")
    /// The program's own code failed: a hook, or a source.
    public static let extensionFailed = Self(rawValue: "extensionFailed")

    /// The bytes are no picture.
    public static let notAnImage = Self(rawValue: "notAnImage")
    /// A picture in a format that is known, but that no codec of this pipeline reads or writes.
    public static let unsupportedFormat = Self(rawValue: "unsupportedFormat")
    /// A picture that is cut short or broken.
    public static let damaged = Self(rawValue: "damaged")
    /// The picture's header declares more pixels than the limit.
    public static let tooManyPixels = Self(rawValue: "tooManyPixels")
    /// Decoding the picture would take more memory than the limit.
    public static let tooMuchMemory = Self(rawValue: "tooMuchMemory")
    /// The process that decoded the picture crashed, was killed, or broke its rules. Nothing else is affected.
    public static let decoderCrashed = Self(rawValue: "decoderCrashed")
    /// The program that decodes pictures in a process of its own is not there, or cannot be started.
    public static let decoderUnavailable = Self(rawValue: "decoderUnavailable")
    /// The animation has more frames than the limit.
    public static let tooManyFrames = Self(rawValue: "tooManyFrames")
    /// The picture cannot be written in the wanted format.
    public static let cannotEncode = Self(rawValue: "cannotEncode")
    /// The directory cannot be written, or the disk is full.
    public static let cannotWrite = Self(rawValue: "cannotWrite")
}
