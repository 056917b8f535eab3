extension LoadError {
    /// The same error, with another sentence.
    func appending(_ sentence: String) -> LoadError {
        LoadError(
            code, stage: stage, url: url, message: "\(message) \(sentence)", status: status, underlying: underlying)
    }
}

extension Duration {
    /// Whole seconds, never fewer than these.
    var roundedSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}
