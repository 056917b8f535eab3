/// The intrinsic size of an SVG document, in CSS pixels (SVG 2 section 8.2; CSS Values 3 section 5).
///
/// The style or the attributes determine it. A missing side follows from the view box's aspect ratio; if both are
/// missing, the box's own size counts. Without a box it is 300 × 150, as for all content without intrinsic size in CSS
/// 2.
package struct SVGSize {
    package let width: Double
    package let height: Double
    /// Whether the document specifies the visible part of its canvas.
    package let hasViewBox: Bool

    /// Returns `nil` if there is nothing to show because a side is zero.
    package init?(_ root: SVGRoot, in bytes: Bytes) {
        let style = root.value(of: "style", in: bytes).map(Self.declarations) ?? [:]
        let wide = Self.length(style["width"]) ?? Self.length(root.value(of: "width", in: bytes))
        let high = Self.length(style["height"]) ?? Self.length(root.value(of: "height", in: bytes))
        let box = root.value(of: "viewBox", in: bytes).flatMap(Self.viewBox)
        hasViewBox = box != nil
        switch (wide, high, box) {
        case (let wide?, let high?, _): (width, height) = (wide, high)
        case (let wide?, nil, let box?): (width, height) = (wide, wide * box.height / box.width)
        case (nil, let high?, let box?): (width, height) = (high * box.width / box.height, high)
        case (nil, nil, let box?): (width, height) = (box.width, box.height)
        case (_, _, nil): (width, height) = (wide ?? 300, high ?? 150)
        }
        guard width > 0, height > 0, width.isFinite, height.isFinite else { return nil }
    }

    /// The size in whole pixels, at least 1 each.
    package var pixels: (width: Int, height: Int) {
        func whole(_ side: Double) -> Int { max(1, Int(min(side.rounded(), 0x7FFF_FFFF))) }
        return (whole(width), whole(height))
    }

    private static func declarations(_ style: String) -> [String: String] {
        var found: [String: String] = [:]
        for declaration in style.utf8.split(separator: UInt8(ascii: ";")).prefix(1000) {
            let parts = declaration.split(separator: UInt8(ascii: ":"), maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = trimmed(parts[0]).lowercased()
            if name == "width" || name == "height" { found[name] = trimmed(parts[1]) }
        }
        return found
    }

    private static func trimmed(_ text: some BidirectionalCollection<UInt8>) -> String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        var rest = text.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(decoding: Array(rest), as: UTF8.self)
    }

    private static let units: [String: Double] = [
        "": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6, "pt": 96.0 / 72, "pc": 16,
        "em": 16,
        "rem": 16, "ex": 8,
    ]

    /// Returns `nil` for lengths relative to a missing context, and for invalid or negative lengths.
    private static func length(_ text: String?) -> Double? {
        guard let text else { return nil }
        let bytes = Array(trimmed(Array(text.utf8)).utf8.prefix(100))
        guard let (number, count) = number(bytes[...]) else { return nil }
        let unit = String(decoding: bytes[count...], as: UTF8.self).lowercased()
        guard number >= 0, let pixels = units[unit] else { return nil }
        return number * pixels
    }

    private static func viewBox(_ text: String) -> (width: Double, height: Double)? {
        var rest = Array(text.utf8.prefix(1000))[...]
        var numbers: [Double] = []
        while numbers.count < 4 {
            rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) || $0 == UInt8(ascii: ",") }
            guard let (value, count) = number(rest) else { return nil }
            numbers.append(value)
            rest = rest.dropFirst(count)
        }
        return numbers[2] > 0 && numbers[3] > 0 ? (numbers[2], numbers[3]) : nil
    }

    /// Returns the number at the start of a text, in CSS syntax, and its length in bytes.
    private static func number(_ bytes: ArraySlice<UInt8>) -> (Double, Int)? {
        var position = bytes.startIndex
        func byte(_ index: Int) -> UInt8? { bytes.indices.contains(index) ? bytes[index] : nil }
        func skipDigits() -> Bool {
            let start = position
            while let digit = byte(position), (0x30...0x39).contains(digit) { position += 1 }
            return position > start
        }
        func isSign(_ index: Int) -> Bool { byte(index) == UInt8(ascii: "+") || byte(index) == UInt8(ascii: "-") }
        if isSign(position) { position += 1 }
        var hasDigits = skipDigits()
        if byte(position) == UInt8(ascii: "."), let next = byte(position + 1), (0x30...0x39).contains(next) {
            position += 1
            hasDigits = skipDigits()
        }
        guard hasDigits else { return nil }
        // An exponent, and not the unit `em` or `ex`.
        if let letter = byte(position), letter | 0x20 == UInt8(ascii: "e") {
            let digits = position + (isSign(position + 1) ? 2 : 1)
            if let first = byte(digits), (0x30...0x39).contains(first) {
                position = digits
                _ = skipDigits()
            }
        }
        let text = String(decoding: bytes[..<position], as: UTF8.self)
        guard let value = Double(text.hasPrefix("+") ? String(text.dropFirst()) : text), value.isFinite else {
            return nil
        }
        return (value, position - bytes.startIndex)
    }
}
