extension ImageRequest {
    /// Whether both ask for the same, in the same way; their priorities may differ. Processors are the same where their
    /// identities are: it asks the caller's own code for them.
    func asksForTheSame(as other: ImageRequest) -> Bool {
        guard url == other.url, resize == other.resize else { return false }
        if isUsual, other.isUsual { return true }
        return method == other.method && fields == other.fields && originFields == other.originFields
            && body == other.body && pixelOrder == other.pixelOrder && premultipliesAlpha == other.premultipliesAlpha
            && limits == other.limits && processors.map(\.identity) == other.processors.map(\.identity)
    }

    /// The same request, whose picture goes through these processors after its own.
    func processed(by more: [any ImageProcessing]) -> ImageRequest {
        // A request that stays as most are stays small.
        if more.isEmpty { return self }
        var request = self
        request.processors += more
        return request
    }
}
