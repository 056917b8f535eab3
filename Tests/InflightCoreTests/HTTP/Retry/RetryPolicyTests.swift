import InflightCore
import InflightTestSupport
import Testing

@Suite("Retry policy", .timeLimit(.minutes(10)))
struct RetryPolicyTests {
    private static let now = WallTime(milliseconds: 784_111_777_000)  // Sun, 06 Nov 1994 08:49:37 GMT

    private func decide(
        _ failure: RetryPolicy.Failure, policy: RetryPolicy = RetryPolicy(), method: String = "GET",
        failedAttempts: Int = 1,
        random: Double = 1
    ) -> RetryPolicy.Decision {
        var budget = RetryBudget()
        return policy.decide(
            after: failure, method: method, failedAttempts: failedAttempts, now: Self.now, random: random,
            budget: &budget)
    }

    private func answer(_ status: Int, retryAfter: String? = nil) -> RetryPolicy.Failure {
        .answer(
            ResponseHead(
                status: status, fields: HTTPFields(retryAfter.map { [(name: "Retry-After", value: $0)] } ?? [])))
    }

    @Test(
        "Statuses 408, 425, 429 and 5xx other than 501 are retried",
        arguments: [200, 301, 304, 400, 401, 404, 408, 410, 416, 425, 429, 451, 500, 501, 502, 503, 504, 505, 599, 600])
    func statuses(status: Int) {
        let isTransient = [408, 425, 429, 500, 502, 503, 504, 505, 599].contains(status)
        #expect((decide(answer(status)) != .fail) == isTransient)
    }

    @Test("Transient transport errors are retried and permanent errors are not")
    func errors() {
        for code in [LoadError.Code.cannotConnect, .connectionLost, .timedOut, .tooManyOpenFiles, .truncated] {
            #expect(decide(.error(code)) != .fail)
        }
        for code in [
            LoadError.Code.cancelled, .untrusted, .tooLarge, .badRedirect, .badResponse, .refused, .damaged, .shutDown,
        ] {
            #expect(decide(.error(code)) == .fail, "\(code)")
        }
    }

