internal import InflightCore

/// The classes of failures, which name them in the journal, in reports and in `retry --class`.
package enum FailureClasses {
    /// The class of images whose server opts out of their use.
    static let optOut = "opt_out"
    /// The class of images whose decode exceeded its time limit. Another attempt would, too.
    private static let decodeTimeout = "decode_timeout"

    /// The class of images that are smaller than the minimum.
    static let tooSmall = "too_small"
    /// The class of images whose sides differ by more than the maximum ratio.
    static let aspectRatio = "aspect_ratio"
    /// The class of bodies that are not those that their rows describe.
    static let hashMismatch = "hash_mismatch"

    /// The class of URLs whose host has no address.
    static let hostNotFound = "host_not_found"

    /// Returns the class of a failed load: the name of its code, `http_404` for a status, or ``hostNotFound``.
    static func name(_ error: LoadError) -> String {
        if error.underlying is HostNotFound { return hostNotFound }
        if error.code == .badStatus, let status = error.status { return "http_\(status)" }
        if error.code == .timedOut, error.stage == .decode { return decodeTimeout }
        return error.code.rawValue
    }

    /// The classes of bodies that were received, and that no image could be made of.
    private static let imageFaults: Set<String> = Set(
        [
            LoadError.Code.notAnImage, .unsupportedFormat, .damaged, .tooManyPixels, .tooMuchMemory, .decoderCrashed,
            .decoderUnavailable, .tooManyFrames, .cannotEncode,
        ].map(\.rawValue) + [decodeTimeout, tooSmall, aspectRatio])

    private static let transientFaults: Set<String> = Set(
        [
            LoadError.Code.cannotConnect, .connectionLost, .timedOut, .tooManyOpenFiles, .truncated,
            .originUnavailable, .decoderCrashed, .decoderUnavailable,
        ].map(\.rawValue)
            + [HostSchedule.FailureClass.unreachable, .impatient].map(\.rawValue))

    /// The classes that no later attempt resolves, beside those of ``imageFaults`` and most statuses.
    private static let lastingFaults: Set<String> = Set(
        [
            LoadError.Code.invalidURL, .unsupportedScheme, .addressNotAllowed, .untrusted, .badResponse, .badRedirect,
            .tooLarge,
        ].map(\.rawValue) + [optOut, hostNotFound, hashMismatch, HostSchedule.FailureClass.disallowed.rawValue])

    /// Returns whether the rows of some run may fail with this class. Others are misspelled.
    package static func isKnown(_ name: String) -> Bool {
        if name.hasPrefix("http_") { return Int(name.dropFirst(5)).map { (100...999).contains($0) } ?? false }
        return imageFaults.contains(name) || transientFaults.contains(name) || lastingFaults.contains(name)
    }

    /// Returns whether a body was received, and no image could be made of it: img2dataset's `failed_to_resize`.
    static func isImageFault(_ name: String) -> Bool { imageFaults.contains(name) }

    /// Returns whether a later attempt may succeed.
    package static func isTransient(_ name: String) -> Bool {
        if transientFaults.contains(name) { return true }
        guard name.hasPrefix("http_"), let status = Int(name.dropFirst(5)) else { return false }
        return [408, 425, 429].contains(status) || (500..<600).contains(status) && status != 501
    }
}
