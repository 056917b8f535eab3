internal import InflightSQLite

extension RowReader.Result {
    /// A digest of the row: 32 bits of the XXH64 of its fields, or of the reason for its reject.
    ///
    /// It does not depend on the row's position. A changed row has the same digest by chance once in 2³².
    package var digest: UInt32 {
        var sum = XXH64(seed: 0)
        switch self {
        case .row(let row):
            sum.add(field: row.url)
            sum.add(field: row.id)
            sum.add(field: row.caption)
            for column in row.columns {
                sum.add(field: column.name)
                switch column.value {
                case .text(let text): sum.add(field: text)
                case .json(let bytes):
                    sum.add(Int64(bytes.count))
                    sum.add(bytes)
                }
            }
        case .reject(let reject):
            sum.add(field: nil)
            sum.add(field: reject.reason.description)
        }
        return UInt32(truncatingIfNeeded: sum.value)
    }
}

extension XXH64 {
    /// Adds a text and its length, so that the ends of fields matter.
    fileprivate mutating func add(field text: String?) {
        guard var text else { return add(-1 as Int64) }
        text.withUTF8 { bytes in
            add(Int64(bytes.count))
            unsafe add(UnsafeRawBufferPointer(bytes))
        }
    }
}
