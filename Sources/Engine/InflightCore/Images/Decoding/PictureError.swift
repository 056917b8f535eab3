package import InflightConcurrency

/// The errors that all codecs throw, with the same messages.
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

    package static func noPages(_ format: ImageFormat) -> LoadError {
        LoadError(
            .invalidRequest, stage: .decode,
            message: "Pictures in the format \(format) have no pages here but the first. Ask for that.")
    }

    /// - Parameters:
    ///   - page: from 0, as in code; the message counts from 1.
    ///   - count: the known number of pages; not all may have been counted.
    package static func noPage(_ page: Int, of count: Int) -> LoadError {
        let (number, overflow) = page.addingReportingOverflow(1)
        return LoadError(
            .invalidRequest, stage: .decode,
            message:
                "The picture has no page \(overflow ? page : number), as it has \(count). Ask for one from 1 to \(count)."
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

    package static func tooMuchMemory(_ needed: Int, allowed: Int) -> LoadError {
        LoadError(
            .tooMuchMemory, stage: .decode,
            message: "Decoding the picture would take about \(needed >> 20) MB, and at most \(allowed >> 20) MB are "
                + "allowed. Ask for a smaller size, or raise the limit if its source is trusted.")
    }

    package static func notWritten(_ format: ImageFormat) -> LoadError {
        LoadError(
            .unsupportedFormat, stage: .encode,
            message: "\(format.rawValue.uppercased()) is not written. Choose jpeg, png or webp.")
    }

    package static func noPlaceForMetadata(_ format: ImageFormat) -> LoadError {
        cannotEncode(format, "metadata is not written into it here. Leave it out, or choose jpeg, png or webp")
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
