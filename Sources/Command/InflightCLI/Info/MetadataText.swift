import Inflight

/// The metadata of a file, as text and as JSON.
enum MetadataText {
    /// Returns each field by the standard's name, then the location, then the size of the XMP data.
    static func rows(_ metadata: ImageMetadata) -> [(name: String, value: String)] {
        var rows = metadata.exif?.fields.map { (name: $0.name, value: $0.value.description) } ?? []
        if let place = metadata.exif?.location { rows.append(("location", words(place))) }
        if let xmp = metadata.xmpBytes { rows.append(("XMP", Quantity.bytes(Int64(xmp.count)))) }
        if rows.isEmpty { rows.append(("metadata", "none")) }
        return rows
    }

    static func add(_ metadata: ImageMetadata, to writer: inout JSONWriter) {
        if let exif = metadata.exif {
            writer.add("exif") { inner in
                for directory in EXIF.Directory.allCases {
                    let fields = exif.fields.filter { $0.directory == directory }
                    guard !fields.isEmpty else { continue }
                    inner.add(directory.rawValue) { inner in
                        var seen: Set<Int> = []
                        for field in fields where seen.insert(field.tag).inserted {
                            inner.add(field.name, field.value.description)
                        }
                    }
                }
            }
            if let place = exif.location {
                writer.add("location") { inner in
                    inner.add("latitude", rounded(place.latitude))
                    inner.add("longitude", rounded(place.longitude))
                    if let altitude = place.altitude { inner.add("altitude", altitude) }
                }
            }
        }
        if let xmp = metadata.xmp { writer.add("xmp", xmp) }
    }

    private static func words(_ place: EXIF.Location) -> String {
        let height = place.altitude.map { ", \($0) m" } ?? ""
        return "\(rounded(place.latitude)), \(rounded(place.longitude))\(height)"
    }

    /// Rounds to six decimal places: a tenth of a metre.
    private static func rounded(_ degrees: Double) -> Double { (degrees * 1e6).rounded() / 1e6 }
}
