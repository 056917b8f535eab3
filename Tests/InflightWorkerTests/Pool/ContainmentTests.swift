import FoundationEssentials
import Glibc
import InflightConcurrency
import InflightCore
import InflightTestSupport
import InflightWorker
import Testing

/// A decoder that does what decoders must not, and what becomes of that.
@Suite("A decoder that is contained", .timeLimit(.minutes(10)))
struct ContainmentTests {
    @Test(
        "ends its own load alone, and the next finds another",
        arguments: [
            ("crash", "signal"), ("write 16", "signal"), ("write 140737488355328", "signal"), ("exit", "status 7"),
            ("socket", "asked the system"), ("fork", "asked the system"), ("exec", "asked the system"),
        ])
    func ends(order: String, words: String) async throws {
        let pool = DecoderPool.faulty()
        let failure = try #require(await pool.failure(order))
        #expect(failure.code == .decoderCrashed && failure.stage == .decode)
        #expect(failure.message.contains(words), "\(failure.message)")
        #expect(try await pool.order("good 8").width == 8)
    }

    @Test(
        "can open no file, and change nothing outside of itself",
        arguments: ["open", "create", "list", "kill", "execute", "raise"])
    func cannot(order: String) async throws {
        let pool = DecoderPool.faulty()
        let failure = try #require(await pool.failure(order))
        #expect(failure.code == .damaged && failure.message.hasPrefix("failed"), "\(failure.message)")
    }

    @Test("has no descriptors but those that it needs, and no environment")
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

    @Test("gets no more memory than it may, allocated or shared", .enabled(if: !Sanitizer.isOn))
    func memory() async throws {
        let pool = DecoderPool.faulty { $0.maximumMemory = 64 << 20 }
        let allocated = try #require(await pool.failure("allocate"))
        #expect(allocated.code == .damaged)
        #expect((10...64).contains(try #require(Int(allocated.message))), "\(allocated.message)")
        // What was allocated there is lost with its decoder: ended here for want of memory. The next has a few pieces of
        // half as much each.
        #expect(await pool.failure("share")?.code == .decoderCrashed)
        let answer = try #require(await pool.failure("share"))
        let shared = try #require(Int(answer.message))
        #expect((30...7 * 32).contains(shared), "\(shared)")
    }

    @Test("is ended when it takes too long")
    func loop() async throws {
        let pool = DecoderPool.faulty { $0.maximumDecodeTime = .milliseconds(200) }
        let failure = try #require(await pool.failure("loop"))
        #expect(failure.code == .timedOut && failure.stage == .decode)
        #expect(try await pool.order("good 8").width == 8)
    }

    @Test("is not believed", arguments: 0..<12)
    func lies(number: Int) async throws {
        let pool = DecoderPool.faulty()
        let failure = try #require(await pool.failure("lie \(number)"))
        #expect(failure.code == .decoderCrashed && failure.message.contains("broke its rules"), "\(failure.message)")
        #expect(try await pool.order("good 8").width == 8)
    }

    @Test("stops when its load is cancelled, whether it listens or not", arguments: ["patient", "loop"])
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

    @Test("ends with the program that started it, though that is killed and it is at work")
    func endsWithProgram() async throws {
        let ending = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
            let pool = DecoderPool.faulty { $0.maximumDecodeTime = .seconds(500) }
            let process = try #require(await pool.failure("process")).message
            print("decoder \(process) is at work")
            fflush(nil)
            // By the same decoder: it is the one that has nothing to do.
            JoinableThread(name: "decode") { _ = pool.blockingFailure("loop") }.detach()
            while !Self.isBusy(try #require(pid_t(process))) { sched_yield() }
            kill(getpid(), SIGKILL)
        }
        let output = String(decoding: try #require(ending).standardOutputContent, as: UTF8.self)
        let words = output.split { $0.isWhitespace }
        let index = try #require(words.firstIndex(of: "decoder"))
        let process = try #require(pid_t(words[index + 1]))
        try await eventually("the decoder to end") { kill(process, 0) != 0 }
    }

    /// Whether a process computes: more of its time has passed than starting takes.
    private static func isBusy(_ process: pid_t) -> Bool {
        var clock = clockid_t()
        var time = timespec()
        return unsafe clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &time) == 0
            && (time.tv_sec > 0 || time.tv_nsec > 300_000_000)
    }

    @Test("is protected by all that this system has")
    func protections() throws {
        let protections = try DecoderPool.faulty().capabilities().protections
        #expect(Set(protections).isSuperset(of: [.limits, .seccomp]), "\(protections)")
    }

    @Test("sees no file of the system where it has namespaces of its own")
    func emptyRoot() async throws {
        let pool = DecoderPool.faulty()
        let isAlone = try pool.capabilities().protections.contains(.namespaces)
        let answer = try #require(await pool.failure("stat")).message
        #expect(answer == (isAlone ? "failed: error \(ENOENT)" : "done"))
    }

    @Test("has no capability and no unfiltered system call in any of its threads", .enabled(if: !Sanitizer.isOn))
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
