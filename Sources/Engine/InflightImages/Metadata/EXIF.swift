/// A camera's EXIF record: fields with numbers, names and values (CIPA DC-008-2023 sections 4.6 and 4.7).
///
/// Damaged parts are left out: a field that points outside the record, a field of an unknown type, a directory whose
/// parent is broken. At most 1,000 fields are read, and 4,096 bytes of each.
public struct EXIF: Sendable, Equatable {
    /// The directory that contains a field.
    public enum Directory: String, Sendable, Hashable, CaseIterable {
        /// The first directory, about the image: its author and device.
        case image
        /// The Exif directory, about the exposure: its date, duration and optics.
        case photo
        /// The GPS directory, about the location.
        case gps
    }

    /// One entry of a directory.
    public struct Field: Sendable, Equatable {
        /// The directory that contains the field.
        public var directory: Directory
        /// The number that identifies the field in its directory, such as 0x0110 for the camera's model.
        public var tag: Int
        /// The parsed contents of the field.
        public var value: Value

        /// Creates a field.
        public init(directory: Directory, tag: Int, value: Value) {
            self.directory = directory
            self.tag = tag
            self.value = value
        }

        /// The standard's name, such as `Model`, or the tag in hexadecimal, such as `0xC4A5`, if its name is not known
        /// here.
        public var name: String { EXIFNames.name(tag, directory) }
    }

    /// The contents of a field, by its type.
    public enum Value: Sendable, Equatable {
        /// Text up to its first zero byte, without spaces at both ends. Invalid UTF-8 is read as Latin-1. Up to 8
        /// printable bytes of undefined type, such as a version, are text too.
        case text(String)
        /// Integers, signed or not, or floating-point numbers.
        case numbers([Double])
        /// Fractions as written, such as an exposure of 1/250 s.
        case fractions([Fraction])
        /// Other data of undefined type.
        case bytes([UInt8])
    }

    /// A rational number, not reduced.
    public struct Fraction: Sendable, Equatable {
        /// The number above the line, which may be negative.
        public var numerator: Int
        /// The number below the line, which may be 0 or negative.
        public var denominator: Int

        /// Creates a fraction.
        public init(numerator: Int, denominator: Int) {
            self.numerator = numerator
            self.denominator = denominator
        }

        /// The quotient; infinite, or not a number, if the denominator is 0.
        public var number: Double { Double(numerator) / Double(denominator) }
    }

    /// The fields of the image, photo and GPS directories, each in the order of the file.
    public var fields: [Field]

    /// Parses a record.
    ///
    /// Returns `nil` if the bytes do not begin with a TIFF header. Time and memory are bounded, whatever the bytes are.
    ///
    /// - Parameter bytes: the record from its byte order mark to its end, such as ``ImageMetadata/exifBytes``.
    public init?(_ bytes: Bytes) {
        guard var reader = EXIFReader(bytes) else { return nil }
        fields = reader.read()
    }

    /// The value of the first field with that tag in a directory; `nil` if there is none.
    ///
    /// The time is linear in ``fields``.
    public subscript(directory: Directory, tag: Int) -> Value? {
        fields.first { $0.directory == directory && $0.tag == tag }?.value
    }

    /// The place where an image was taken.
    public struct Location: Sendable, Equatable {
        /// The latitude in degrees, -90 … 90. North is positive.
        public var latitude: Double
        /// The longitude in degrees, -180 … 180. East is positive.
        public var longitude: Double
        /// The altitude in metres above sea level, negative below it; `nil` if it is unknown.
        public var altitude: Double?
    }

    /// The location of the GPS directory; `nil` if latitude or longitude is missing or malformed, or out of range.
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
