/// What a store keeps of a picture.
///
/// A picture that is kept as it was asked for, resized and processed, costs no more work when it is asked for again in
/// just that way, and often takes less room. It is used as long as HTTP lets the answer be used that it was made of, and as
/// nothing newer is stored of that; then the picture is made again. Of a load that was redirected only the bytes are kept.
public enum StoredForm: Sendable, Hashable {
    /// The bytes, as they came.
    case original
    /// The picture as it was asked for, written in this way. With PNG its pixels come back as they were; with JPEG what is
    /// transparent in it would be lost, so that such a picture is written as PNG whatever is said here. The file that is
    /// found again is all there is to know: `info`, `bodyBytes` speak of it. ``ImageRequest/keepsMetadata`` goes before
    /// metadata that stands here; where the format has no place for it, nothing is kept.
    case processed(EncodeOptions)
    /// Both: the next size is made without asking the server.
    case both(EncodeOptions)

    /// The picture as it was asked for, without loss.
    public static var processed: StoredForm { .processed(EncodeOptions(format: .png)) }
    /// The bytes, and the picture as it was asked for, without loss.
    public static var both: StoredForm { .both(EncodeOptions(format: .png)) }

    var keepsOriginal: Bool {
        if case .processed = self { false } else { true }
    }

    /// How processed pictures are written; `nil` where none are kept.
    var processedOptions: EncodeOptions? {
        switch self {
        case .original: nil
        case .processed(let options), .both(let options): options
        }
    }
}
