#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Bytes {
    /// Creates bytes from a copy of `data`.
    public init(_ data: Data) {
        self.init([UInt8](data))
    }
}
