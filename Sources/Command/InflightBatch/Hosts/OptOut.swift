/// The rule by which a response's header fields forbid the use of its image.
///
/// It reads `X-Robots-Tag` (directives separated by commas, each optionally after a user agent and a colon) and
/// TDMRep's `tdm-reservation` (W3C TDM Reservation Protocol, section "HTTP response headers").
package struct OptOut: Hashable, Sendable {
    /// A statement that a policy may honour. The raw value is its name in options and reports.
    package enum Signal: String, CaseIterable, Hashable, Sendable {
        /// Not for training of AI models.
        case noai
        /// As `noai`, for images.
        case noimageai
        /// Not for an index. `none` means this, too.
        case noindex
        /// As `noindex`, for images.
        case noimageindex
        /// `tdm-reservation: 1`: the rights to text and data mining are reserved.
        case tdmReservation = "tdm-reservation"
    }

    /// The signals that forbid the use of an image.
    package var honored: Set<Signal>
    /// The crawler's name, in lower case.
    private let productToken: String

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - honored: The signals that count. By default all.
    ///   - productToken: The crawler's name. Directives for other user agents do not count.
    package init(honoring honored: Set<Signal> = Set(Signal.allCases), productToken: String) {
        self.honored = honored
        self.productToken = productToken.lowercased()
    }

    /// Returns the first honoured signal in a response's header fields, or nil if the image may be used.
    package func signal(in fields: some Sequence<(name: String, value: String)>) -> Signal? {
        for (name, value) in fields {
            let isRobotsTag = Self.equal(name.utf8[...], "x-robots-tag")
            guard isRobotsTag || Self.equal(name.utf8[...], Signal.tdmReservation.rawValue) else { continue }
            let found = isRobotsTag ? robotsTagSignal(value) : reservation(value)
            if let found { return found }
        }
        return nil
    }

    private func reservation(_ value: String) -> Signal? {
        guard honored.contains(.tdmReservation) else { return nil }
        let isReserved = value.utf8.split(separator: UInt8(ascii: ",")).contains { Self.equal(Self.trimmed($0), "1") }
        return isReserved ? .tdmReservation : nil
    }

    /// Reads one field line. A user agent applies to the directives behind it, up to the next user agent.
    private func robotsTagSignal(_ value: String) -> Signal? {
        var applies = true
        for element in value.utf8.split(separator: UInt8(ascii: ",")) {
            var directive = Self.trimmed(element)
            if let colon = directive.firstIndex(of: UInt8(ascii: ":")) {
                let name = Self.trimmed(directive[..<colon])
                // `max-snippet: 20` is a directive with a value, and `25 Jun 2010 15:00:00` the rest of one.
                let hasValue = Self.directivesWithValue.contains { Self.equal(name, $0) }
                if hasValue || name.contains(UInt8(ascii: " ")) { continue }
                applies = Self.equal(name, "*") || Self.equal(name, productToken)
                directive = Self.trimmed(directive[directive.index(after: colon)...])
            }
            if applies, let signal = Self.signal(directive), honored.contains(signal) { return signal }
        }
        return nil
    }

    private static let directivesWithValue = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]

    private static func signal(_ directive: Substring.UTF8View) -> Signal? {
        if equal(directive, "none") { return .noindex }
        return Signal.allCases.first { $0 != .tdmReservation && equal(directive, $0.rawValue) }
    }

    /// Compares without regard to the case of ASCII letters. `word` is in lower case.
    private static func equal(_ text: Substring.UTF8View, _ word: String) -> Bool {
        text.elementsEqual(word.utf8) { byte, expected in
            ((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte) == expected
        }
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
