import Inflight

/// Reads `--process`: steps between commas, each a name with its parameters behind colons, as in `blur:4,grey`.
struct ProcessList {
    /// Each step as people write it, for complaints.
    static let usages: [(name: String, usage: String)] = [
        ("resize", "resize:WxH[:FIT[:GRAVITY[:LIGHT]]]"), ("crop", "crop:WxH[:GRAVITY] or crop:WxH+X+Y"),
        ("rotate", "rotate:DEGREES"), ("flip", "flip:horizontal or flip:vertical"), ("blur", "blur:RADIUS"),
        ("sharpen", "sharpen[:AMOUNT[:RADIUS]]"), ("grey", "grey"), ("brightness", "brightness:AMOUNT"),
        ("contrast", "contrast:AMOUNT"), ("saturation", "saturation:AMOUNT"),
        ("round", "round:RADIUS[:BORDER:COLOUR]"), ("circle", "circle[:BORDER:COLOUR]"),
        ("border", "border:WIDTH:COLOUR"), ("flatten", "flatten[:COLOUR]"),
    ]

    private let option: String
    private let step: String
    private let name: String
    private let values: [String]

    static func parse(_ value: OptionValue) throws(UsageError) -> [ImageProcessor] {
        var processors: [ImageProcessor] = []
        for step in value.text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = step.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            let list = ProcessList(
                option: value.name, step: String(step), name: parts[0], values: Array(parts.dropFirst()))
            processors.append(try list.processor())
        }
        return processors
    }

    private func processor() throws(UsageError) -> ImageProcessor {
        switch name {
        case "resize":
            try expect(1...4)
            let size = try size(values[0])
            return .resize(
                width: size.width, height: size.height,
                fit: try choice(1) ?? .contain,
                gravity: try choice(2) ?? .center,
                light: try choice(3) ?? .encoded)
        case "crop": return try crop()
        case "rotate":
            try expect(1...1)
            return .rotate(degrees: try number(0, -360_000...360_000))
        case "flip":
            try expect(1...1)
            return .flip(try choice(0) ?? .horizontal)
        case "blur":
            try expect(1...1)
            return .blur(radius: try number(0, 0...1000))
        case "sharpen":
            try expect(0...2)
            return .sharpen(
                amount: values.isEmpty ? 0.5 : try number(0, 0...10),
                radius: values.count < 2 ? 1 : try number(1, 0...1000))
        case "grey", "gray":
            try expect(0...0)
            return .grey
        case "brightness": return .adjust(brightness: try amount())
        case "contrast": return .adjust(contrast: try amount())
        case "saturation": return .adjust(saturation: try amount())
        case "round":
            try expect(values.count == 1 ? 1...1 : 3...3)
            return .roundCorners(radius: try number(0, 0...100_000), border: try border(from: 1))
        case "circle":
            try expect(values.isEmpty ? 0...0 : 2...2)
            return .circle(border: try border(from: 0))
        case "border":
            try expect(2...2)
            return .border(width: try number(0, 0...100_000), color: try color(1))
        case "flatten":
            try expect(0...1)
            let color = values.isEmpty ? PixelColor.white : try color(0)
            guard color.alpha == 255 else {
                throw UsageError("\(option): the colour of flatten has to be opaque, not \(values[0].quoted).")
            }
            return .flatten(on: color)
        default:
            let known = Self.usages.map(\.name).joined(separator: ", ")
            throw UsageError("\(option) does not know \(name.quoted). Choose among \(known).")
        }
    }

    private func crop() throws(UsageError) -> ImageProcessor {
        try expect(1...2)
        let places = values[0].split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        let size = try size(places[0])
        guard let width = size.width, let height = size.height, places.count == 1 || places.count == 3 else {
            throw malformed
        }
        if places.count == 1 {
            return .crop(width: width, height: height, gravity: try choice(1) ?? .center)
        }
        try expect(1...1)
        let corner = places.dropFirst().compactMap(OptionValue.digits)
        guard corner.count == 2 else { throw malformed }
        return .crop(x: corner[0], y: corner[1], width: width, height: height)
    }

    private func expect(_ counts: ClosedRange<Int>) throws(UsageError) {
        if !counts.contains(values.count) { throw malformed }
    }

    private var malformed: UsageError {
        let usage = Self.usages.first { $0.name == (name == "gray" ? "grey" : name) }?.usage ?? name
        return UsageError("\(option) takes \(usage), not \(step.quoted).")
    }

    private func size(_ text: String) throws(UsageError) -> OptionValue.Sides {
        try OptionValue("\(option), \(name):", [text]).size()
    }

    private func number(_ index: Int, _ range: ClosedRange<Double>) throws(UsageError) -> Double {
        let text = values[index]
        let isPlain = text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E || $0 == 0x2D }
        guard isPlain, let number = Double(text) else { throw malformed }
        guard range.contains(number) else {
            throw UsageError(
                "\(option), \(name): takes a number from \(Self.plain(range.lowerBound)) to "
                    + "\(Self.plain(range.upperBound)), not \(text.quoted).")
        }
        return number
    }

    private static func plain(_ number: Double) -> String { Quantity.grouped(Int(number)) }

    private func amount() throws(UsageError) -> Double {
        try expect(1...1)
        return try number(0, 0...100)
    }

    private func choice<Value: CaseIterable & RawRepresentable<String>>(_ index: Int) throws(UsageError) -> Value? {
        guard index < values.count else { return nil }
        return try OptionValue("\(option), \(name):", [values[index]]).choice()
    }

    private func color(_ index: Int) throws(UsageError) -> PixelColor {
        guard let color = PixelColor(values[index]) else {
            throw UsageError(
                "\(option), \(name): takes a colour such as #ff8000, #ff800080, white, black or clear, "
                    + "not \(values[index].quoted).")
        }
        return color
    }

    private func border(from index: Int) throws(UsageError) -> Border? {
        guard values.count > index else { return nil }
        return Border(width: try number(index, 0...100_000), color: try color(index + 1))
    }
}
