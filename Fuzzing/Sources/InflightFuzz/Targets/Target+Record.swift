@testable import InflightCore
@testable import InflightDisk

extension Target {
    /// A record in the disk cache's index, and its row.
    static let record = Target(name: "record") { bytes in
        let record = try? EntryRecord(bytes)
        if let record {
            require(EntryRecord.canHold(record.response), "a parsed record can be written")
            let written = record.encoded()
            require((try? EntryRecord(written)) == record, "a written record is parsed to the same record")
            if let size = EntryRecord.size(key: record.key, record.response) {
                require(written.count <= size, "a record is no larger than its estimate")
            }
        }
        var row = EntryRow(id: 1, rank: 0, room: 0, file: 0, length: 0, sum: 0, record: example, identity: 7)
        require(row.checked(identity: 7) != nil, "an unchanged row is accepted")
        row.record = bytes
        require(row.checked(identity: 7) == nil || bytes == example.encoded(), "a changed record breaks the seal")
        if let record { row.length = Int64(record.response.bodyRange.count) }
        row.seal = row.expectedSeal(identity: 7)
        require((row.checked(identity: 7) != nil) == (record != nil), "a sealed row needs a valid record")
        require(row.checked(identity: 8) == nil, "another cache's row is rejected")
    }

    private static let example = EntryRecord(
        key: StoreKey("http://a.example/1"), stored: .example,
        response: StoredResponse(
            method: "GET", url: "http://a.example/1", varyFields: HTTPFields(),
            head: ResponseHead(status: 200), requestTime: .example, responseTime: .example, bodyRange: 0..<0,
            totalLength: 0))
}
