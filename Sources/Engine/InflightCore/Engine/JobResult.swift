/// The result of a job: one object for all its subscribers.
final class JobResult: Sendable {
    /// Boxed except for bytes, so that the object that every download creates is small. It is released on another
    /// thread than it was created on, and glibc frees up to 120 bytes without a lock.
    enum Value: Sendable {
        indirect case image(LoadedImage)
        case response(LoadedResponse)
        indirect case info(RemoteImageInfo)
        case failure(LoadError)

        /// Whether these are stored bytes.
        var isStoredResponse: Bool {
            guard case .response(let response) = self else { return false }
            return response.source == .disk || response.source == .revalidated
        }
    }

    let value: Value
    /// Whether a stored response turned out to be unusable, so that the task may retry with the origin.
    let isFromStore: Bool
    /// Whether the result is stale and its revalidation has been requested.
    let isBeingRevalidated: Bool

    init(_ value: Value, isFromStore: Bool = false, isBeingRevalidated: Bool = false) {
        self.value = value
        self.isFromStore = isFromStore
        self.isBeingRevalidated = isBeingRevalidated
    }

    /// Whether this is a stale image whose revalidation has been requested.
    var isStaleImageBeingRevalidated: Bool {
        if case .image = value { return isBeingRevalidated }
        return false
    }

    var error: LoadError? {
        if case .failure(let error) = value { return error }
        return nil
    }

    /// Returns the error that a task with that goal gets, if any. The image of a source has no file.
    func error(for goal: RequestPlan.Goal) -> LoadError? {
        switch (value, goal) {
        case (.failure(let error), _): error
        case (.image(let image), .data), (.image(let image), .response): Self.noFile(image.url)
        default: nil
        }
    }

    private static func noFile(_ url: String) -> LoadError {
        LoadError(
            .invalidRequest, stage: .fetch, url: url,
            message: "The image source provides pixels, not a file. Request the image instead.")
    }

    func image(isShared: Bool) -> Result<LoadedImage, LoadError> {
        switch value {
        case .image(var image):
            if isShared, image.source == .network { image.source = .shared }
            return .success(image)
        case .failure(let error): return .failure(error)
        case .response, .info: preconditionFailure("a task for an image received another result")
        }
    }

    func response(isShared: Bool) -> Result<LoadedResponse, LoadError> {
        switch value {
        case .response(var response):
            if isShared, response.source == .network { response.source = .shared }
            return .success(response)
        case .failure(let error): return .failure(error)
        case .image(let image): return .failure(Self.noFile(image.url))
        case .info: preconditionFailure("a task for bytes received another result")
        }
    }

    var info: Result<RemoteImageInfo, LoadError> {
        switch value {
        case .info(let info): return .success(info)
        case .failure(let error): return .failure(error)
        case .image, .response: preconditionFailure("a task for image information received another result")
        }
    }
}
