internal import InflightPrograms

/// The columns of a run's sidecars: those of img2dataset and the class of a failure, then the input's other columns.
///
/// All rows of a run have the same columns in the same order, with `null` for absent values. A column of the input with
/// the name of another one is renamed with the prefix `input_`, because the names in a JSON object must be unique.
package struct SidecarSchema: Hashable, Sendable {
    /// The column of the class of a failure, behind that of its message.
    static let errorClass = "error_class"

    /// Whether the rows have the class of their failure. Runs of version 0.1.0 do not.
    package let hasErrorClass: Bool
    /// The names under which the input's columns are written.
    package let ownColumns: [String]

    /// The columns before those of the input, in their order.
    package var standardColumns: [String] { Self.standardColumns(hasErrorClass) }

    private static func standardColumns(_ hasErrorClass: Bool) -> [String] {
        ["url", "key", "status", "error_message"] + (hasErrorClass ? [errorClass] : [])
            + ["width", "height", "original_width", "original_height", "exif", "sha256"]
    }

    /// Creates a schema.
    ///
    /// - Parameters:
    ///   - ownColumns: The names of the input's columns that pass through, in the order of their values.
    ///   - hasErrorClass: Whether the rows have the class of their failure.
    package init(ownColumns: [String] = [], hasErrorClass: Bool = true) {
        self.hasErrorClass = hasErrorClass
        var names = Set(Self.standardColumns(hasErrorClass))
        var written: [String] = []
        // A column keeps its name before another one may take it by renaming.
        let unique = Set(ownColumns).subtracting(names)
        for column in ownColumns {
            var name = column
            while names.contains(name) || (name != column && unique.contains(name)) { name = "input_" + name }
            names.insert(name)
            written.append(name)
        }
        self.ownColumns = written
    }
}

/// One row of a sidecar, which is also the JSON member of a sample.
package struct SidecarRow: Equatable, Sendable {
    /// The status of a row, as img2dataset names it.
    package enum Status: String, Sendable {
        /// The image is in the shard.
        case success
        /// No body was received, or it must not be used.
        case failedToDownload = "failed_to_download"
        /// The body could not be decoded, resized or encoded.
        case failedToResize = "failed_to_resize"
    }

    /// The URL, as in the input.
    package var url: String
    /// The key of the sample.
    package var key: String
    /// The status.
    package var status: Status
    /// The message of the failure, if the row failed.
    package var errorMessage: String?
    /// The class of the failure, if the row failed.
    package var errorClass: String?
    /// The image, without values if the row failed.
    package var image = ImageRecord()
    /// The values of the input's columns in the order of the schema, each one valid JSON or `nil`.
    package var ownValues: [[UInt8]?] = []

    /// Creates a row. All other columns are absent.
    package init(url: String, key: String, status: Status) {
        self.url = url
        self.key = key
        self.status = status
    }

    /// Returns the row as a JSON object without line feeds. Missing own values are `null`, surplus ones are left out.
    package func json(_ schema: SidecarSchema) -> [UInt8] {
        var writer = JSONWriter(.required)
        writer.add("url", url)
        writer.add("key", key)
        writer.add("status", status.rawValue)
        writer.add("error_message", orNull: errorMessage)
        if schema.hasErrorClass { writer.add(SidecarSchema.errorClass, orNull: errorClass) }
        writer.add(sizesOf: image)
        writer.add("exif", orNull: image.exif)
        writer.add("sha256", orNull: image.sha256?.hex)
        for (index, column) in schema.ownColumns.enumerated() {
            let value = index < ownValues.count ? ownValues[index] : nil
            if let value, !value.isEmpty { writer.add(column, json: value) } else { writer.addNull(column) }
        }
        return writer.object
    }

    /// Returns the row as a line of JSON Lines: the object and a line feed.
    package func line(_ schema: SidecarSchema) -> [UInt8] {
        json(schema) + [0x0A]
    }
}

extension JSONWriter {
    /// Adds the sizes of an image, in pixels.
    mutating func add(sizesOf image: ImageRecord) {
        add("width", orNull: image.width)
        add("height", orNull: image.height)
        add("original_width", orNull: image.originalWidth)
        add("original_height", orNull: image.originalHeight)
    }
}
