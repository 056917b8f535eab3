import InflightCore

extension Bytes {
    /// A copy of a part that is not longer than metadata may be, so that it does not keep the file.
    func metadataPart(_ range: Range<Int>) -> Bytes? {
        range.isEmpty || range.count > ImageMetadata.mostBytes ? nil : slice(range)
    }
}
