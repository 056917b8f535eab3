internal import InflightCore

/// What an image must be so that it is stored.
package struct ImageFilter: Hashable, Sendable {
    /// The minimum width in pixels, as fetched and upright; 0 accepts any.
    package var minimumWidth = 0
    /// The minimum height in pixels, as fetched and upright; 0 accepts any.
    package var minimumHeight = 0
    /// The maximum ratio of the longest to the shortest side; `nil` accepts any.
    package var maximumAspectRatio: Double?

    /// Creates a filter that accepts every image.
    package init() {}

    /// Returns the failure of an image that is not stored, or `nil`.
    func failure(of info: ImageInfo) -> (class: String, message: String)? {
        let (width, height) = (info.width, info.height)
        let size = "\(width) × \(height) pixels"
        if width < minimumWidth || height < minimumHeight {
            let sides = [minimumWidth, minimumHeight].map { $0 > 0 ? "\($0)" : "" }.joined(separator: "x")
            return (FailureClasses.tooSmall, "The image has \(size), less than --min-size \(sides).")
        }
        if let maximumAspectRatio, Double(max(width, height)) / Double(max(1, min(width, height))) > maximumAspectRatio
        {
            return (
                FailureClasses.aspectRatio,
                "The image has \(size). Its sides differ by more than --max-aspect-ratio allows."
            )
        }
        return nil
    }

    /// Returns the failure of a body that is not the one that its row describes, or `nil`.
    ///
    /// - Parameter sha256: The SHA-256 of the body.
    static func failure(
        of body: Bytes, sha256: ContentDigest, expected digests: [BodyDigest]
    ) -> (class: String, message: String)? {
        for expected in digests {
            let found = expected.function == .sha256 ? sha256.hex : BodyDigest(expected.function, of: body).hex
            guard found != expected.hex else { continue }
            return (
                FailureClasses.hashMismatch,
                "The \(expected.function.name) of the body is \(found), in the row it is \(expected.hex)."
            )
        }
        return nil
    }
}
