extension LoadError {
    /// The same error; where it says that bytes are no picture, with what the server called them.
    func naming(contentType: String?) -> LoadError {
        guard code == .notAnImage, let contentType, !contentType.isEmpty else { return self }
        // What a server sent may reach a terminal: no control characters.
        let shown = String(
            contentType.unicodeScalars.prefix(100).filter { $0.properties.generalCategory != .control })
        return LoadError(
            code, stage: stage, url: url, message: "\(message) The server called it \(shown).", status: status,
            underlying: underlying)
    }
}
