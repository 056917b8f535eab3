import InflightConcurrency

// The state of a fetch beside its machine, grouped by lifetime: the attempts for a URL, an exchange, a received
// response.

extension FetchJob {
    enum Handles: FetchHandles {
        typealias Transfer = any InflightCore.Transfer
        typealias Call = ExtensionCall
        typealias Timer = any ScheduledWork
    }

    typealias Machine = FetchMachine<Handles>

    /// The attempts for one URL; a redirect resets them.
    struct Attempts {
        /// The number of failed attempts, without those that made progress.
        var failed = 0
        /// The number of failed attempts that made progress, and the end of the longest first part of the body so far.
        private var progressed = 0
        var furthest: Int64 = 0
        /// Whether the last failed attempt was lost with a connection that an earlier request had opened.
        var isRepeatOfLoss = false
        /// Whether `willSend` was called again after a 401.
        var hasReauthenticated = false

        /// The maximum number of failed attempts that do not count against the retries.
        private static let maximumProgressed = 100
        /// The minimum number of bytes that count as progress, unless they are 1 % of the body.
        private static let progressBytes: Int64 = 16 * 1024

        /// The body was cut off.
        ///
        /// - Parameter part: its first part, if the rest can be requested.
        /// - Returns: whether the attempt brought enough new bytes not to count against the retries.
        mutating func makesProgress(_ part: Resumption?) -> Bool {
            guard let part else { return false }
            let brought = part.offset - furthest
            furthest = max(furthest, part.offset)
            let percent = part.stored.totalLength.map { $0 / 100 + ($0 % 100 == 0 ? 0 : 1) } ?? .max
            guard brought >= max(1, min(percent, Self.progressBytes)), progressed < Self.maximumProgressed else {
                return false
            }
            progressed += 1
            return true
        }
    }

    /// The current exchange, whose progress the machine tracks.
    struct Exchange {
        /// The time at which the request was sent, and the wall-clock times of the request and of the response's head.
        var sentAt = MonotonicTime.zero
        var requestTime = WallTime(milliseconds: 0)
        var responseTime = WallTime(milliseconds: 0)
        /// The header fields sent, if `willSend` may have changed them.
        var sentFields = HTTPFields()
        /// The interim responses. The transport bounds their number.
        var interimHeads: [ResponseHead] = []
        /// The head of the final response, even if its body is not used.
        var head: ResponseHead?
        var trailers = HTTPFields()
        /// The number of body bytes received.
        var receivedBytes: Int64 = 0
        /// The number of body bytes reported to observers.
        var reportedBytes: Int64 = 0
        /// Whether the exchange's rate is measured.
        var isWatched = false
        /// The decision that makes the rest of the response irrelevant.
        var verdict: Verdict?
    }

    /// The response whose body is received, by one exchange or by several that resume it.
    struct ReceivedResponse: ~Copyable {
        var head: ResponseHead?
        var body = BodyBuffer()
        /// The decoder of the body's content coding, if it has one.
        var coded: CodedBody?
        /// The number of bytes received, before content decoding.
        var rawBytes: Int64 = 0
        var expectedBytes: Int64?
        /// The number of bytes needed before the image's header can be parsed.
        var neededBytes = 0
        /// The partial response that resumes the body, if the body is resumed.
        var continuation: IncomingResponse?
        /// The stored entry of the first part, if it came from the store. The complete body replaces it.
        var storedPart: StoredEntry.ID?
    }

    /// The state that exists only from the first start to the end, so that a queued fetch stays small.
    // Unchecked: guarded as the job's own state is.
    final class Work: @unchecked Sendable {
        var machine: Machine
        /// The start of the load's total time, moved by the times without a slot.
        var startedAt: MonotonicTime
        /// The time at which the fetch gave its slot back, to wait for another or before a retry.
        var waitsSince: MonotonicTime?
        /// The request of the last redirect; `nil` before the first.
        var redirected: RedirectPolicy.Exchange?
        /// The stored entry of each followed redirect, if it has one. A redirect whose cookie the load sends is not
        /// stored, because a later load would follow it without the cookie.
        var redirectEntries: [StoredEntryReference?] = []
        /// The time at which the first of the followed redirects becomes stale.
        var redirectExpiry: WallTime?
        /// The transaction with the store; `nil` without a store, and before the first lookup.
        var cache: CacheTransaction?
        /// Whether the store was looked up for the current URL.
        var isLookedUp = false
        /// Whether the response is stored and stale.
        var isStale = false
        /// Whether its revalidation is already in flight.
        var isFollowed = false
        /// The error because of which a stored response is served instead of sending the request.
        var refusal: LoadError?
        /// The range request that is to resume a body.
        var resumption: Resumption?
        var attempts = Attempts()
        /// The number of requests sent.
        var sentExchanges = 0
        var exchange = Exchange()
        var response = ReceivedResponse()
        /// The body's ID in the budget of bodies in flight, once it holds bytes.
        var bodyID: BodyBudget<Paused>.ID?
        /// Makes previews, if a subscriber requests them.
        var previews: PreviewProducer?
        /// The options of the previews that subscribers requested when progress was last reported.
        var previewOptions: ImageRequest.PreviewOptions?
        /// The time of the last report of progress to subscribers; `nil` if the body has none.
        var reportedAt: MonotonicTime?
        /// Progress since then.
        var unreported: ImageTask.Progress?

        init(startedAt: MonotonicTime, _ early: Machine.EarlyInputs) {
            self.startedAt = startedAt
            machine = Machine(early)
        }

        /// Discards the received body.
        func forgetBody() {
            response = ReceivedResponse()
            (reportedAt, unreported) = (nil, nil)
            cache?.raw.reset()
            exchange.receivedBytes = 0
            previews?.restarted()
        }
    }
}
