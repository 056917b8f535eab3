/// What a job gave: one object for all who waited for it.
final class JobResult: Sendable {
    /// Boxed but for bytes, so that what every download makes is small: glibc frees up to 120 bytes without a lock, and
    /// this is let go of by another thread than the one that made it.
    enum Value: Sendable {
        indirect case image(LoadedImage)
        case response(LoadedResponse)
        indirect case info(RemoteImageInfo)
        case failure(LoadError)

        /// Whether these are bytes that were stored.
        var isStoredResponse: Bool {
            guard case .response(let response) = self else { return false }
            return response.source == .disk || response.source == .revalidated
        }
    }

    let value: Value
    /// What was stored turned out to be of no use: asking its origin may help.
    let isOfStored: Bool
    /// It is stale, and what follows it is asked for.
    let isFollowed: Bool

    init(_ value: Value, isOfStored: Bool = false, isFollowed: Bool = false) {
        self.value = value
        self.isOfStored = isOfStored
        self.isFollowed = isFollowed
    }

    /// A picture that another follows.
    var isFollowedImage: Bool {
        if case .image = value { return isFollowed }
        return false
    }

    var error: LoadError? {
        if case .failure(let error) = value { return error }
        return nil
    }

    /// What this is to a task of that goal, where it is a failure: a source's picture has no file.
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
            message: "The source gives a picture, and its file was asked for. Ask for the image.")
    }

    func image(isShared: Bool) -> Result<LoadedImage, LoadError> {
        switch value {
        case .image(var image):
            if isShared, image.source == .network { image.source = .shared }
            return .success(image)
        case .failure(let error): return .failure(error)
        case .response, .info: preconditionFailure("a task that wants a picture got something else")
        }
    }

    func response(isShared: Bool) -> Result<LoadedResponse, LoadError> {
        switch value {
        case .response(var response):
            if isShared, response.source == .network { response.source = .shared }
            return .success(response)
        case .failure(let error): return .failure(error)
        case .image(let image): return .failure(Self.noFile(image.url))
        case .info: preconditionFailure("a task that wants bytes got something else")
        }
    }

    var info: Result<RemoteImageInfo, LoadError> {
        switch value {
        case .info(let info): return .success(info)
        case .failure(let error): return .failure(error)
        case .image, .response: preconditionFailure("a task that wants a header got something else")
        }
    }
}
