extension ImageRequest {
    /// Whether both ask for the same, in the same way. Their priorities may differ, and so may their fallbacks, which take
    /// no part in what makes loads the same; and their URLs where they have one identity. Processors are the same where
    /// their identities are: it asks the caller's own code for them.
    func asksForTheSame(as other: ImageRequest) -> Bool {
        guard resize == other.resize else { return false }
        if isUsual, other.isUsual { return url == other.url }
        guard identity == other.identity else { return false }
        if identity == nil, url != other.url || source?.identity != other.source?.identity { return false }
        return method == other.method && fields == other.fields && originFields == other.originFields
            && body == other.body && pixelOrder == other.pixelOrder && premultipliesAlpha == other.premultipliesAlpha
            && cachePolicy == other.cachePolicy && followsRedirects == other.followsRedirects
            && verifiesStoredImage == other.verifiesStoredImage
            && servesStaleOnDisconnect == other.servesStaleOnDisconnect && checksum == other.checksum
            && limits == other.limits && processors == other.processors
    }

    /// The same request, whose picture goes through these processors after its own.
    func processed(by more: [ImageProcessor]) -> ImageRequest {
        // A request that stays as most are stays small.
        if more.isEmpty { return self }
        var request = self
        request.processors += more
        return request
    }
}
