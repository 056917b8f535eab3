/// Allocates memory for pixels outside the heap, such as memory shared with the process that receives the pixels.
package protocol PixelAllocating: Sendable {
    /// Returns memory, or `nil` if there is none. It is aligned to at least 64 bytes and uninitialised.
    func allocate(byteCount: Int) -> UnsafeMutableRawPointer?
    /// Releases memory from ``allocate(byteCount:)``; on any thread.
    func deallocate(_ memory: UnsafeMutableRawPointer, byteCount: Int)
}

package enum PixelAllocation {
    /// The allocator for pixels in the current task; if nil, the heap.
    @TaskLocal static var current: (any PixelAllocating)?

    /// Runs `body` with an allocator for all pixels that it creates.
    package static func with<Value>(
        _ allocator: any PixelAllocating, _ body: () throws(LoadError) -> Value
    ) throws(LoadError) -> Value {
        try $current.withValue(allocator) { Result { () throws(LoadError) in try body() } }.get()
    }
}
