extension ImageRequest {
    /// Returns whether both request the same image in the same way. Their priorities and fallbacks may differ, and
    /// their URLs if they have the same identity. Processors are equal if their identities are; reading these runs the
    /// caller's code.
    func isSameRequest(as other: ImageRequest) -> Bool {
        guard resize == other.resize else { return false }
        if hasDefaults, other.hasDefaults { return url == other.url }
        guard identity == other.identity else { return false }
        if identity == nil, url != other.url || source?.identity != other.source?.identity { return false }
        return method == other.method && fields == other.fields && originFields == other.originFields
            && body == other.body && pixelOrder == other.pixelOrder && premultipliesAlpha == other.premultipliesAlpha
            && cachePolicy == other.cachePolicy && followsRedirects == other.followsRedirects
            && verifiesStoredImage == other.verifiesStoredImage
            && servesStaleOnDisconnect == other.servesStaleOnDisconnect && checksum == other.checksum
            && limits == other.limits && processors == other.processors
    }

    /// Returns the same request with these processors after its own.
    func processed(by more: [ImageProcessor]) -> ImageRequest {
        // Without processors, keep the request's compact default form.
        if more.isEmpty { return self }
        var request = self
        request.processors += more
        return request
    }
}
