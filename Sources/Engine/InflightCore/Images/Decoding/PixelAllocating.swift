/// Where memory for pixels comes from, if not from the heap: a process that hands its pixels to another makes them where
/// the other can see them.
package protocol PixelAllocating: Sendable {
    /// `nil` where there is no such memory. Aligned to 64 bytes at least; its contents may be anything.
    func allocate(byteCount: Int) -> UnsafeMutableRawPointer?
    /// Gives back what ``allocate(byteCount:)`` gave; on any thread.
    func deallocate(_ memory: UnsafeMutableRawPointer, byteCount: Int)
}

package enum PixelAllocation {
    /// Where pixels are made by whatever is called inside; `nil`: on the heap.
    @TaskLocal static var current: (any PixelAllocating)?

    /// Whatever is called inside makes its pixels there.
    package static func with<Value>(
        _ allocator: any PixelAllocating, _ body: () throws(LoadError) -> Value
    ) throws(LoadError) -> Value {
        try $current.withValue(allocator) { Result { () throws(LoadError) in try body() } }.get()
    }
}
