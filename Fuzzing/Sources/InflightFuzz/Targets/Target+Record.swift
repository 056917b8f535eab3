@testable import InflightCore
@testable import InflightDisk

extension Target {
    /// A record of the disk cache's index, and the row that it stands in.
    static let record = Target(name: "record") { bytes in
        let record = try? EntryRecord(bytes)
        if let record {
            require(EntryRecord.canHold(record.response), "a record that was read can be written")
            let written = record.encoded()
            require((try? EntryRecord(written)) == record, "a record is read as it was written")
            if let size = EntryRecord.size(key: record.key, record.response) {
                require(written.count <= size, "a record takes no more than was reckoned")
            }
        }
        var row = EntryRow(id: 1, rank: 0, room: 0, file: 0, length: 0, sum: 0, record: example, identity: 7)
        require(row.checked(identity: 7) != nil, "a row is read as it was written")
        row.record = bytes
        require(row.checked(identity: 7) == nil || bytes == example.encoded(), "another record breaks the seal")
        if let record { row.length = Int64(record.response.bodyRange.count) }
        row.seal = row.rightSeal(identity: 7)
        require((row.checked(identity: 7) != nil) == (record != nil), "behind a whole seal only a record is believed")
        require(row.checked(identity: 8) == nil, "another cache's row is not believed")
    }

    private static let example = EntryRecord(
        key: StoreKey("http://a.example/1"), stored: .example,
        response: StoredResponse(
            method: "GET", url: "http://a.example/1", selectingFields: HTTPFields(),
            head: ResponseHead(status: 200), requestTime: .example, responseTime: .example, bodyRange: 0..<0,
            totalLength: 0))
}
