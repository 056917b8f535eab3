/// What memory has of what a load asks for.
struct MemoryHit {
    var image: LoadedImage
    /// How many steps of the plan made it: all, or a prefix of them.
    var steps: Int
}
