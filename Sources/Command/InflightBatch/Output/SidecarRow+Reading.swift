internal import InflightCore

extension SidecarSchema {
    /// Creates the schema of a line of a sidecar; `nil` if it is not one.
    init?(line: ArraySlice<UInt8>) {
        guard let members = (try? JSONScanner.members(line)) ?? nil else { return nil }
        let names = members.map(\.name)
        // A column of the input that has this name is behind all others.
        let hasErrorClass = names.dropFirst(4).first == Self.errorClass
        let count = Self(hasErrorClass: hasErrorClass).standardColumns.count
        // Names that were written are unique, so that they are written again.
        self.init(ownColumns: Array(names.dropFirst(count)), hasErrorClass: hasErrorClass)
        guard standardColumns + ownColumns == names else { return nil }
    }
}

extension SidecarRow {
    /// Creates a row from its line in a sidecar, without the line feed.
    ///
    /// Returns `nil` unless ``json(_:)`` returns this line for the row.
    init?(line: ArraySlice<UInt8>, schema: SidecarSchema) {
        guard (try? UTF8Span(validating: line.span)) != nil, let members = (try? JSONScanner.members(line)) ?? nil,
            members.count == schema.standardColumns.count + schema.ownColumns.count
        else { return nil }
        var values = members.map(\.value)[...]
        func text() -> String? { values.popFirst().flatMap { JSONScanner.text($0) } }
        func integer() -> Int? { values.popFirst().flatMap { Int(String(decoding: $0, as: UTF8.self)) } }
        guard let url = text(), let key = text(), let status = text().flatMap(Status.init),
            // A key is part of a path.
            !key.isEmpty, key.utf8.allSatisfy(\.isKeySafe)
        else { return nil }
        self.init(url: url, key: key, status: status)
        errorMessage = text()
        if schema.hasErrorClass { errorClass = text() }
        (image.width, image.height) = (integer(), integer())
        (image.originalWidth, image.originalHeight) = (integer(), integer())
        image.exif = text()
        image.sha256 = text().flatMap(ContentDigest.init(hex:))
        ownValues = values.map { $0.elementsEqual("null".utf8) ? nil : Array($0) }
        guard json(schema).elementsEqual(line) else { return nil }
    }
}

extension ContentDigest {
    /// Creates a digest from 64 hexadecimal digits; `nil` from any other text.
    init?(hex: String) {
        guard let bytes = Hexadecimal.bytes(hex.utf8) else { return nil }
        self.init(bytes)
    }
}
