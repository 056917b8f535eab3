public import InflightConcurrency

/// Transforms a decoded image.
///
/// The engine calls a processor on threads of its decode lane, several calls at once, with no lock held.
/// ``ImageProcessor`` has the most common transforms. `ProcessorConformance` in the test kit checks any other.
public protocol ImageProcessing: Sendable {
    /// The kind and parameters of the processor, as in `blur(radius: 4)`.
    ///
    /// Processors with the same identity are equal: their jobs are coalesced and their results shared. Stored results
    /// outlive the process, so a processor that yields other pixels than before needs another identity.
    var identity: String { get }

    /// Returns the transformed image, in any format; the engine converts it to the requested one.
    ///
    /// Checks `cancellation` while it runs.
    ///
    /// - Throws: ``LoadError/Code/cancelled`` soon after the flag is set; ``LoadError/Code/invalidRequest`` for invalid
    ///   parameters.
    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer
}

extension ImageProcessing {
    /// Returns the transformed image, without a way to cancel.
    ///
    /// - Throws: the errors of ``process(_:cancellation:)``.
    public func process(_ pixels: PixelBuffer) throws(LoadError) -> PixelBuffer {
        try process(pixels, cancellation: CancellationFlag())
    }
}

/// The errors that all processors throw, with the same messages.
enum ProcessingError {
    static var cancelled: LoadError {
        LoadError(.cancelled, stage: .process, message: "Processing was cancelled.")
    }

    static func invalid(_ message: String) -> LoadError {
        LoadError(.invalidRequest, stage: .process, message: message)
    }

    /// Throws if a result would have more pixels than its source and more than 100 million.
    static func checkSize(width: Int, height: Int, of source: PixelBuffer) throws(LoadError) {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        guard overflow || product > max(100_000_000, source.width * source.height) else { return }
        throw LoadError(
            .tooManyPixels, stage: .process,
            message:
                "The result would have \(width) × \(height) pixels; the limit is 100000000 pixels. "
                + "Request a smaller size.")
    }
}

extension CancellationFlag {
    /// Returns the number of rows to process between two checks of the flag: about a millisecond.
    package static func band(width: Int) -> Int {
        max(1, 65_536 / max(1, width))
    }

    /// For processors: throws if the flag is set.
    func checkProcessing() throws(LoadError) {
        if isCancelled { throw ProcessingError.cancelled }
    }
}
