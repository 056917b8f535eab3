package import InflightCore

/// Where a row's URL leads.
package struct RowPlace: Hashable, Sendable {
    /// The URL as the input has it.
    package var url: String
    /// The host's name, whose pace applies.
    package var host: String
    /// Scheme, host and port, whose robots.txt applies.
    package var authority: String
    /// Path and query.
    package var path: String
    /// The digests that the body must have.
    package var digests: [BodyDigest] = []
    /// The boxes to blur.
    package var boxes: [BlurBox] = []

    /// Parses the URL of a row of the input.
    init(_ row: InputRow) throws(LoadError) {
        try self.init(row.url)
        digests = row.digests
        boxes = row.boxes
    }

    /// Parses the URL of a row.
    ///
    /// - Throws: ``LoadError`` if it is missing, malformed, or of another scheme than http and https.
    package init(_ text: String) throws(LoadError) {
        if text.isEmpty {
            throw LoadError(.invalidURL, stage: .request, message: "The row of the input has no URL.")
        }
        let url = try ResourceURL(text)
        guard let origin = url.origin, url.scheme == "http" || url.scheme == "https" else {
            throw LoadError(
                .unsupportedScheme, stage: .request, url: url.string,
                message: "Unsupported URL scheme '\(url.scheme)'. Supported: http, https.")
        }
        self.url = text
        host = origin.host
        authority = origin.description
        let path = url.string[url.path.startIndex...]
        self.path = path.isEmpty ? "/" : String(path)
    }
}
