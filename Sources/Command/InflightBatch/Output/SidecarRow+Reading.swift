internal import InflightCore

extension SidecarSchema {
    /// Creates the schema of a line of a sidecar; `nil` if it is not one.
    init?(line: ArraySlice<UInt8>) {
        guard let members = (try? JSONScanner.members(line)) ?? nil else { return nil }
        let names = members.map(\.name)
        guard names.starts(with: Self.standardColumns) else { return nil }
        // Names that were written are unique, so that they are written again.
        let own = Array(names.dropFirst(Self.standardColumns.count))
        self.init(ownColumns: own)
        guard ownColumns == own else { return nil }
    }
}

extension SidecarRow {
    /// Creates a row from its line in a sidecar, without the line feed.
    ///
    /// Returns `nil` unless ``json(_:)`` returns this line for the row.
    init?(line: ArraySlice<UInt8>, schema: SidecarSchema) {
        guard (try? UTF8Span(validating: line.span)) != nil, let members = (try? JSONScanner.members(line)) ?? nil,
            members.count == SidecarSchema.standardColumns.count + schema.ownColumns.count
        else { return nil }
        func text(_ index: Int) -> String? { JSONScanner.text(members[index].value) }
        func integer(_ index: Int) -> Int? { Int(String(decoding: members[index].value, as: UTF8.self)) }
        guard let url = text(0), let key = text(1), let status = text(2).flatMap(Status.init),
            // A key is part of a path.
            !key.isEmpty, key.utf8.allSatisfy(\.isKeySafe)
        else { return nil }
        self.init(url: url, key: key, status: status)
        errorMessage = text(3)
        (image.width, image.height) = (integer(4), integer(5))
        (image.originalWidth, image.originalHeight) = (integer(6), integer(7))
        image.exif = text(8)
        image.sha256 = text(9).flatMap(ContentDigest.init(hex:))
        ownValues = members.dropFirst(SidecarSchema.standardColumns.count).map { member in
            member.value.elementsEqual("null".utf8) ? nil : Array(member.value)
        }
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
