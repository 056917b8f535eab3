internal import InflightConcurrency
internal import InflightCore

extension CodecConformance {
    /// Checks with complete images.
    static let reading: [(String, CheckList<CodecBench>.Body)] = [
        (
            "The samples cover every decodable format, pass validation and decode to the probed size",
            { bench in
                let subject = bench.subject
                let formats = Set(subject.samples.map(\.format))
                bench.expect(formats == subject.codec.decodableFormats, "the samples have the formats \(formats)")
                for sample in subject.samples {
                    try subject.codec.validate(sample.bytes, format: sample.format)
                    let info = try sample.probe(subject.codec)
                    bench.expect(info.format == sample.format, "\(sample.name): probed as \(info.format)")
                    let pixels = try sample.decode(subject.codec)
                    bench.expect(
                        pixels.width == info.width && pixels.height == info.height,
                        "\(sample.name): \(info.width) × \(info.height) probed, "
                            + "\(pixels.width) × \(pixels.height) decoded")
                    bench.expect(
                        info.hasAlpha || pixels.format.alpha == .opaque,
                        "\(sample.name): decoded with alpha, but probed without")
                }
            }
        ),
        (
            "Decoding returns the requested size, byte order and alpha format",
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
            "Concurrent decodes return the same pixels as a single decode",
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
            "Probing a prefix requests more bytes or returns the info of the whole file",
            { bench in
                for sample in bench.subject.samples {
                    let whole = try sample.probe(bench.subject.codec)
                    var hasInfo = false
                    for length in sample.shorterLengths {
                        let part = sample.prefix(length)
                        switch try bench.subject.codec.probe(part, format: sample.format, isComplete: false) {
                        case .needsMoreBytes(let count):
                            bench.expect(
                                count > length, "\(sample.name): requests \(count) bytes when it has \(length)")
                            bench.expect(
                                !hasInfo, "\(sample.name): returns info for fewer than \(length) bytes, but not here")
                        case .info(var info):
                            hasInfo = true
                            info.frameCount = whole.frameCount
                            info.mayHaveMoreFrames = whole.mayHaveMoreFrames
                            bench.expect(info == whole, "\(sample.name): different info at \(length) bytes")
                        }
                    }
                }
            }
        ),
        (
            "A truncated sample fails as damaged, unless it lacks only its end marker, or decodes early",
            { bench in
                let codec = bench.subject.codec
                for sample in bench.subject.samples {
                    for length in sample.shorterLengths {
                        let part = sample.prefix(length)
                        let found = bench.code { () throws(LoadError) in
                            try codec.validate(part, format: sample.format)
                        }
                        let isEndless = found == nil && !codec.hasEndMarker(part, format: sample.format)
                        bench.expect(
                            found == .damaged || isEndless,
                            "\(sample.name), \(length) bytes: validation does not fail as damaged")
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
                        bench.expect(verified == decoded, "\(sample.name), \(length) bytes: verify and decode differ")
                        bench.expect(
                            isEndless ? decoded == nil : decoded == .damaged || (sample.decodesEarly && decoded == nil),
                            "\(sample.name), \(length) bytes: decoded with \(decoded.map(\.rawValue) ?? "success")")
                    }
                }
            }
        ),
        (
            "Randomly corrupted samples neither crash the codec nor decode to more pixels than allowed",
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
                        bench.expect((isVerified == nil) == (pixels != nil), "\(sample.name): verify and decode differ")
                        let count = pixels.map { $0.width * $0.height } ?? 0
                        bench.expect(count <= 300_000, "\(sample.name): \(count) pixels")
                    }
                }
            }
        ),
        (
            "An image or a requested size above the pixel limit fails with tooManyPixels",
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
                            code == .tooManyPixels, "\(sample.name): \(code.map(\.rawValue) ?? "decoded")")
                    }
                }
            }
        ),
        (
            "Decoding throws cancelled if cancelled before it starts",
            { bench in
                let flag = CancellationFlag()
                flag.cancel()
                for sample in bench.subject.samples {
                    let code = bench.code { () throws(LoadError) in
                        _ = try sample.decode(bench.subject.codec, cancellation: flag)
                    }
                    bench.expect(code == .cancelled, "\(sample.name): \(code.map(\.rawValue) ?? "decoded")")
                }
            }
        ),
    ]

    /// Checks of encoding.
    static let writing: [(String, CheckList<CodecBench>.Body)] = [
        (
            "Encoding is deterministic, and encoded images decode to their size",
            { bench in
                let codec = bench.subject.codec
                for format in codec.encodableFormats {
                    for layout in [PixelBuffer.Format.rgbx, .rgba, .premultipliedBGRA] {
                        let pixels = PixelBuffer.pattern(width: 21, height: 13, format: layout)
                        let options = EncodeOptions(format: format)
                        let bytes = try codec.encode(pixels, options: options)
                        bench.expect(try codec.encode(pixels, options: options) == bytes, "\(format): bytes differ")
                        guard codec.decodableFormats.contains(format) else { continue }
                        let sample = Sample("encoded \(format)", bytes, format: format)
                        try codec.validate(bytes, format: format)
                        let again = try sample.decode(codec)
                        bench.expect(
                            again.width == 21 && again.height == 13,
                            "\(format): \(again.width) × \(again.height) after decoding")
                    }
                }
            }
        ),
        (
            "Images that are decoded and encoded in one step have the size of decoded ones",
            { bench in
                let codec = bench.subject.codec
                for (sample, format) in bench.subject.samples.flatMap({ sample in
                    codec.encodableFormats.intersection(codec.decodableFormats).map { (sample, $0) }
                }) {
                    let info = try sample.probe(codec)
                    for (width, height) in [(info.width / 2, info.height / 3), (info.width, info.height)] {
                        let decoding = DecodeOptions(
                            resize: Resize(width: max(1, width), height: max(1, height), fit: .exact))
                        let file = try codec.reencode(
                            sample.bytes, format: sample.format, decoding: decoding,
                            encoding: EncodeOptions(format: format), cancellation: CancellationFlag())
                        guard let file else { continue }
                        try codec.validate(file, format: format)
                        let pixels = try Sample("encoded \(format)", file, format: format).decode(codec)
                        bench.expect(
                            pixels.width == max(1, width) && pixels.height == max(1, height),
                            "\(sample.name): \(pixels.width) × \(pixels.height) instead of \(width) × \(height)")
                    }
                }
            }
        ),
        (
            "Encoding an unsupported format fails with unsupportedFormat",
            { bench in
                let other = ImageFormat(rawValue: "unknown")
                let pixels = PixelBuffer.pattern(width: 2, height: 2, format: .rgbx)
                let code = bench.code { () throws(LoadError) in
                    _ = try bench.subject.codec.encode(pixels, options: EncodeOptions(format: other))
                }
                bench.expect(
                    code == .unsupportedFormat, "encoding ended with \(code.map(\.rawValue) ?? "success")")
            }
        ),
    ]
}
