/// The rules of one robots.txt file for one crawler (RFC 9309 section 2.2).
///
/// The groups that name the crawler's product token are merged. If there is none, the groups for `*` are. All others
/// are dropped. Like Google's parser, it accepts a missing colon and common misspellings of `disallow`, because they
/// state the host's intent. It does not accept Google's reading of `/index.html` as `/`, which allows more than the
/// RFC.
package struct RobotsFile: Hashable, Sendable {
    /// The maximum number of bytes to parse (RFC 9309 section 2.5). The rest is ignored.
    package static let sizeLimit = 500 * 1024
    /// The maximum number of bytes to receive. A server without ranges sends the whole file.
    static let transferLimit: Int64 = 8 << 20
    /// The number of octets to compare for one path. A file that needs more disallows the path.
    static let stepLimit = 1 << 25

    /// The `Crawl-delay` of the crawler's groups, the longest if there are several. Not part of RFC 9309.
    package private(set) var crawlDelay: Duration?
    /// The longest rule first. Of equally long rules, `allow` first. So the first match decides.
    private var rules: [Rule] = []
    /// The normalised patterns of all rules.
    private var bytes: [UInt8] = []

    private struct Rule: Hashable {
        var start: UInt32
        var end: UInt32
        /// The end of the same pattern with its query decoded, which begins at `end`. Equal to `end` if there is none.
        var queryEnd: UInt32
        var octets: UInt32
        var allows: Bool
    }

    /// Creates a file without rules, which allows everything.
    package init() {}

    /// Parses a file. Malformed lines are skipped. HTML (a file whose first character is `<`) yields no rules.
    ///
    /// - Parameters:
    ///   - body: The body of the response. Bytes beyond ``sizeLimit`` are ignored.
    ///   - productToken: The crawler's name: letters, `_` and `-`. It ends before the first other character.
    ///   - maximumCrawlDelay: The limit to which a longer `Crawl-delay` is reduced.
    ///   - isTruncated: Whether the caller cut the body, so that an incomplete last line must be ignored.
    package init(_ body: [UInt8], productToken: String, maximumCrawlDelay: Duration, isTruncated: Bool = false) {
        var text = body.prefix(Self.sizeLimit)
        if isTruncated || text.count < body.count {
            let isComplete = text.count < body.count && Self.isLineEnd(body[text.count])
            if !isComplete { text = text[..<((text.lastIndex(where: Self.isLineEnd) ?? -1) + 1)] }
        }
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        let first = text.first { !Self.isSpace($0) && !Self.isLineEnd($0) }
        guard first != UInt8(ascii: "<") else { return }

        var parser = Parser(token: Self.productToken(Array(productToken.utf8)[...]), limit: maximumCrawlDelay)
        while !text.isEmpty {
            let end = text.firstIndex(where: Self.isLineEnd) ?? text.endIndex
            parser.read(text[..<end])
            text = end == text.endIndex ? [] : text[(end + 1)...]
        }
        self = parser.namesToken ? parser.specific : parser.general
        rules.sort { $0.octets == $1.octets ? $0.allows && !$1.allows : $0.octets > $1.octets }
    }

    /// Returns whether the crawler may fetch a URL of this host.
    ///
    /// The longest matching rule decides. If two are equally long, `allow` does (RFC 9309 section 2.2.2). The cost
    /// grows with the size of the file times the length of the path, up to a limit.
    ///
    /// - Parameter path: The URL's path and query. A fragment is ignored, and a missing `/` at the start is added.
    package func allows(_ path: String) -> Bool {
        let written = Array(path.utf8.prefix { $0 != UInt8(ascii: "#") })
        var plain: [UInt8] = written.first == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]
        RobotsPattern.appendNormalized(written[...], isPattern: false, to: &plain)
        if plain.elementsEqual("/robots.txt".utf8) { return true }
        let decoded = RobotsPattern.decodedQuery(of: plain[...])
        var steps = Self.stepLimit
        for rule in rules {
            let isMatch = matches(rule, plain: plain, decoded: decoded, steps: &steps)
            if steps < 0 { return false }
            if isMatch { return rule.allows }
        }
        return true
    }

    private func matches(_ rule: Rule, plain: [UInt8], decoded: [UInt8]?, steps: inout Int) -> Bool {
        let pattern = bytes.span.extracting(Int(rule.start)..<Int(rule.end))
        if RobotsPattern.matches(pattern, plain.span, steps: &steps) { return true }
        guard decoded != nil || rule.queryEnd > rule.end, steps >= 0 else { return false }
        let query = bytes.span.extracting(Int(rule.end)..<Int(rule.queryEnd))
        let path = decoded ?? plain
        return RobotsPattern.matches(query.isEmpty ? pattern : query, path.span, steps: &steps)
    }

    private mutating func append(_ pattern: ArraySlice<UInt8>, allows: Bool) {
        let start = bytes.count
        var normalized: [UInt8] = []
        let octets = RobotsPattern.appendNormalized(pattern, isPattern: true, to: &normalized)
        bytes += normalized
        let end = bytes.count
        if let query = RobotsPattern.decodedQuery(of: normalized[...]) { bytes += query }
        rules.append(
            Rule(
                start: UInt32(start), end: UInt32(end), queryEnd: UInt32(bytes.count), octets: UInt32(octets),
                allows: allows))
    }

    // MARK: Lines

    /// The state between two lines.
    private struct Parser {
        let token: [UInt8]
        let limit: Duration
        var specific = RobotsFile()
        var general = RobotsFile()
        /// Whether any group is for the token.
        var namesToken = false
        /// Whether the current group is for the token, and for all crawlers.
        var isSpecific = false
        var isGeneral = false
        /// Whether the current group has a rule, so that the next user-agent line begins another group.
        var hasRule = false

        init(token: [UInt8], limit: Duration) {
            self.token = token
            self.limit = limit
        }

        mutating func read(_ line: ArraySlice<UInt8>) {
            let content = RobotsFile.trimmed(line.prefix { $0 != UInt8(ascii: "#") })
            guard let (name, value) = RobotsFile.record(content) else { return }
            switch String(decoding: name.prefix(16), as: UTF8.self).lowercased() {
            case "user-agent", "useragent", "user agent": readUserAgent(value)
            case "allow": readRule(value, allows: true)
            case "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw": readRule(value, allows: false)
            case "crawl-delay": readDelay(value)
            // Other records neither end a group nor begin one (section 2.2.4).
            default: break
            }
        }

        private mutating func readUserAgent(_ value: ArraySlice<UInt8>) {
            if hasRule { (isSpecific, isGeneral, hasRule) = (false, false, false) }
            if value.first == UInt8(ascii: "*"), value.dropFirst().first.map(RobotsFile.isSpace) ?? true {
                isGeneral = true
            } else if !token.isEmpty, RobotsFile.productToken(value) == token {
                isSpecific = true
                namesToken = true
            }
        }

        private mutating func readRule(_ pattern: ArraySlice<UInt8>, allows: Bool) {
            hasRule = true
            // An empty pattern matches nothing, and what no rule matches is allowed.
            guard !pattern.isEmpty else { return }
            if isSpecific { specific.append(pattern, allows: allows) }
            if isGeneral, !namesToken { general.append(pattern, allows: allows) }
        }

        /// Applies to the user agents named so far. The record does not end their group.
        private mutating func readDelay(_ value: ArraySlice<UInt8>) {
            guard let delay = RobotsFile.seconds(value).map({ min($0, max(limit, .zero)) }) else { return }
            if isSpecific { specific.crawlDelay = max(specific.crawlDelay ?? .zero, delay) }
            if isGeneral { general.crawlDelay = max(general.crawlDelay ?? .zero, delay) }
        }
    }

    /// Splits a line at its colon or, if there is none, between its two words.
    private static func record(_ line: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            return (trimmed(line[..<colon]), trimmed(line[(colon + 1)...]))
        }
        guard let space = line.firstIndex(where: isSpace) else { return nil }
        let value = trimmed(line[space...])
        return value.contains(where: isSpace) ? nil : (line[..<space], value)
    }

    /// The leading letters, `_` and `-`, in lower case.
    private static func productToken(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var token: [UInt8] = []
        for byte in value {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "-"): token.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): token.append(byte | 0x20)
            default: return token
            }
        }
        return token
    }

    /// Reads a decimal number of seconds. Digits beyond nanoseconds are ignored.
    private static func seconds(_ value: ArraySlice<UInt8>) -> Duration? {
        let parts = value.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? parts[1] : []
        guard let whole = parts.first, !whole.isEmpty || !fraction.isEmpty else { return nil }
        guard (whole + fraction).allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        var seconds: Int64 = 0
        // Bounded against overflow. The result is reduced to the caller's maximum anyway.
        for digit in whole { seconds = min(seconds * 10 + Int64(digit - UInt8(ascii: "0")), 1 << 30) }
        var nanoseconds: Int64 = 0
        var unit: Int64 = 100_000_000
        for digit in fraction.prefix(9) {
            nanoseconds += Int64(digit - UInt8(ascii: "0")) * unit
            unit /= 10
        }
        return .seconds(seconds) + .nanoseconds(nanoseconds)
    }

    private static func trimmed(_ slice: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let last = slice.lastIndex(where: { !isSpace($0) }) else { return [] }
        return slice[...last].drop(while: isSpace)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
}
