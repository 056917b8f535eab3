extension LoadError {
    /// Returns the same error. If it says that bytes are no image, its message names the server's content type.
    func naming(contentType: String?) -> LoadError {
        guard code == .notAnImage, let contentType, !contentType.isEmpty else { return self }
        // Untrusted text may reach a terminal: remove control characters.
        let shown = String(
            contentType.unicodeScalars.prefix(100).filter { $0.properties.generalCategory != .control })
        return LoadError(
            code, stage: stage, url: url, message: "\(message) The server's content type is \(shown).", status: status,
            underlying: underlying)
    }
}
