import InflightConcurrency

// What a fetch knows, in the order in which it is forgotten: of a try, of an exchange, of the answer whose body is taken.

extension FetchJob {
    enum Parts: FetchParts {
        typealias Transfer = any InflightCore.Transfer
        typealias Call = ExtensionCall
        typealias Timer = any ScheduledWork
    }

    typealias Machine = FetchMachine<Parts>

    /// What was tried for one URL: a redirect begins anew.
    struct Tries {
        /// How many have failed.
        var failed = 0
        /// Whether the last of them was lost with a connection that an earlier request had opened.
        var isRepeatOfLoss = false
        /// Whether the hook was asked for better proof.
        var hasAskedAgain = false
    }

    /// One exchange, of which the machine says how far it is.
    struct Exchange {
        /// When it was sent: the request, and the head of its response by the wall clock.
        var sentAt = MonotonicTime.zero
        var requestTime = WallTime(milliseconds: 0)
        var responseTime = WallTime(milliseconds: 0)
        /// What was sent, where a hook may be asked for better proof.
        var sentFields = HTTPFields()
        /// Whether a response has begun to come.
        var hasAnswer = false
        /// The interim answers. How many there may be is the transport's to bound.
        var interimHeads: [ResponseHead] = []
        /// The head of the final answer, whatever came of it.
        var head: ResponseHead?
        var trailers = HTTPFields()
        /// How many bytes of a body came.
        var receivedBytes: Int64 = 0
        /// How many bytes of the body listeners know of.
        var toldBytes: Int64 = 0
        /// Whether its rate is watched.
        var isWatched = false
        /// It is over as far as this job is concerned; the rest is let pass.
        var verdict: Verdict?
    }

    /// The answer whose body is taken: by one exchange, or by several that go on where the last stopped.
    struct Answer: ~Copyable {
        var head: ResponseHead?
        var body = BodyBuffer()
        /// What undoes the body's content coding, where it has one.
        var coded: CodedBody?
        /// How many bytes of the body there are, its content coding not undone.
        var rawBytes: Int64 = 0
        var expectedBytes: Int64?
        /// So many are needed before the header can be told.
        var neededBytes = 0
        /// The rest of a body that comes.
        var goingOn: IncomingResponse?
        /// What holds the first part of the body in the store, where it was found there: the whole takes its place.
        var storedPart: StoredEntry.ID?
    }

    /// What exists only from the first start to the end: a queued fetch is small.
    // Unchecked: guarded as the job's own state is.
    final class Work: @unchecked Sendable {
        var machine: Machine
        /// Later by the waits between tries.
        var startedAt: MonotonicTime
        /// What was asked for after the last redirect; `nil` before the first.
        var redirected: RedirectPolicy.Exchange?
        /// When the first of the redirects that were followed becomes stale.
        var redirectExpiry: WallTime?
        /// What it has to do with what is stored; `nil` where there is no store, and before it is known.
        var cache: CacheTransaction?
        /// Whether it is known what is stored.
        var isLookedUp = false
        /// Whether the answer is stored and past its time.
        var isStale = false
        /// Whether what follows it is asked for already.
        var isFollowed = false
        /// Why it is not sent, where what is stored is to be served instead.
        var refusal: LoadError?
        /// The rest of a body that is wanted, the first part of which is there.
        var resumption: Resumption?
        var tries = Tries()
        /// How many exchanges were sent.
        var sentExchanges = 0
        var exchange = Exchange()
        var answer = Answer()
        /// What the body is known by to the budget of all bodies in flight, once it holds something.
        var bodyID: BodyBudget<Paused>.ID?
        /// Shows what there is so far, where somebody wants that.
        var previews: PreviewMaker?

        init(startedAt: MonotonicTime, _ early: Machine.Early) {
            self.startedAt = startedAt
            machine = Machine(early)
        }

        /// What came of the body is of no use.
        func forgetBody() {
            answer = Answer()
            cache?.raw.reset()
            exchange.receivedBytes = 0
            previews?.beganAnew()
        }
    }
}