    @Test("The backoff doubles per attempt up to the maximum delay and is scaled by jitter")
    func waits() {
        var policy = RetryPolicy()
        policy.maximumRetries = 100
        #expect(decide(.error(.timedOut), policy: policy) == .retry(after: .milliseconds(500)))
        #expect(decide(.error(.timedOut), policy: policy, failedAttempts: 2) == .retry(after: .seconds(1)))
        #expect(
            decide(.error(.timedOut), policy: policy, failedAttempts: 3, random: 0.25)
                == .retry(after: .milliseconds(500))
        )
        #expect(decide(.error(.timedOut), policy: policy, failedAttempts: 90) == .retry(after: .seconds(30)))
        #expect(decide(.error(.timedOut), policy: policy, random: 0) == .retry(after: .zero))
    }

    @Test("A fetch is retried twice by default and never if maximumRetries is 0")
    func tries() {
        #expect(decide(.error(.timedOut), failedAttempts: 2) != .fail)
        #expect(decide(.error(.timedOut), failedAttempts: 3) == .fail)
        var policy = RetryPolicy()
        policy.maximumRetries = 0
        #expect(decide(.error(.timedOut), policy: policy) == .fail)
    }

    @Test("RFC 9110 10.2.3: Retry-After sets the delay of the retry, in seconds or as a date")
    func retryAfter() {
        #expect(decide(answer(503, retryAfter: "7")) == .retry(after: .seconds(7)))
        #expect(decide(answer(429, retryAfter: " 7 ")) == .retry(after: .seconds(7)))
        #expect(decide(answer(503, retryAfter: "Sun, 06 Nov 1994 08:49:47 GMT")) == .retry(after: .seconds(10)))
        #expect(decide(answer(503, retryAfter: "Sunday, 06-Nov-94 08:49:47 GMT")) == .retry(after: .seconds(10)))
        // For a time that has passed or a malformed value, the backoff of the policy applies.
        for value in ["0", "Sun, 06 Nov 1994 08:00:00 GMT", "soon", "-1", "1.5", ""] {
            #expect(decide(answer(503, retryAfter: value)) == .retry(after: .milliseconds(500)), "\(value)")
        }
    }

    @Test("A Retry-After beyond the limit fails at once and reports its delay")
    func longWait() {
        #expect(decide(answer(503, retryAfter: "60")) == .retry(after: .seconds(60)))
        #expect(decide(answer(503, retryAfter: "61")) == .retryAfterTooLong(after: .seconds(61)))
        #expect(decide(answer(503, retryAfter: "99999999999999999999")) == .retryAfterTooLong(after: .seconds(1 << 31)))
        #expect(decide(answer(404, retryAfter: "61")) == .fail)
    }

    @Test("A failure is remembered for at most 60 s, and only if the server named a time")
    func memory() {
        let policy = RetryPolicy()
        #expect(policy.memory(of: .retryAfterTooLong(after: .seconds(86_400))) == .seconds(60))
        #expect(policy.memory(of: .retryAfterTooLong(after: .seconds(5))) == .seconds(5))
        #expect(policy.memory(of: .fail) == .zero)
    }

    @Test("RFC 9110 9.2.2: Only idempotent methods are retried unless retriesUnsafeMethods is set")
    func methods() {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
            #expect(decide(.error(.timedOut), method: method) != .fail)
        }
        var policy = RetryPolicy()
        for method in ["POST", "PATCH", "X"] { #expect(decide(.error(.timedOut), method: method) == .fail) }
        policy.retriesUnsafeMethods = true
        #expect(decide(.error(.timedOut), policy: policy, method: "POST") != .fail)
    }

    @Test("A lost connection is retried at once, and all losses within a second cost one retry")
    func losses() {
        #expect(decide(.error(.connectionLost)) == .retry(after: .zero))
        #expect(decide(.error(.connectionLost), failedAttempts: 2) == .retry(after: .seconds(1)))
        #expect(decide(.error(.connectionLost), method: "POST") == .fail)
        var budget = RetryBudget(retries: 2)
        let taken = [0, 999, 1000, 1500, 2000].map { milliseconds in
            budget.takeRetry(ofLossAt: WallTime(milliseconds: Self.now.milliseconds + milliseconds))
        }
        #expect(taken == [true, true, true, true, false])
    }

    @Test("The retry budget limits retries to a tenth of the first attempts")
    func budget() {
        var budget = RetryBudget(retries: 5, perTry: 0.1)
        var retries = 0
        for _ in 0..<1000 {
            budget.recordFirstAttempt()
            for failedAttempts in 1...2 {
                let decision = RetryPolicy().decide(
                    after: .error(.timedOut), method: "GET", failedAttempts: failedAttempts, now: Self.now, random: 0,
                    budget: &budget)
                if decision != .fail { retries += 1 }
            }
        }
        #expect((100...105).contains(retries))
        var full = RetryBudget(retries: 2)
        for _ in 0..<1000 { full.recordFirstAttempt() }
        #expect(full.takeRetry() && full.takeRetry() && !full.takeRetry())
    }

    @Test("No delay is negative or exceeds the maximum, whatever the numbers")
    func numbers() {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<5_000 {
            var policy = RetryPolicy()
            policy.firstDelay = .nanoseconds(Int64(bitPattern: random.next()))
            policy.maximumDelay = .nanoseconds(Int64(bitPattern: random.next()))
            let number = Int(truncatingIfNeeded: random.next())
            let delay = policy.delay(beforeRetry: number, random: [0, 1, .nan, -5, 7, 0.999999][random.below(6)])
            #expect(delay >= .zero && delay <= max(.zero, policy.maximumDelay))
        }
    }
}
