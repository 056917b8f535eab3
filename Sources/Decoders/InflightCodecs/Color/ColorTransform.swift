internal import CInflightCodecs
import InflightConcurrency
import InflightImages

/// Converts the colours of a profile to sRGB, on pixels of four samples.
// Safe: the handle is not passed on and lives as long as the object.
@safe final class ColorTransform: Sendable {
    enum Kind: Int32, Sendable {
        case gray, rgb, invertedCMYK, deepGray, deepRGB
    }

    // The library's transforms are immutable after creation, and several threads may use them.
    private nonisolated(unsafe) let handle: OpaquePointer

    private init(_ handle: OpaquePointer) {
        unsafe self.handle = unsafe handle
    }

    deinit {
        unsafe inflight_color_close(handle)
    }

    /// Converts pixels of 8 bits per sample in place.
    func apply(_ pixels: UnsafeMutableRawBufferPointer, pixelCount: Int) {
        precondition(pixels.count >= pixelCount * 4)
        guard let base = pixels.baseAddress else { return }
        // The library counts pixels in 32 bits, so large buffers are converted in parts.
        var done = 0
        while done < pixelCount {
            let count = min(pixelCount - done, 1 << 20)
            unsafe inflight_color_apply(
                handle, (base + done * 4).assumingMemoryBound(to: UInt8.self), count)
            done += count
        }
    }

    /// Converts a row of pixels of 16 bits per sample to 8 bits.
    func apply(_ row: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, pixelCount: Int) {
        precondition(row.count >= pixelCount * 8 && target.count >= pixelCount * 4 && pixelCount <= .init(UInt32.max))
        guard let source = row.baseAddress, let base = target.baseAddress else { return }
        unsafe inflight_color_apply_deep(
            handle, source.assumingMemoryBound(to: UInt16.self), base.assumingMemoryBound(to: UInt8.self), pixelCount)
    }

    /// Returns the transform of an embedded profile, from the cache if it was used recently, or `nil` if none is needed
    /// or possible: the profile is sRGB, too large, corrupt, or for other pixels.
    static func forProfile(_ profile: Bytes, kind: Kind) -> ColorTransform? {
        guard profile.count <= ICCProfile.maximumCount else { return nil }
        let header = ICCProfile(profile, 0..<profile.count)
        guard header.isPlausible, !header.isSRGB else { return nil }
        if let known = cache.withLock({ $0.find(profile, kind) }) { return known.transform }
        let handle = unsafe profile.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.flatMap {
                unsafe inflight_color_open_profile(
                    $0.assumingMemoryBound(to: UInt8.self), bytes.count, kind.rawValue)
            }
        }
        let transform = unsafe handle.map { unsafe ColorTransform($0) }
        let entry = Cache.Entry(profile: profile, kind: kind, transform: transform)
        let evicted = cache.withLock { $0.insert(entry) }
        withExtendedLifetime(evicted) {}
        return transform
    }

    /// Returns the transform of colours given by white point and primaries (x and y of each) and the decoding curve:
    /// see `inflight_color_open_primaries`.
    static func forPrimaries(_ chromaticities: [Double], curve: [Double], kind: Kind) -> ColorTransform? {
        guard chromaticities.count == 8, curve.count == 7 else { return nil }
        let handle = unsafe inflight_color_open_primaries(chromaticities, curve, kind.rawValue)
        return unsafe handle.map { unsafe ColorTransform($0) }
    }

    private static let cache = Guarded(Cache())

    /// The most recently used transforms. Creating one takes up to some milliseconds, and most images of a site share
    /// one profile. Invalid profiles are cached too.
    private struct Cache {
        struct Entry {
            let profile: Bytes
            let kind: Kind
            let transform: ColorTransform?
        }

        private var entries: [Entry] = []

        mutating func find(_ profile: Bytes, _ kind: Kind) -> Entry? {
            guard let index = entries.firstIndex(where: { $0.kind == kind && $0.profile == profile }) else {
                return nil
            }
            let entry = entries.remove(at: index)
            entries.append(entry)
            return entry
        }

        /// Returns the evicted entry, so that the caller releases it without holding the lock.
        mutating func insert(_ entry: Entry) -> Entry? {
            entries.append(entry)
            return entries.count > 8 ? entries.removeFirst() : nil
        }
    }
}
