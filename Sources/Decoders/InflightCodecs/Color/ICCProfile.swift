import InflightImages

/// The properties of a colour profile read without the library: name, and equality with sRGB (ICC.1 section 7).
struct ICCProfile {
    /// The maximum size in bytes. Larger profiles are ignored; those of real devices have up to 3 MB.
    static let maximumCount = 4 << 20

    /// The file that contains the profile, and its range.
    let bytes: Bytes
    let range: Range<Int>

    init(_ bytes: Bytes, _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// Whether the range is long enough for a header and has the signature of a profile.
    var isPlausible: Bool {
        range.count >= 132 && bytes.has("acsp", at: range.lowerBound + 36)
    }

    /// The profile's description, at most 128 characters.
    var name: String? {
        guard let tag = tag("desc"), tag.count >= 12 else { return nil }
        let start = tag.lowerBound
        if bytes.has("desc", at: start), let length = bytes.big32(at: start + 8) {
            let end = min(start + 12 + min(length, 128), tag.upperBound)
            let text = (start + 12..<end).map { bytes[$0] }.prefix { $0 != 0 }
            return cleaned(String(decoding: text, as: UTF8.self))
        }
        if bytes.has("mluc", at: start), let length = bytes.big32(at: start + 20),
            let offset = bytes.big32(at: start + 24)
        {
            let first = start + offset
            let end = min(first + min(length, 256), tag.upperBound)
            guard first >= start, first < end else { return nil }
            let units = stride(from: first, to: end - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            return cleaned(String(decoding: units, as: UTF16.self))
        }
        return nil
    }

    /// Removes control characters, because names are printed to terminals.
    private func cleaned(_ text: String) -> String? {
        let scalars = text.unicodeScalars.filter {
            switch $0.properties.generalCategory {
            case .control, .format, .surrogate, .unassigned: false
            default: true
            }
        }
        return scalars.isEmpty ? nil : String(String.UnicodeScalarView(scalars))
    }

    /// Whether the primaries and curves match sRGB closely enough that eight bits show no difference.
    var isSRGB: Bool {
        guard isPlausible, bytes.has("RGB ", at: range.lowerBound + 16), tag("A2B0") == nil else { return false }
        let primaries: [(StaticString, [Double])] = [
            ("rXYZ", [0.4361, 0.2225, 0.0139]), ("gXYZ", [0.3851, 0.7169, 0.0971]), ("bXYZ", [0.1431, 0.0606, 0.7141]),
        ]
        for (name, expected) in primaries {
            guard let tag = tag(name), tag.count >= 20 else { return false }
            for (index, value) in expected.enumerated() {
                guard let fixed = fixed(at: tag.lowerBound + 8 + 4 * index), abs(fixed - value) < 0.002 else {
                    return false
                }
            }
        }
        return (["rTRC", "gTRC", "bTRC"] as [StaticString]).allSatisfy { name in tag(name).map(isSRGBCurve) ?? false }
    }

    private func isSRGBCurve(_ tag: Range<Int>) -> Bool {
        let start = tag.lowerBound
        if bytes.has("para", at: start), bytes.big16(at: start + 8) == 3, tag.count >= 32 {
            let expected = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]
            return expected.indices.allSatisfy { index in
                fixed(at: start + 12 + 4 * index).map { abs($0 - expected[index]) < 0.002 } ?? false
            }
        }
        // Some points of a table are compared.
        guard bytes.has("curv", at: start), let count = bytes.big32(at: start + 8), count >= 256,
            count <= (tag.count - 12) / 2
        else { return false }
        let expected = [(0.1, 0.010023), (0.25, 0.050876), (0.5, 0.214041), (0.75, 0.522522), (0.9, 0.787412)]
        return expected.allSatisfy { input, light in
            let position = input * Double(count - 1)
            let index = Int(position)
            guard let low = bytes.big16(at: start + 12 + 2 * index),
                let high = bytes.big16(at: start + 14 + 2 * index)
            else { return false }
            let value = Double(low) + (Double(high) - Double(low)) * (position - Double(index))
            return abs(value / 65535 - light) < 0.002
        }
    }

    private func fixed(at offset: Int) -> Double? {
        bytes.big32(at: offset).map { Double(Int32(truncatingIfNeeded: $0)) / 65536 }
    }

    /// Returns the range of a tag's element, if it is within the profile.
    private func tag(_ name: StaticString) -> Range<Int>? {
        guard isPlausible, let count = bytes.big32(at: range.lowerBound + 128) else { return nil }
        for index in 0..<min(count, 100) {
            let entry = range.lowerBound + 132 + 12 * index
            guard entry <= range.upperBound - 12 else { return nil }
            guard bytes.has(name, at: entry) else { continue }
            guard let offset = bytes.big32(at: entry + 4), let size = bytes.big32(at: entry + 8),
                offset <= range.count, size <= range.count - offset
            else { return nil }
            return range.lowerBound + offset..<range.lowerBound + offset + size
        }
        return nil
    }
}
