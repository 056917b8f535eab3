// `import Inflight` is all that an app needs: the engine with its defaults. It exports one by one the types that an app
// may name, which Scripts/public-names.txt lists. Types for authors of transports, stores and codecs are in
// `InflightCore`, patterns for asynchronous classes in `InflightPatterns`, and what needs all of Foundation, which is
// large, in `InflightFoundation`. A program that does without some back ends depends on the targets behind this one.

@_exported public import struct InflightConcurrency.CallbackQueue
@_exported public import class InflightConcurrency.CancellationFlag
@_exported public import struct InflightConcurrency.MainCallbackQueue
@_exported public import struct InflightCore.AddressPolicy
@_exported public import struct InflightCore.Checksum
@_exported public import struct InflightCore.DataEvents
@_exported public import struct InflightCore.EncodedImage
@_exported public import struct InflightCore.HTTPFields
@_exported public import class InflightCore.ImageLoader
@_exported public import class InflightCore.ImagePipeline
@_exported public import struct InflightCore.ImagePreview
@_exported public import struct InflightCore.ImageRequest
@_exported public import protocol InflightCore.ImageRequestConvertible
@_exported public import class InflightCore.ImageTask
@_exported public import struct InflightCore.LoadEvents
@_exported public import struct InflightCore.LoadSource
@_exported public import struct InflightCore.LoadedImage
@_exported public import struct InflightCore.LoadedResponse
@_exported public import struct InflightCore.MemoryCacheConfiguration
@_exported public import class InflightCore.Prefetcher
@_exported public import struct InflightCore.RemoteImageInfo
@_exported public import struct InflightCore.ResponseHead
@_exported public import struct InflightCore.RetryPolicy
@_exported public import class InflightCurl.CurlTransport
@_exported public import class InflightDisk.DiskStore
@_exported public import class InflightImages.AnimatedImage
@_exported public import struct InflightImages.BlurHash
@_exported public import struct InflightImages.Bytes
@_exported public import struct InflightImages.CodecRegistry
@_exported public import struct InflightImages.DecodeOptions
@_exported public import struct InflightImages.EXIF
@_exported public import struct InflightImages.EncodeOptions
@_exported public import struct InflightImages.ImageFormat
@_exported public import struct InflightImages.ImageInfo
@_exported public import struct InflightImages.ImageMetadata
@_exported public import protocol InflightImages.ImageProcessing
@_exported public import struct InflightImages.ImageProcessor
@_exported public import struct InflightImages.LoadError
@_exported public import struct InflightImages.PixelBuffer
@_exported public import struct InflightImages.PixelColor
@_exported public import struct InflightImages.Resize
@_exported public import struct InflightImages.ThumbHash
@_exported public import enum InflightWorker.DecodeIsolation
@_exported public import struct InflightWorker.DecoderConfiguration
