public import InflightConcurrency

/// Changes a decoded picture. Called on a thread of the decode lane, several at once, with no lock held.
///
/// What is needed most is there already: see ``ImageProcessor``. `ProcessorConformance` in the test kit checks any other.
public protocol ImageProcessing: Sendable {
    /// What makes this processor the same as another: kind and parameters, as in `blur(radius: 4)`. Two processors with
    /// the same identity share their work and their results.
    var identity: String { get }

    /// Gives the changed picture, in whichever format it likes: what was asked for is made of it afterwards. Looks at
    /// `cancellation` while it works, and throws ``LoadError/Code/cancelled`` soon after it is set.
    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer
}

/// The errors that all processors throw, in the same words.
enum ProcessingError {
    static var cancelled: LoadError {
        LoadError(.cancelled, stage: .process, message: "The processing was cancelled.")
    }

    static func invalid(_ message: String) -> LoadError {
        LoadError(.invalidRequest, stage: .process, message: message)
    }

    /// Throws where a result would have more pixels than both its source and 100 million.
    static func checkSize(width: Int, height: Int, of source: PixelBuffer) throws(LoadError) {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        guard overflow || product > max(100_000_000, source.width * source.height) else { return }
        throw LoadError(
            .tooManyPixels, stage: .process,
            message:
                "A picture of \(width) × \(height) pixels would be made, and at most 100000000 pixels are allowed. "
                + "Ask for a smaller one.")
    }
}

extension CancellationFlag {
    /// How many rows of so many pixels may pass between two looks at the flag: about a millisecond's work.
    package static func band(width: Int) -> Int {
        max(1, 65_536 / max(1, width))
    }

    /// Throws where it is set: for processors.
    func checkProcessing() throws(LoadError) {
        if isCancelled { throw ProcessingError.cancelled }
    }
}
