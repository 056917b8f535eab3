extension LoadError {
    /// Returns the same error. If it says that bytes are no image, its message states how the server described them.
    package func naming(_ head: ResponseHead?) -> LoadError {
        guard code == .notAnImage, let head else { return self }
        var message = message
        if let type = Self.shown(head.fields["content-type"]) {
            message += " The server's content type is \(type)."
        } else if head.version != .none {
            message += " The server sent no content type."
        }
        if let coding = Self.shown(head.fields["content-encoding"]) {
            message += " Its content coding is \(coding)."
        }
        return LoadError(code, stage: stage, url: url, message: message, status: status, underlying: underlying)
    }

    /// Returns the beginning of an untrusted value, without control characters, because it may reach a terminal.
    private static func shown(_ value: String?) -> String? {
        guard let value, !value.isEmpty else { return nil }
        return String(value.unicodeScalars.prefix(100).filter { $0.properties.generalCategory != .control })
    }
}
