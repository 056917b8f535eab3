extension VipsMessage {
    /// The phrases of libheif and of libvips's HEIF loader.
    static let heif: [Phrase] = []
}
