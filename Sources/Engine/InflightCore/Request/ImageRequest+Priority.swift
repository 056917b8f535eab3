extension ImageRequest {
    /// The priority of a load. A job takes the highest priority of its subscribers, and follows it as they come, change
    /// and leave: queued, paused or running.
    ///
    /// Over HTTPS the libcurl transport also sends priorities other than `normal` to the server: as a `Priority` field
    /// (RFC 9218) with urgency 1 for `veryHigh`, 2, 4 and 5 for `veryLow` (3, the default, is left out), and over
    /// HTTP/2 as the weight of the stream (RFC 7540), which changes with the job's priority. Servers may ignore both.
    public enum Priority: UInt8, Sendable, Hashable, Comparable, CaseIterable {
        /// For images that may never be needed: prefetching.
        case veryLow
        /// Below normal. The engine revalidates stale responses with this priority.
        case low
        /// The default.
        case normal
        /// Above normal: for images that are about to be shown.
        case high
        /// For images that are on screen now.
        case veryHigh

        @inlinable
        public static func < (left: Self, right: Self) -> Bool {
            left.rawValue < right.rawValue
        }
    }
}
