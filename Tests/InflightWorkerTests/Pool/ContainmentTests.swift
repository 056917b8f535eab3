import Dispatch
import FoundationEssentials
import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import InflightWorker
import Testing

/// Runs decoders that misbehave on command and checks the consequences.
@Suite("Decoder containment", .timeLimit(.minutes(10)))
struct ContainmentTests {
    @Test(
        "A decoder that crashes or makes a forbidden call fails one decode; the next succeeds",
        arguments: [
            ("crash", "signal"), ("write 16", "signal"), ("write 140737488355328", "signal"), ("exit", "status 7"),
            ("socket", "forbidden system call"), ("fork", "forbidden system call"), ("exec", "forbidden system call"),
        ])
    func ends(order: String, words: String) async throws {
        let pool = DecoderPool.faulty()
        let failure = try #require(await pool.failure(order))
        #expect(failure.code == .decoderCrashed && failure.stage == .decode)
        #expect(failure.message.contains(words), "\(failure.message)")
        #expect(try await pool.order("good 8").width == 8)
    }

    @Test(
        "A decoder cannot access files or affect other processes",
        arguments: ["open", "create", "list", "kill", "execute", "raise"])
    func cannot(order: String) async throws {
        let pool = DecoderPool.faulty()
        let failure = try #require(await pool.failure(order))
        #expect(failure.code == .damaged && failure.message.hasPrefix("failed"), "\(failure.message)")
    }

