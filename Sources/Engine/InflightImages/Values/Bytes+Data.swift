public import FoundationEssentials

extension Bytes {
    /// Creates bytes from a copy of `data`.
    public init(_ data: Data) {
        self.init([UInt8](data))
    }
}
