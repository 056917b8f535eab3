import InflightImages

extension Bytes {
    /// Returns a copy, which does not retain the file, or `nil` if the range is empty or too long for metadata.
    func metadataPart(_ range: Range<Int>) -> Bytes? {
        range.isEmpty || range.count > ImageMetadata.maximumBytes ? nil : slice(range)
    }
}