    @Test("A decoder inherits neither extra descriptors nor the environment")
    func inheritsNothing() async throws {
        let pool = DecoderPool.faulty()
        let open = unsafe open("/dev/null", O_RDONLY)
        let moved = fcntl(open, F_DUPFD, 20)
        defer {
            close(open)
            close(moved)
        }
        let numbers = try #require(await pool.failure("descriptors")).message.split(separator: " ").compactMap {
            Int($0)
        }
        #expect(numbers.allSatisfy { $0 < 12 } && numbers.starts(with: [0, 1, 2, 3, 4]), "\(numbers)")
        #expect(try #require(await pool.failure("environment")).message == "LC_ALL=C")
    }

    @Test("A decoder cannot exceed its memory limit, allocated or shared", .enabled(if: !Sanitizer.isOn))
    func memory() async throws {
        let pool = DecoderPool.faulty { $0.maximumMemory = 64 << 20 }
        let allocated = try #require(await pool.failure("allocate"))
        #expect(allocated.code == .damaged)
        #expect((10...64).contains(try #require(Int(allocated.message))), "\(allocated.message)")
        // The decoder still holds its allocations, so sharing ends it for lack of memory. Its replacement shares a few
        // pieces of half the limit each.
        #expect(await pool.failure("share")?.code == .decoderCrashed)
        let answer = try #require(await pool.failure("share"))
        let shared = try #require(Int(answer.message))
        #expect((30...7 * 32).contains(shared), "\(shared)")
    }

    @Test("A decode that exceeds its time limit times out, and the next succeeds")
    func loop() async throws {
        let pool = DecoderPool.faulty { $0.maximumDecodeTime = .milliseconds(200) }
        let failure = try #require(await pool.failure("loop"))
        #expect(failure.code == .timedOut && failure.stage == .decode)
        #expect(try await pool.order("good 8").width == 8)
    }

    /// Lets a new decoder answer requests that it never reads, until it has no room for another one.
    ///
    /// - Returns: the number of answered requests, and the failure of the one after them.
    private func askDeafDecoder(
        _ pool: DecoderPool, _ cancellation: (Int) -> CancellationFlag = { _ in CancellationFlag() }
    ) -> (answered: Int, LoadError?) {
        for number in 0..<10_000 {
            let order = number % 2 == 0 ? "deaf a" : "deaf b"
            let failure = pool.blockingFailure(order, cancellation: cancellation(number))
            if failure?.code != .damaged { return (number, failure) }
        }
        return (10_000, nil)
    }

    /// Cancels a decode, once it is told which, when the pool has read the time for it twice: at its start, and when
    /// the decoder had no room for its request.
    private final class CancellingClock: EngineClock {
        private let state = Guarded((flag: CancellationFlag?.none, readings: 0))
        private let system = SystemClock()

        func cancelNext(_ flag: CancellationFlag) { state.withLock { $0 = (flag, 0) } }

        func now() -> MonotonicTime {
            state.withLock { state in
                state.readings += 1
                if state.readings == 2 { state.flag?.cancel() }
            }
            return system.now()
        }
        func secondsSince1970() -> Double { system.secondsSince1970() }
        func schedule(at deadline: MonotonicTime, _ body: @escaping @Sendable () -> Void) -> any ScheduledWork {
            system.schedule(at: deadline, body)
        }
    }

    @Test("A decode whose request a decoder has no room for ends at its time limit or when it is cancelled")
    func deaf() async throws {
        let impatient = DecoderPool.faulty { $0.maximumDecodeTime = .seconds(2) }
        let (answered, failure) = await DedicatedThread.run { askDeafDecoder(impatient) }
        #expect(failure?.code == .timedOut, "\(answered): \(String(describing: failure))")
        #expect(try await impatient.order("good 8").width == 8)
        let clock = CancellingClock()
        let patient = DecoderPool.faulty(clock: clock) { $0.maximumDecodeTime = .seconds(60) }
        let (_, cancelled) = await DedicatedThread.run {
            askDeafDecoder(patient) { number in
                let flag = CancellationFlag()
                if number >= answered { clock.cancelNext(flag) }
                return flag
            }
        }
        #expect(cancelled?.code == .cancelled)
        #expect(try await patient.order("good 8").width == 8)
    }

    @Test("A decoder that breaks the protocol fails one decode, and the next succeeds", arguments: 0..<15)
    func lies(number: Int) async throws {
        let pool = DecoderPool.faulty()
        let failure = try #require(await pool.failure("lie \(number)"))
        #expect(
            failure.code == .decoderCrashed && failure.message.contains("violated its protocol"), "\(failure.message)")
        #expect(try await pool.order("good 8").width == 8)
    }

    @Test("Cancellation stops a decode, whether the decoder cooperates or hangs", arguments: ["patient", "loop"])
    func cancelled(order: String) async throws {
        let pool = DecoderPool.faulty { $0.maximumDecodeTime = .seconds(500) }
        let flag = CancellationFlag()
        let code = Guarded(LoadError.Code?.none)
        let decode = JoinableThread(name: "decode") {
            let failure = pool.blockingFailure(order, cancellation: flag)
            code.withLock { $0 = failure?.code }
        }
        flag.cancel()
        decode.join()
        #expect(code.withLock { $0 } == .cancelled)
        #expect(try await pool.order("good 8").width == 8)
    }

    @Test("A busy decoder exits when its parent process is killed")
    func endsWithProgram() async throws {
        let ending = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
            let pool = DecoderPool.faulty { $0.maximumDecodeTime = .seconds(500) }
            let answer = try #require(await pool.failure("process")).message
            let process = try #require(pid_t(answer))
            print("decoder \(process) is at work")
            fflush(nil)
            // The pool reuses the same decoder, which is idle.
            let before = Self.processorTime(process)
            JoinableThread(name: "decode") { _ = pool.blockingFailure("loop") }.detach()
            // More than receiving the request takes.
            while Self.processorTime(process) < before + .milliseconds(20) { sched_yield() }
            kill(getpid(), SIGKILL)
        }
        let output = String(decoding: try #require(ending).standardOutputContent, as: UTF8.self)
        let words = output.split { $0.isWhitespace }
        let index = try #require(words.firstIndex(of: "decoder"))
        let process = try #require(pid_t(words[index + 1]))
        try await eventually("the decoder to end") { kill(process, 0) != 0 }
    }

    private static func processorTime(_ process: pid_t) -> Duration {
        var clock = clockid_t()
        var time = timespec()
        guard unsafe clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test("A decoder always has resource limits and a system call filter")
    func protections() throws {
        let protections = try DecoderPool.faulty().capabilities().protections
        #expect(Set(protections).isSuperset(of: [.limits, .seccomp]), "\(protections)")
    }

    @Test("A decoder with its own namespaces sees no system files")
    func emptyRoot() async throws {
        let pool = DecoderPool.faulty()
        let isAlone = try pool.capabilities().protections.contains(.namespaces)
        let answer = try #require(await pool.failure("stat")).message
        #expect(answer == (isAlone ? "failed: error \(ENOENT)" : "done"))
    }

    @Test("Every decoder thread has no capabilities and filters system calls", .enabled(if: !Sanitizer.isOn))
    func threads() async throws {
        let pool = DecoderPool.faulty()
        let process = try #require(await pool.failure("process")).message
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
        #expect(threads.count > 1)
        for thread in threads {
            let status = try String(contentsOfFile: "/proc/\(process)/task/\(thread)/status", encoding: .utf8)
            let lines = Set(status.split(separator: "\n").map { $0.filter { $0 != "\t" } })
            let wanted: Set = ["CapEff:0000000000000000", "NoNewPrivs:1", "Seccomp:2"]
            #expect(lines.isSuperset(of: wanted), "\(lines.filter { $0.hasPrefix("CapEff") })")
        }
    }
}
