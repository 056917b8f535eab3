import InflightConcurrency
import InflightImages
import InflightTestSupport
import Testing

/// One processor of each kind and for each way to use it.
private let processors: [ImageProcessor] = [
    .resize(width: 20), .resize(width: 9, height: 9, fit: .cover, gravity: .interest),
    .crop(x: 0, y: 0, width: 9, height: 8),
    .crop(width: 5, height: 5, gravity: .bottomRight), .crop(width: 5, height: 5, gravity: .interest),
    .roundCorners(radius: 6), .roundCorners(radius: 6, border: ImageProcessor.Border(width: 2.5, color: .black)),
    .circle(),
    .circle(border: ImageProcessor.Border(width: 1, color: .white)), .border(width: 3, color: .white),
    .blur(radius: 0.4),
    .blur(radius: 7),
    .sharpen(), .sharpen(amount: 3, radius: 4), .grey, .adjust(brightness: 1.2, contrast: 0.8, saturation: 1.5),
    .rotate(degrees: 90), .rotate(degrees: 33), .flip(.horizontal), .flip(.vertical), .flatten(),
    .custom("same") { $0 },
]

@Suite("Built-in processors", .timeLimit(.minutes(10)))
struct BuiltInProcessorTests {
    @Test("Every built-in processor passes the conformance checks", arguments: processors)
    func conformance(processor: ImageProcessor) async {
        let failures = await ProcessorConformance { processor }.run()
        #expect(failures.isEmpty, "\(processor): \(failures)")
    }

    @Test("Processor identities are distinct")
    func identities() {
        #expect(Set(processors.map(\.identity)).count == processors.count)
        #expect(Set(processors).count == processors.count)
        #expect(ImageProcessor.blur(radius: 4).identity == "blur(radius: 4.0)")
        #expect(
            ImageProcessor.blur(radius: 4) == .blur(radius: 4) && ImageProcessor.blur(radius: 4) != .blur(radius: 5))
        #expect(ImageProcessor.custom("grey") { $0 } != .grey)
    }

    @Test("Processors apply in the order of the list")
    func order() throws {
        let pixels = Painted.scene(40, 20).pixels()
        let one = try pixels.processed(by: [.crop(x: 0, y: 0, width: 10, height: 20), .rotate(degrees: 90)])
        #expect(one.width == 20 && one.height == 10)
        let two = try pixels.processed(by: [.rotate(degrees: 90), .crop(x: 0, y: 0, width: 10, height: 20)])
        #expect(two.width == 10 && two.height == 20)
    }

    @Test(
        "A processor with an invalid parameter throws an error that describes it",
        arguments: [
            (.blur(radius: -1), "blur(radius: -1.0)"), (.blur(radius: .nan), "blur(radius: nan)"),
            (.blur(radius: .infinity), "from 0 to 1000"), (.sharpen(amount: -1), "amount"),
            (.rotate(degrees: .nan), "degrees"),
            (.crop(x: 50, y: 0, width: 5, height: 5), "outside the image, which is 40 × 20"),
            (.crop(x: -9, y: 0, width: 9, height: 5), "outside"), (.crop(width: 0, height: 5), "at least 1"),
            (.crop(x: .max, y: .min, width: .max, height: .max), "outside"), (.resize(width: 0), "side of 0"),
            (.adjust(brightness: .nan), "finite"), (.roundCorners(radius: -1), "at least 0"),
            (.roundCorners(radius: .nan), "at least 0"), (.border(width: -2, color: .white), "at least 0"),
            (.flatten(on: .clear), "opaque"),
        ] as [(ImageProcessor, String)])
    func invalid(processor: ImageProcessor, words: String) throws {
        let pixels = Painted.scene(40, 20).pixels()
        let error = try #require(throws: LoadError.self) { try pixels.processed(by: [processor]) }
        #expect(error.code == .invalidRequest && error.stage == .process)
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test("A resize to an excessive size throws tooManyPixels")
    func tooLarge() throws {
        let pixels = Painted(2, 1000) { _, _ in (0, 0, 0, 255) }.pixels()
        for processor: ImageProcessor in [
            .resize(width: 1_000_000, height: 1_000_000, fit: .exact), .resize(width: 100_000, enlarges: true),
        ] {
            let error = try #require(throws: LoadError.self) { try pixels.processed(by: [processor]) }
            #expect(error.code == .tooManyPixels)
        }
    }

    @Test("A throwing custom processor fails with extensionFailed or with its own LoadError")
    func custom() throws {
        struct Trouble: Error, CustomStringConvertible { var description: String { "no luck" } }
        let pixels = Painted.scene(4, 4).pixels()
        let error = try #require(throws: LoadError.self) {
            try pixels.processed(by: [.custom("mine") { _ in throw Trouble() }])
        }
        #expect(error.code == .extensionFailed && error.message == "The processor \"mine\" failed: no luck")
        #expect(error.underlying is Trouble)
        let own = try #require(throws: LoadError.self) {
            try pixels.processed(by: [
                .custom("mine") { _ in throw LoadError(.refused, stage: .process, message: "No.") }
            ])
        }
        #expect(own.code == .refused)
    }
}
