import Inflight

/// Parses `--process`: steps separated by commas, each a name with parameters after colons, as in `blur:4,grey`.
struct ProcessList {
    /// The definition of a step: its usage, the allowed numbers of parameters and its factory.
    private struct Step {
        let usage: String
        let counts: [Int]
        let make: (ProcessList) throws -> ImageProcessor

        init(_ usage: String, _ counts: [Int], make: @escaping (ProcessList) throws -> ImageProcessor) {
            (self.usage, self.counts, self.make) = (usage, counts, make)
        }

        var name: String { String(usage.prefix { $0.isLetter }) }
    }

    private static var steps: [Step] {
        [
            Step("resize:WxH[:FIT[:GRAVITY[:LIGHT]]]", [1, 2, 3, 4]) { list in
                let size = try list.size(list.values[0])
                return .resize(
                    width: size.width, height: size.height, fit: try list.choice(1) ?? .contain,
                    gravity: try list.choice(2) ?? .center, light: try list.choice(3) ?? .encoded)
            },
            Step("crop:WxH[:GRAVITY] or crop:WxH+X+Y", [1, 2]) { try $0.crop() },
            Step("rotate:DEGREES", [1]) { .rotate(degrees: try $0.number(0, -360_000...360_000)) },
            Step("flip:horizontal or flip:vertical", [1]) { .flip(try $0.choice(0) ?? .horizontal) },
            Step("blur:RADIUS", [1]) { .blur(radius: try $0.number(0, 0...1000)) },
            Step("sharpen[:AMOUNT[:RADIUS]]", [0, 1, 2]) { list in
                .sharpen(
                    amount: list.values.isEmpty ? 0.5 : try list.number(0, 0...10),
                    radius: list.values.count < 2 ? 1 : try list.number(1, 0...1000))
            },
            Step("grey", [0]) { _ in .grey },
            Step("brightness:AMOUNT", [1]) { .adjust(brightness: try $0.number(0, 0...100)) },
            Step("contrast:AMOUNT", [1]) { .adjust(contrast: try $0.number(0, 0...100)) },
            Step("saturation:AMOUNT", [1]) { .adjust(saturation: try $0.number(0, 0...100)) },
            Step("round:RADIUS[:BORDER:COLOUR]", [1, 3]) { list in
                .roundCorners(radius: try list.number(0, 0...100_000), border: try list.border(from: 1))
            },
            Step("circle[:BORDER:COLOUR]", [0, 2]) { .circle(border: try $0.border(from: 0)) },
            Step("border:WIDTH:COLOUR", [2]) { .border(width: try $0.number(0, 0...100_000), color: try $0.color(1)) },
            Step("flatten[:COLOUR]", [0, 1]) { list in
                let color = list.values.isEmpty ? PixelColor.white : try list.color(0)
                guard color.alpha == 255 else {
                    throw UsageError("Invalid step \(list.text.quoted) in \(list.option). The colour must be opaque.")
                }
                return .flatten(on: color)
            },
        ]
    }

    private let option: String
    /// The step as given.
    private let text: String
    private let step: Step
    private let values: [String]

    static func parse(_ value: OptionValue) throws -> [ImageProcessor] {
        try value.text.split(separator: ",", omittingEmptySubsequences: false).map { text in
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            let name = parts[0] == "gray" ? "grey" : parts[0]
            guard let step = steps.first(where: { $0.name == name }) else {
                let known = steps.map(\.name).joined(separator: ", ")
                throw UsageError("Unknown step \(name.quoted) in \(value.name). Steps: \(known).")
            }
            let list = ProcessList(
                option: value.name, text: String(text), step: step, values: Array(parts.dropFirst()))
            guard step.counts.contains(list.values.count) else { throw list.malformed }
            return try step.make(list)
        }
    }

    private func crop() throws(UsageError) -> ImageProcessor {
        let places = values[0].split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        let size = try size(places[0])
        guard let width = size.width, let height = size.height, places.count == 1 || places.count == 3 else {
            throw malformed
        }
        if places.count == 1 {
            return .crop(width: width, height: height, gravity: try choice(1) ?? .center)
        }
        let corner = places.dropFirst().compactMap(OptionValue.digits)
        guard corner.count == 2, values.count == 1 else { throw malformed }
        return .crop(x: corner[0], y: corner[1], width: width, height: height)
    }

    private var malformed: UsageError {
        UsageError("Invalid step \(text.quoted) in \(option). Expected \(step.usage).")
    }

    /// Returns a parameter as an option value, to reuse the parsers of that type.
    private func value(_ text: String) -> OptionValue { OptionValue("\(step.name) in \(option)", [text]) }

    private func size(_ text: String) throws(UsageError) -> OptionValue.Sides { try value(text).size() }

    private func choice<Value: CaseIterable & RawRepresentable<String>>(_ index: Int) throws(UsageError) -> Value? {
        index < values.count ? try value(values[index]).choice() : nil
    }

    private func number(_ index: Int, _ range: ClosedRange<Double>) throws(UsageError) -> Double {
        let text = values[index]
        let isPlain = text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E || $0 == 0x2D }
        guard isPlain, let number = Double(text) else { throw malformed }
        guard range.contains(number) else {
            let limits = [range.lowerBound, range.upperBound].map { Quantity.grouped(Int($0)) }
            throw value(text).invalid("a number from \(limits[0]) to \(limits[1])")
        }
        return number
    }

    private func color(_ index: Int) throws(UsageError) -> PixelColor {
        guard let color = PixelColor(values[index]) else {
            throw value(values[index]).invalid("a colour, such as #ff8000, #ff800080, white, black or clear")
        }
        return color
    }

    private func border(from index: Int) throws(UsageError) -> ImageProcessor.Border? {
        guard values.count > index else { return nil }
        return ImageProcessor.Border(width: try number(index, 0...100_000), color: try color(index + 1))
    }
}
