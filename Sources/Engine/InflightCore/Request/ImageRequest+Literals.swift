extension ImageRequest: ExpressibleByStringInterpolation {
    /// Creates a request for the URL in a string literal, with all other properties at their defaults.
    ///
    /// ```swift
    /// loader.request = "https://example.org/photo.jpg"
    /// ```
    ///
    /// As with ``init(_:resize:processors:priority:)-(String,_,_,_)``, nothing is validated: if the text is not a URL,
    /// the load fails.
    public init(stringLiteral url: String) {
        self.init(url, resize: nil, priority: .normal)
    }
}
