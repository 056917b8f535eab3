import Glibc
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

/// Files that demand more resources than their size justifies: the peak memory of the command and of its decoders,
/// according to the kernel, compared with that for a small valid image.
@Suite("Malicious files", .timeLimit(.minutes(10)), .enabled(if: !Sanitizer.isOn, "a sanitizer has memory of its own"))
struct HostileFileTests {
    private let place = TemporaryDirectory()

    /// The maximum cost of one file beyond its own bytes, in kilobytes: more than allocators vary between runs, and a
    /// tenth of the memory that the smallest of these files would take if its header were trusted.
    private static let margin = 16_384

    @Test("An image that is huge only in its header is refused at no memory cost", arguments: HostileFile.sizes)
    func sizes(_ file: HostileFile) throws {
        let good = try measure(file.good)
        let bad = try measure(file.bytes)
        #expect(good.line.outcome == "ok", "\(good.line)")
        #expect(bad.line.error?.code == "tooManyPixels", "\(bad.line)")
        #expect(bad.kilobytes < good.kilobytes + Self.margin, "\(bad.kilobytes) kB, \(good.kilobytes) kB")
        #expect(bad.decoders.isEmpty, "it is refused in the program")
    }

    @Test("Oversized data beside the pixels is skipped within a memory limit", arguments: HostileFile.burdens)
    func burdens(_ file: HostileFile) throws {
        let good = try measure(file.good)
        let bad = try measure(file.bytes)
        #expect(bad.line.outcome == "ok" && bad.line.width == good.line.width, "\(bad.line)")
        let own = 2 * file.bytes.count / 1024
        #expect(bad.kilobytes < good.kilobytes + own + Self.margin, "\(bad.kilobytes) kB, \(good.kilobytes) kB")
        // The file itself, and the copies that libtiff and libvips make of its metadata.
        let most = (good.decoders.max() ?? 0) + 3 * own + Self.margin
        #expect(bad.decoders.count == good.decoders.count)
        #expect(bad.decoders.allSatisfy { $0 < most }, "\(bad.decoders) kB, \(good.decoders) kB")
    }

    @Test("A progressive JPEG takes no more memory than its coefficients, which libjpeg retains")
    func coefficients() throws {
        let blocks = 600
        let good = try measure(HostileFile.zeroCoefficients(blocks: 8))
        let large = try measure(HostileFile.zeroCoefficients(blocks: blocks))
        #expect(good.line.outcome == "ok", "\(good.line)")
        let own = 3 * blocks * blocks * 64 * 2 / 1024
        #expect(large.kilobytes < good.kilobytes + own + Self.margin, "\(large.kilobytes) kB, \(good.kilobytes) kB")
    }

    @Test("A WebP frame that exceeds its declared area fails as damaged at no memory cost")
    func frameInside() throws {
        let good = try measure(HostileFile.goodWebP)
        let bad = try measure(HostileFile.swellingFrame)
        #expect(good.line.outcome == "ok", "\(good.line)")
        #expect(bad.line.error?.code == "damaged", "\(bad.line)")
        #expect(bad.kilobytes < good.kilobytes + Self.margin, "\(bad.kilobytes) kB, \(good.kilobytes) kB")
    }

    @Test("A JPEG with more than 500 scans fails as damaged")
    func scans() throws {
        let bad = try measure(HostileFile.manyScans)
        #expect(bad.line.error?.code == "damaged", "\(bad.line)")
        #expect(bad.line.error?.message.contains("500 scans") == true, "\(bad.line)")
    }

    @Test("EXIF data that exceeds the read limit is not shown")
    func record() throws {
        let result = place.run("info", "--exif", try write(HostileFile.hugeRecord))
        #expect(result.status == 0 && result.text.contains("none"), "\(result.text)")
    }

    // MARK: - Measuring

    private struct Measured {
        var line: Line
        var kilobytes: Int
        var decoders: [Int]
    }

    private func write(_ bytes: [UInt8]) throws -> String {
        place.write("picture", bytes)
        return place.appending("picture")
    }

    /// Makes a thumbnail, and measures the command while it waits for more input.
    private func measure(_ bytes: [UInt8]) throws -> Measured {
        let path = try write(bytes)
        let command = RunningCommand(
            ["get", "-i", "-", "-o", "out", "--json", "--no-cache", "--size", "10x"], in: place, input: nil,
            pipesOutput: true)
        command.type("file://\(path)\n")
        let line = command.readLine()
        let peak = try #require(Self.peak(command.pid))
        let decoders = Self.children(command.pid).compactMap(Self.peak)
        command.endInput()
        command.closeOutput()
        _ = command.wait()
        return Measured(line: try Line(json: line), kilobytes: peak, decoders: decoders)
    }

    /// `VmHWM` of proc(5). Not the value of `wait4`, which starts at the peak of the process that launched the command.
    private static func peak(_ process: pid_t) -> Int? {
        let text = String(decoding: TemporaryDirectory.read("/proc/\(process)/status") ?? [], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }
    }

    /// All descendants of a process, by the parent in the fourth field of `/proc/PID/stat`, after the name.
    private static func children(_ process: pid_t) -> [pid_t] {
        let all = TemporaryDirectory.names("/proc").compactMap { pid_t($0) }
        let direct = all.filter { other in
            let text = String(decoding: TemporaryDirectory.read("/proc/\(other)/stat") ?? [], as: UTF8.self)
            guard let end = text.lastIndex(of: ")") else { return false }
            return text[end...].split(separator: " ").dropFirst(2).first.flatMap { pid_t($0) } == process
        }
        return direct + direct.flatMap(children)
    }
}
