/// An image found in memory for a load.
struct MemoryHit {
    var image: LoadedImage
    /// The number of the plan's steps that it has been through: all, or a prefix of them.
    var steps: Int
}
