import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Trying again", .timeLimit(.minutes(10)))
struct RetryPolicyTests {
    private static let now = WallTime(milliseconds: 784_111_777_000)  // Sun, 06 Nov 1994 08:49:37 GMT

    private func decide(
        _ failure: RetryPolicy.Failure, policy: RetryPolicy = RetryPolicy(), method: String = "GET",
        failedTries: Int = 1,
        random: Double = 1
    ) -> RetryPolicy.Decision {
        var budget = RetryBudget()
        return policy.decide(
            after: failure, method: method, failedTries: failedTries, now: Self.now, random: random, budget: &budget)
    }

    private func answer(_ status: Int, retryAfter: String? = nil) -> RetryPolicy.Failure {
        .answer(
            ResponseHead(
                status: status, fields: HTTPFields(retryAfter.map { [(name: "Retry-After", value: $0)] } ?? [])))
    }

    @Test(
        "what may pass is tried again: 408, 425, 429 and 5xx but 501",
        arguments: [200, 301, 304, 400, 401, 404, 408, 410, 416, 425, 429, 451, 500, 501, 502, 503, 504, 505, 599, 600])
    func statuses(status: Int) {
        let mayPass = [408, 425, 429, 500, 502, 503, 504, 505, 599].contains(status)
        #expect((decide(answer(status)) != .fail) == mayPass)
    }

    @Test("connections that are lost and times that are over are tried again, and nothing else that goes wrong")
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

    @Test("waits double with each try up to the longest, and a random part of them is waited")
    func waits() {
        var policy = RetryPolicy()
        policy.extraTries = 100
        #expect(decide(.error(.timedOut), policy: policy) == .retry(after: .milliseconds(500)))
        #expect(decide(.error(.timedOut), policy: policy, failedTries: 2) == .retry(after: .seconds(1)))
        #expect(
            decide(.error(.timedOut), policy: policy, failedTries: 3, random: 0.25) == .retry(after: .milliseconds(500))
        )
        #expect(decide(.error(.timedOut), policy: policy, failedTries: 90) == .retry(after: .seconds(30)))
        #expect(decide(.error(.timedOut), policy: policy, random: 0) == .retry(after: .zero))
    }

    @Test("two more tries are made unless more are allowed")
    func tries() {
        #expect(decide(.error(.timedOut), failedTries: 2) != .fail)
        #expect(decide(.error(.timedOut), failedTries: 3) == .fail)
        var policy = RetryPolicy()
        policy.extraTries = 0
        #expect(decide(.error(.timedOut), policy: policy) == .fail)
    }

    @Test("RFC 9110 10.2.3: Retry-After is obeyed in seconds and as a date")
    func retryAfter() {
        #expect(decide(answer(503, retryAfter: "7")) == .retry(after: .seconds(7)))
        #expect(decide(answer(429, retryAfter: " 7 ")) == .retry(after: .seconds(7)))
        #expect(decide(answer(503, retryAfter: "Sun, 06 Nov 1994 08:49:47 GMT")) == .retry(after: .seconds(10)))
        #expect(decide(answer(503, retryAfter: "Sunday, 06-Nov-94 08:49:47 GMT")) == .retry(after: .seconds(10)))
        // A time that has passed, or none at all: the wait of its own.
        for value in ["0", "Sun, 06 Nov 1994 08:00:00 GMT", "soon", "-1", "1.5", ""] {
            #expect(decide(answer(503, retryAfter: value)) == .retry(after: .milliseconds(500)), "\(value)")
        }
    }

    @Test("a Retry-After beyond the limit fails at once and says when to come back")
    func longWait() {
        #expect(decide(answer(503, retryAfter: "60")) == .retry(after: .seconds(60)))
        #expect(decide(answer(503, retryAfter: "61")) == .comeBack(after: .seconds(61)))
        #expect(decide(answer(503, retryAfter: "99999999999999999999")) == .comeBack(after: .seconds(1 << 31)))
        #expect(decide(answer(404, retryAfter: "61")) == .fail)
    }

    @Test("a failure is remembered for a while at most, and only where the server named a time")
    func memory() {
        let policy = RetryPolicy()
        #expect(policy.memory(of: .comeBack(after: .seconds(86_400))) == .seconds(60))
        #expect(policy.memory(of: .comeBack(after: .seconds(5))) == .seconds(5))
        #expect(policy.memory(of: .fail) == .zero)
    }

    @Test("RFC 9110 9.2.2: only idempotent methods are repeated, unless told")
    func methods() {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
            #expect(decide(.error(.timedOut), method: method) != .fail)
        }
        var policy = RetryPolicy()
        for method in ["POST", "PATCH", "X"] { #expect(decide(.error(.timedOut), method: method) == .fail) }
        policy.retriesUnsafeMethods = true
        #expect(decide(.error(.timedOut), policy: policy, method: "POST") != .fail)
    }

    @Test("what is lost with a reused connection is repeated at once, and one retry pays for all of a second")
    func losses() {
        #expect(decide(.error(.connectionLost)) == .retry(after: .zero))
        #expect(decide(.error(.connectionLost), failedTries: 2) == .retry(after: .seconds(1)))
        #expect(decide(.error(.connectionLost), method: "POST") == .fail)
        var budget = RetryBudget(retries: 2)
        let taken = [0, 999, 1000, 1500, 2000].map { milliseconds in
            budget.takeRetry(ofLossAt: WallTime(milliseconds: Self.now.milliseconds + milliseconds))
        }
        #expect(taken == [true, true, true, true, false])
    }

    @Test("an origin that fails is sent little more than without retries")
    func budget() {
        var budget = RetryBudget(retries: 5, perTry: 0.1)
        var retries = 0
        for _ in 0..<1000 {
            budget.noteFirstTry()
            for failedTries in 1...2 {
                let decision = RetryPolicy().decide(
                    after: .error(.timedOut), method: "GET", failedTries: failedTries, now: Self.now, random: 0,
                    budget: &budget)
                if decision != .fail { retries += 1 }
            }
        }
        #expect((100...105).contains(retries))
        var full = RetryBudget(retries: 2)
        for _ in 0..<1000 { full.noteFirstTry() }
        #expect(full.takeRetry() && full.takeRetry() && !full.takeRetry())
    }

    @Test("no number makes a wait negative, endless or a crash")
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
