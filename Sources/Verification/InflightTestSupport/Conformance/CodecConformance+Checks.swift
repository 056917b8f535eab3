internal import InflightConcurrency
internal import InflightCore

extension CodecConformance {
    /// Checks with complete images.
    static let reading: [(String, CheckList<CodecBench>.Body)] = [
        (
            "There is a picture of each format that it reads, and each is whole",
            { bench in
                let subject = bench.subject
                let formats = Set(subject.samples.map(\.format))
                bench.expect(formats == subject.codec.decodableFormats, "the samples are of \(formats)")
                for sample in subject.samples {
                    try subject.codec.validate(sample.bytes, format: sample.format)
                    let info = try sample.probe(subject.codec)
                    bench.expect(info.format == sample.format, "\(sample.name) is said to be \(info.format)")
                    let pixels = try sample.decode(subject.codec)
                    bench.expect(
                        pixels.width == info.width && pixels.height == info.height,
                        "\(sample.name): \(info.width) × \(info.height) by its header, "
                            + "\(pixels.width) × \(pixels.height) decoded")
                    bench.expect(
                        info.hasAlpha || pixels.format.alpha == .opaque, "\(sample.name): alpha that is not there")
                }
            }
        ),
        (
            "Size, byte order and alpha are those that were asked for",
            { bench in
                for sample in bench.subject.samples {
                    for (width, height) in [(1, 1), (7, 5), (3, 11)] {
                        var options = DecodeOptions(resize: Resize(width: width, height: height, fit: .fill))
                        options.resize?.enlarges = true
                        options.order = .bgra
                        options.premultiplied = true
                        let pixels = try sample.decode(bench.subject.codec, options)
                        bench.expect(
                            pixels.width == width && pixels.height == height,
                            "\(sample.name): \(pixels.width) × \(pixels.height), not \(width) × \(height)")
                        bench.expect(
                            pixels.format.order == .bgra && pixels.format.alpha != .straight,
                            "\(sample.name): \(pixels.format)")
                    }
                }
            }
        ),
        (
            "Several at once give what one alone gives",
            { bench in
                for sample in bench.subject.samples {
                    let codec = bench.subject.codec
                    let alone = try sample.decode(codec)
                    bench.atOnce(4) { _ in
                        for _ in 0..<4 {
                            let pixels = try? sample.decode(codec)
                            bench.expect(pixels?.hasSamePixels(as: alone) == true, "\(sample.name): pixels differ")
                        }
                    }
                }
            }
        ),
    ]

