internal import Glibc

/// The options of a command that correspond to the settings that errors of the library name.
package enum OptionNames {
    /// `get`, `info` and `show`.
    case get
    case batch

    private static let shared: [(setting: String, option: String?)] = [
        ("totalTimeout", "--timeout"), ("minimumBytesPerSecond", "--min-rate"),
        ("maximumBodyBytesInFlight", "--max-in-flight"), ("maximumBodyBytes", "--max-bytes"),
        ("maximumRedirects", "--max-redirects"), ("maximumPixels", "--max-pixels"), ("drawsSVG", "--svg"),
        ("decode in this process", "use --decode in-process"),
        ("in this process only", "in process only (--decode in-process)"),
        ("Set decoding to auto or worker", "Use --decode auto or --decode worker"),
        ("specify its CA file", "specify its CA file with --cacert"),
        ("maximumDecodeTime", nil), ("maximumDecodeBytes", nil), ("maximumMemory", nil), ("maximumFrames", nil),
        ("maximumAnimationPixels", nil), ("maximumQueuedTasks", nil),
    ]

    private static let ofGet: [(setting: String, option: String?)] = [
        ("connectTimeout", nil), ("stallTimeout", nil), ("change the address policy", "omit --public-only"),
    ]

    private static let ofBatch: [(setting: String, option: String?)] = [
        ("connectTimeout", "--connect-timeout"), ("stallTimeout", "--stall-timeout"),
        ("change the address policy", "add --allow-private"),
    ]

    /// Returns the message of an error in the words of the command: with options instead of settings, and without the
    /// advice to change a setting for which there is no option.
    package func message(_ text: String) -> String {
        (Self.shared + (self == .get ? Self.ofGet : Self.ofBatch)).reduce(text) { text, name in
            // `text.contains(_:)` would take most of the time of a row that fails.
            guard unsafe strstr(text, name.setting) != nil else { return text }
            guard let option = name.option else { return Self.removingAdvice(on: name.setting, from: text) }
            return text.replacing(name.setting, with: option)
        }
    }

    /// Removes "Raise …." or ", or raise …" with the setting.
    private static func removingAdvice(on setting: String, from text: String) -> String {
        let sentences = text.split(separator: ". ").compactMap { sentence -> Substring? in
            guard sentence.contains(setting) else { return sentence }
            return sentence.firstRange(of: ", or raise ").map { sentence[..<$0.lowerBound] }
        }
        let rest = sentences.joined(separator: ". ")
        return rest.hasSuffix(".") ? rest : rest + "."
    }
}
