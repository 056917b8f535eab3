import Glibc
import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightTestSupport
import InflightWorker
import Testing

@Suite("Decoder pool", .timeLimit(.minutes(10)))
struct DecoderPoolTests {
    /// Compares an in-process decode with one by the shipped decoder in its own process.
    private func compare(_ bytes: Bytes, _ format: ImageFormat, _ options: DecodeOptions, _ pool: DecoderPool) throws {
        let codec = try #require(Codecs.standard.first { $0.decodableFormats.contains(format) })
        let here = try codec.decode(bytes, format: format, options: options, cancellation: CancellationFlag())
        let there = try WorkerCodec(codec, pool: pool)
            .decode(bytes, format: format, options: options, cancellation: CancellationFlag())
        #expect(here.width == there.width && here.height == there.height)
        #expect(here.format == there.format && here.bytesPerRow == there.bytesPerRow)
        #expect(here.bytes == there.bytes)
    }

    private func picture(_ side: Int, format: PixelBuffer.Format = .rgba) -> PixelBuffer {
        unsafe PixelBuffer(width: side, height: side, format: format) { memory in
            for index in 0..<side * side {
                let (x, y) = (index % side, index / side)
                let pixel = SIMD4(x * 5, y * 3, x ^ y, format.alpha == .opaque ? 255 : x + y)
                unsafe memory.storeBytes(
                    of: SIMD4<UInt8>(truncatingIfNeeded: pixel), toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
    }

    @Test("An isolated decode returns the same pixels as an in-process decode")
    func samePixels() throws {
        let pool = DecoderPool(DecoderConfiguration(path: BuiltProgram.path("inflight-decoder")))
        for (format, side) in [(ImageFormat.png, 20), (.png, 300), (.png, 600), (.jpeg, 300), (.webp, 300)] {
            let codec = try #require(Codecs.standard.first { $0.encodableFormats.contains(format) })
            let bytes = try codec.encode(picture(side), options: EncodeOptions(format: format))
            var options = DecodeOptions()
            try compare(bytes, format, options, pool)
            options.order = .bgra
            options.premultiplied = true
            try compare(bytes, format, options, pool)
            options.resize = Resize(width: 150, height: 90, fit: .cover, gravity: .bottomRight, enlarges: true)
            try compare(bytes, format, options, pool)
            options.resize?.light = .linear
            try compare(bytes, format, options, pool)
        }
    }

    @Test("A later decode of the same process does not change an image", arguments: [20, 300, 600])
    func unchangedPixels(side: Int) throws {
        let pool = DecoderPool(DecoderConfiguration(path: BuiltProgram.path("inflight-decoder")))
        let images = [picture(side), picture(side, format: .rgbx)]
        let decoded = try images.map { image in
            try pool.decode(
                try PNGCodec().encode(image, options: EncodeOptions(format: .png)), format: .png,
                options: DecodeOptions(), cancellation: CancellationFlag())
        }
        for (image, decoded) in zip(images, decoded) { #expect(image.bytes == decoded.bytes) }
    }

    @Test("An isolated decode throws the errors of its codec and rejects unsupported formats")
    func errors() throws {
        let pool = DecoderPool(DecoderConfiguration(path: BuiltProgram.path("inflight-decoder")))
        let bytes = try PNGCodec().encode(picture(300), options: EncodeOptions(format: .png))
        var options = DecodeOptions()
        options.maximumPixels = 1000
        for (bytes, options) in [(bytes.part(0..<bytes.count / 2), DecodeOptions()), (bytes, options)] {
            let here = #expect(throws: LoadError.self) {
                try PNGCodec().decode(bytes, format: .png, options: options, cancellation: CancellationFlag())
            }
            let there = #expect(throws: LoadError.self) {
                try pool.decode(bytes, format: .png, options: options, cancellation: CancellationFlag())
            }
            #expect(here?.code == there?.code && here?.message == there?.message && here?.stage == there?.stage)
        }
        let other = #expect(throws: LoadError.self) {
            try pool.decode(bytes, format: .psd, options: DecodeOptions(), cancellation: CancellationFlag())
        }
        #expect(other?.code == .unsupportedFormat)
    }

    @Test("Pixels stay valid after their decoder has exited")
    func pixelsStay() async throws {
        let pixels = try await DecoderPool.faulty().order("good 300")
        #expect(pixels.bytes.count == 360_000)
        #expect((0..<1000).allSatisfy { pixels.bytes[$0 * 360] == UInt8(truncatingIfNeeded: $0 * 360) })
    }

    private func process(_ pool: DecoderPool) async throws -> pid_t {
        try #require(await pool.failure("process").flatMap { pid_t($0.message) })
    }

    @Test("A decoder is reused, and exits with its pool")
    func reused() async throws {
        var pool: DecoderPool? = .faulty()
        let first = try await process(try #require(pool))
        #expect(try await pool?.order("good 100").width == 100)
        #expect(try await process(try #require(pool)) == first)
        #expect(kill(first, 0) == 0)
        pool = nil
        // A requesting thread may retain the pool a moment longer.
        try await eventually("the decoder to end") { kill(first, 0) != 0 }
    }

    @Test("A decoder killed while idle is replaced without an error")
    func killed() async throws {
        let pool = DecoderPool.faulty()
        let victim = try await process(pool)
        kill(victim, SIGKILL)
        // Wait for the exit, but leave the process for the pool to reap.
        var ending = unsafe siginfo_t()
        #expect(unsafe waitid(P_PID, id_t(victim), &ending, WEXITED | WNOWAIT) == 0)
        #expect(try await pool.order("good 8").width == 8)
        #expect(try await process(pool) != victim)
    }

    @Test("Concurrent decodes are independent: a crash fails only its own decode")
    func parallel() async throws {
        let pool = DecoderPool.faulty()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let failure = await pool.failure(index % 5 == 0 ? "crash" : "good \(index)")
                    #expect(failure?.code == (index % 5 == 0 ? .decoderCrashed : nil), "\(failure?.message ?? "")")
                }
            }
        }
    }

    @Test("An unusable decoder program fails as unavailable with a specific message")
    func missing() async throws {
        for path in ["/nowhere/inflight-decoder", "/etc/passwd"] {
            let failure = try #require(await DecoderPool(DecoderConfiguration(path: path)).failure("good 8"))
            #expect(failure.code == .decoderUnavailable && failure.message.contains(path), "\(failure.message)")
        }
        let other = try #require(await DecoderPool(DecoderConfiguration(path: "/bin/true")).failure("good 8"))
        #expect(other.code == .decoderUnavailable && other.message.contains("did not start"), "\(other.message)")
    }

    @Test("A cancel ends a decode whose decoder does not become ready")
    func cancelledWhileStarting() async throws {
        let folder = TemporaryDirectory()
        let (program, started) = (folder.appending("decoder"), folder.appending("started"))
        folder.write("decoder", Array("#!/bin/sh\n: > \(started)\nexec sleep 600\n".utf8))
        unsafe chmod(program, 0o755)
        let (pool, cancellation) = (DecoderPool(DecoderConfiguration(path: program)), CancellationFlag())
        let code = Guarded<LoadError.Code?>(nil)
        let decode = Task {
            let failure = await pool.failure("good 8", cancellation: cancellation)
            code.withLock { $0 = failure?.code }
        }
        try await eventually("the decoder to run") { unsafe access(started, F_OK) == 0 }
        cancellation.cancel()
        // Well before the time in which a decoder has to become ready.
        try await eventually("the decode to end") { code.withLock { $0 } != nil }
        #expect(code.withLock { $0 } == .cancelled)
        await decode.value
    }

    @Test("A decoder handles small and empty files and files larger than its shared memory")
    func fileSizes() async throws {
        let pool = DecoderPool.faulty()
        let blank = String(repeating: " ", count: 3_000_000)
        #expect(try await pool.order("good 5").width == 5)
        #expect(try await pool.order("good 6 " + blank).width == 6)
        #expect(try await pool.order("good 7 " + blank + blank).width == 7)
        #expect(await pool.failure("")?.code == .damaged)
        #expect(try await pool.order("good 8").width == 8)
    }
}