    /// Checks with truncated, invalid or oversized images.
    static let refusing: [(String, CheckList<CodecBench>.Body)] = [
        (
            "A header that is not there yet is asked for, and tells the same as soon as it is",
            { bench in
                for sample in bench.subject.samples {
                    let whole = try sample.probe(bench.subject.codec)
                    var isTold = false
                    for length in sample.shorterLengths {
                        let part = sample.prefix(length)
                        switch try bench.subject.codec.probe(part, format: sample.format, isComplete: false) {
                        case .needsMoreBytes(let count):
                            bench.expect(count > length, "\(sample.name): wants \(count) bytes, and has \(length)")
                            bench.expect(!isTold, "\(sample.name): told at less than \(length) bytes, not here")
                        case .info(var told):
                            isTold = true
                            told.frameCount = whole.frameCount
                            told.mayHaveMoreFrames = whole.mayHaveMoreFrames
                            bench.expect(told == whole, "\(sample.name): another answer at \(length) bytes")
                        }
                    }
                }
            }
        ),
        (
            "A picture that is cut short is damaged at every length",
            { bench in
                let codec = bench.subject.codec
                for sample in bench.subject.samples {
                    for length in sample.shorterLengths {
                        let part = sample.prefix(length)
                        let found = bench.code { () throws(LoadError) in
                            try codec.validate(part, format: sample.format)
                        }
                        bench.expect(found == .damaged, "\(sample.name), \(length) bytes: validated")
                        let decoded = bench.code { () throws(LoadError) in
                            _ = try codec.decode(
                                part, format: sample.format, options: DecodeOptions(),
                                cancellation: CancellationFlag())
                        }
                        let verified = bench.code { () throws(LoadError) in
                            try codec.verify(
                                part, format: sample.format, options: DecodeOptions(),
                                cancellation: CancellationFlag())
                        }
                        bench.expect(verified == decoded, "\(sample.name), \(length) bytes: verified otherwise")
                        bench.expect(
                            decoded == .damaged || (sample.decodesEarly && decoded == nil),
                            "\(sample.name), \(length) bytes: decoded with \(decoded.map(\.rawValue) ?? "success")")
                    }
                }
            }
        ),
        (
            "Bytes that were changed at random never crash it, and never give more pixels than allowed",
            { bench in
                let codec = bench.subject.codec
                var generator = SeededGenerator(seed: 0x1F17)
                var options = DecodeOptions()
                options.maximumPixels = 300_000
                for sample in bench.subject.samples {
                    for _ in 0..<200 {
                        var changed = sample.bytes.array
                        for _ in 0..<Int.random(in: 1...4, using: &generator) {
                            let position = Int.random(in: 0..<changed.count, using: &generator)
                            changed[position] = UInt8.random(in: 0...255, using: &generator)
                        }
                        let bytes = Bytes(changed)
                        _ = try? codec.validate(bytes, format: sample.format)
                        _ = try? codec.probe(bytes, format: sample.format, isComplete: false)
                        let pixels = try? codec.decode(
                            bytes, format: sample.format, options: options, cancellation: CancellationFlag())
                        let isVerified = bench.code { () throws(LoadError) in
                            try codec.verify(
                                bytes, format: sample.format, options: options, cancellation: CancellationFlag())
                        }
                        bench.expect((isVerified == nil) == (pixels != nil), "\(sample.name): verified otherwise")
                        let count = pixels.map { $0.width * $0.height } ?? 0
                        bench.expect(count <= 300_000, "\(sample.name): \(count) pixels")
                    }
                }
            }
        ),
        (
            "More pixels than allowed are refused, by the header and by the size that is wanted",
            { bench in
                for sample in bench.subject.samples {
                    let info = try sample.probe(bench.subject.codec)
                    var tight = DecodeOptions()
                    tight.maximumPixels = info.width * info.height
                    _ = try sample.decode(bench.subject.codec, tight)
                    tight.maximumPixels -= 1
                    var huge = DecodeOptions(resize: Resize(width: 20_000, height: 20_000, fit: .fill))
                    huge.resize?.enlarges = true
                    for options in [tight, huge] {
                        let code = bench.code { () throws(LoadError) in
                            _ = try sample.decode(bench.subject.codec, options)
                        }
                        bench.expect(
                            code == .tooManyPixels, "\(sample.name): \(code.map(\.rawValue) ?? "it was decoded")")
                    }
                }
            }
        ),
        (
            "What is cancelled before it begins ends as cancelled",
            { bench in
                let flag = CancellationFlag()
                flag.cancel()
                for sample in bench.subject.samples {
                    let code = bench.code { () throws(LoadError) in
                        _ = try sample.decode(bench.subject.codec, cancellation: flag)
                    }
                    bench.expect(code == .cancelled, "\(sample.name): \(code.map(\.rawValue) ?? "it was decoded")")
                }
            }
        ),
    ]

    /// Checks of encoding.
    static let writing: [(String, CheckList<CodecBench>.Body)] = [
        (
            "What it writes it can read again, and the same pixels give the same bytes",
            { bench in
                let codec = bench.subject.codec
                for format in codec.encodableFormats {
                    for layout in [PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA] {
                        let pixels = PixelBuffer.pattern(width: 21, height: 13, format: layout)
                        let options = EncodeOptions(format: format)
                        let bytes = try codec.encode(pixels, options: options)
                        bench.expect(try codec.encode(pixels, options: options) == bytes, "\(format): bytes differ")
                        guard codec.decodableFormats.contains(format) else { continue }
                        let sample = Sample("\(format) of its own", bytes, format: format)
                        try codec.validate(bytes, format: format)
                        let again = try sample.decode(codec)
                        bench.expect(
                            again.width == 21 && again.height == 13,
                            "\(format): \(again.width) × \(again.height) came back")
                    }
                }
            }
        ),
        (
            "Formats that it does not write are refused",
            { bench in
                let other = ImageFormat(rawValue: "of no kind")
                let pixels = PixelBuffer.pattern(width: 2, height: 2, format: .rgbx)
                let code = bench.code { () throws(LoadError) in
                    _ = try bench.subject.codec.encode(pixels, options: EncodeOptions(format: other))
                }
                bench.expect(
                    code == .unsupportedFormat, "it ended with \(code.map(\.rawValue) ?? "success")")
            }
        ),
    ]
}
