import Inflight

extension CodecRegistry {
    /// The codecs of the standard pipeline.
    static let standard = ImagePipeline.Configuration().codecs
}
