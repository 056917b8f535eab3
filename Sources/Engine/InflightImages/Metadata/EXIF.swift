/// A camera's EXIF record: fields with numbers, names and values (CIPA DC-008-2023 sections 4.6 and 4.7).
///
/// Damaged parts are left out: a field that points outside the record, a field of an unknown type, a directory whose
/// parent is broken. At most 1,000 fields are read, and 4,096 bytes of each.
public struct EXIF: Sendable, Equatable {
    /// The directory that contains a field.
    public enum Directory: String, Sendable, Hashable, CaseIterable {
        /// About the image: its author and device.
        case image
        /// About the exposure: its date, duration and optics.
        case photo
        /// About the location.
        case gps
    }

    public struct Field: Sendable, Equatable {
        public var directory: Directory
        public var tag: Int
        public var value: Value

        public init(directory: Directory, tag: Int, value: Value) {
            self.directory = directory
            self.tag = tag
            self.value = value
        }

        /// The standard's name, or the number if the name is not known here.
        public var name: String { EXIFNames.name(tag, directory) }
    }

    public enum Value: Sendable, Equatable {
        case text(String)
        case numbers([Double])
        /// Fractions as written, such as an exposure of 1/250 s.
        case fractions([Fraction])
        case bytes([UInt8])
    }

    public struct Fraction: Sendable, Equatable {
        public var numerator: Int
        public var denominator: Int

        public init(numerator: Int, denominator: Int) {
            self.numerator = numerator
            self.denominator = denominator
        }

        /// The quotient; not a number if the denominator is 0.
        public var number: Double { Double(numerator) / Double(denominator) }
    }

    /// The fields in the order of the file.
    public var fields: [Field]

    /// Parses a record; returns `nil` if the bytes are not an EXIF record.
    public init?(_ bytes: Bytes) {
        guard var reader = EXIFReader(bytes) else { return nil }
        fields = reader.read()
    }

    public subscript(directory: Directory, tag: Int) -> Value? {
        fields.first { $0.directory == directory && $0.tag == tag }?.value
    }

    /// The place where the image was taken, in degrees. North and east are positive.
    public struct Location: Sendable, Equatable {
        public var latitude: Double
        public var longitude: Double
        /// The altitude in metres above sea level, negative below it.
        public var altitude: Double?
    }

    /// The location; `nil` if it is missing, or not a place on Earth.
    public var location: Location? {
        guard let latitude = degrees(2, reference: 1, negative: "S", limit: 90),
            let longitude = degrees(4, reference: 3, negative: "W", limit: 180)
        else { return nil }
        var altitude: Double?
        if case .fractions(let parts)? = self[.gps, 6], let height = parts.first?.number, height.isFinite {
            altitude = height
            if case .numbers(let reference)? = self[.gps, 5], reference.first == 1 { altitude = -height }
        }
        return Location(latitude: latitude, longitude: longitude, altitude: altitude)
    }

    /// Returns degrees, minutes and seconds as one number.
    private func degrees(_ tag: Int, reference: Int, negative: String, limit: Double) -> Double? {
        guard case .fractions(let parts)? = self[.gps, tag], parts.count == 3,
            case .text(let side)? = self[.gps, reference]
        else { return nil }
        let sum = parts[0].number + parts[1].number / 60 + parts[2].number / 3600
        guard sum.isFinite, (0...limit).contains(sum) else { return nil }
        return side == negative ? -sum : sum
    }
}

extension EXIF.Value: CustomStringConvertible {
    public var description: String {
        switch self {
        case .text(let text): text
        case .numbers(let numbers) where numbers.count > 16: "\(numbers.count) numbers"
        case .numbers(let numbers): numbers.map(Self.short).joined(separator: ", ")
        case .fractions(let fractions): fractions.map(Self.short).joined(separator: ", ")
        case .bytes(let bytes): bytes.count == 1 ? "1 byte" : "\(bytes.count) bytes"
        }
    }

    private static func short(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
    }

    /// Formats fractions below 1 as cameras show them, such as 1/250, and others as a number with few digits.
    private static func short(_ fraction: EXIF.Fraction) -> String {
        let (above, below) = (fraction.numerator, fraction.denominator)
        if below == 0 { return "\(above)/0" }
        if above % below == 0 { return String(above / below) }
        if above > 0, below > above, below % above == 0 { return "1/\(below / above)" }
        return short((fraction.number * 10_000).rounded() / 10_000)
    }
}
