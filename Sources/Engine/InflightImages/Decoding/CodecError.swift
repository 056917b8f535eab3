package import InflightConcurrency

/// The errors that all codecs throw, with the same messages.
package enum CodecError {
    package static func damaged(_ format: ImageFormat, _ what: String) -> LoadError {
        LoadError(.damaged, stage: .decode, message: "The \(format) image is corrupt: \(what). Use another copy of it.")
    }

    /// - Parameter text: the text of the library that found the damage, which becomes the underlying error.
    package static func damaged(_ format: ImageFormat, _ what: String, libraryText text: String) -> LoadError {
        damaged(format, what).caused(byLibrary: text)
    }

    package static func truncated(_ format: ImageFormat) -> LoadError {
        LoadError(.damaged, stage: .decode, message: "The \(format) image is truncated. Fetch it again.")
    }

    package static func unsupported(_ format: ImageFormat, _ what: String) -> LoadError {
        LoadError(
            .unsupportedFormat, stage: .decode,
            message: "Unsupported kind of \(format) image: \(what). Convert it to another format."
        )
    }

    package static func pagesUnsupported(_ format: ImageFormat) -> LoadError {
        LoadError(
            .invalidRequest, stage: .decode,
            message: "Only the first page of \(format) images is supported. Request the first page.")
    }

    /// - Parameters:
    ///   - page: from 0, as in code; the message counts from 1.
    ///   - count: the known number of pages; not all may have been counted.
    package static func pageOutOfRange(_ page: Int, of count: Int) -> LoadError {
        let (number, overflow) = page.addingReportingOverflow(1)
        return LoadError(
            .invalidRequest, stage: .decode,
            message:
                "The image has no page \(overflow ? page : number). Request a page from 1 to \(count)."
        )
    }

    package static var cancelled: LoadError {
        LoadError(.cancelled, stage: .decode, message: "Decoding was cancelled.")
    }

    package static var outOfMemory: LoadError {
        LoadError(
            .tooManyPixels, stage: .decode,
            message: "Not enough memory to decode the image. Request a smaller size."
        )
    }

    /// - Parameter setting: the name of the limit.
    package static func tooMuchMemory(
        _ needed: Int, allowed: Int, raising setting: String = "maximumDecodeBytes"
    ) -> LoadError {
        LoadError(
            .tooMuchMemory, stage: .decode,
            message: "Decoding the image would take about \(needed >> 20) MiB; the limit is \(allowed >> 20) MiB. "
                + "Request a smaller size, or raise \(setting) if you trust the source.")
    }

    package static func noEncoder(_ format: ImageFormat) -> LoadError {
        LoadError(
            .unsupportedFormat, stage: .encode,
            message: "Encoding to \(format.rawValue.uppercased()) is not supported. Choose jpeg, png or webp.")
    }

    package static func metadataUnsupported(_ format: ImageFormat) -> LoadError {
        cannotEncode(format, "metadata is not supported. Omit it, or choose jpeg, png or webp")
    }

    package static func cannotEncode(_ format: ImageFormat, _ what: String) -> LoadError {
        LoadError(.cannotEncode, stage: .encode, message: "Cannot encode the image as \(format): \(what).")
    }
}

extension LoadError {
    /// Returns the same error with the text of a library as its cause.
    package func caused(byLibrary text: String) -> LoadError {
        LoadError(code, stage: stage, url: url, message: message, status: status, underlying: LibraryError(text: text))
    }
}

/// The error of a library, in its own words.
package struct LibraryError: Error, CustomStringConvertible {
    package let text: String

    package init(text: String) {
        self.text = text
    }

    package var description: String { text }
}

extension CancellationFlag {
    package func check() throws(LoadError) {
        if isCancelled { throw CodecError.cancelled }
    }
}
