package import InflightConcurrency

/// The errors that all codecs throw, in the same words.
package enum PictureError {
    package static func damaged(_ format: ImageFormat, _ what: String) -> LoadError {
        LoadError(.damaged, stage: .decode, message: "The \(format) picture is damaged: \(what). Fetch it again.")
    }

    package static func cutShort(_ format: ImageFormat) -> LoadError {
        LoadError(.damaged, stage: .decode, message: "The \(format) picture is cut short. Fetch it again.")
    }

    package static func unsupported(_ format: ImageFormat, _ what: String) -> LoadError {
        LoadError(
            .unsupportedFormat, stage: .decode, message: "The \(format) picture is of a kind that is not read: \(what)."
        )
    }

    package static var cancelled: LoadError {
        LoadError(.cancelled, stage: .decode, message: "The decoding was cancelled.")
    }

    package static var noMemory: LoadError {
        LoadError(
            .tooManyPixels, stage: .decode,
            message: "There is not enough memory for the picture. Ask for a smaller one."
        )
    }

    package static func notWritten(_ format: ImageFormat) -> LoadError {
        LoadError(
            .unsupportedFormat, stage: .encode,
            message: "\(format.rawValue.uppercased()) is not written. Choose jpeg, png or webp.")
    }

    package static func cannotEncode(_ format: ImageFormat, _ what: String) -> LoadError {
        LoadError(.cannotEncode, stage: .encode, message: "The picture cannot be written as \(format): \(what).")
    }
}

extension CancellationFlag {
    package func check() throws(LoadError) {
        if isCancelled { throw PictureError.cancelled }
    }
}
