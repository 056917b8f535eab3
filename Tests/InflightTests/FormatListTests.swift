import InflightTestSupport
import InflightWorker
import Testing

@testable import Inflight

@Suite("Format support list", .timeLimit(.minutes(10)))
struct FormatListTests {
    private static let isolated: Set<ImageFormat> = [.avif, .heic, .jpegXL, .tiff, .svg]

    private func capabilities(_ decodes: Set<ImageFormat>, missing: [String] = []) -> FormatList.Answer {
        .success(
            DecoderCapabilities(
                decodes: decodes, encodes: decodes.intersection([.avif]), protections: [], missing: missing))
    }

    private func list(
        _ decoding: DecodeIsolation = .auto, drawsSVG: Bool = true, usual: FormatList.Answer? = nil,
        vips: FormatList.Answer?
    ) -> [ImageFormat: FormatSupport] {
        let list = FormatList(decoding: decoding, drawsSVG: drawsSVG, usual: usual, vips: vips).formats
        return Dictionary(uniqueKeysWithValues: list.map { ($0.format, $0) })
    }

    @Test("The format list names each format of the standard codecs once, and agrees with them")
    func complete() {
        for decoding in DecodeIsolation.allCases {
            let registry = CodecRegistry.standard(decoding)
            let answer = decoding == .inProcess ? nil : capabilities(Self.isolated)
            let usual = decoding == .worker ? capabilities([.jpeg, .png, .webp, .gif, .bmp, .ico]) : nil
            let formats = list(decoding, usual: usual, vips: answer)
            #expect(Set(formats.keys) == registry.decodableFormats)
            let written = formats.filter { if case .present = $0.value.encoding { true } else { false } }
            #expect(Set(written.keys) == registry.encodableFormats)
        }
    }

    @Test("A missing part of libvips or libheif is named, with the package that provides it")
    func parts() {
        for (format, part, package) in [
            (ImageFormat.heic, "hevc-decoder", "libheif-plugin-libde265"),
            (.avif, "av1-decoder", "libheif-plugin-dav1d"),
            (.avif, "heifload_buffer", "libvips-dev"), (.heic, "heifload_buffer", "libvips-dev"),
            (.svg, "svgload_buffer", "libvips-dev"),
        ] {
            let formats = list(vips: capabilities(Self.isolated.subtracting([format]), missing: [part]))
            guard case .absent(let reason, let named) = formats[format]?.decoding else {
                Issue.record("\(format) is there without \(part)")
                continue
            }
            #expect(named == package)
            #expect(reason.contains("libheif has no") || reason.contains("libvips has no \(part)"))
            let others = formats.values.filter { if case .absent = $0.decoding { true } else { false } }
            #expect(others.count == 1)
        }
        let deaf = DecoderCapabilities(
            decodes: Self.isolated, encodes: [], protections: [], missing: ["av1-encoder"])
        #expect(
            list(vips: .success(deaf))[.avif]?.encoding
                == .absent(reason: "libheif has no AV1 encoder", package: "libheif-plugin-aomenc"))
    }

    @Test("If the other decoder responds, inflight-decoder-vips is reported as not installed")
    func usualDecoderAnswers() {
        let formats = list(vips: capabilities([.jpeg, .png, .webp, .gif, .bmp, .ico]))
        for format in Self.isolated {
            guard case .absent(let reason, let package) = formats[format]?.decoding else {
                Issue.record("\(format) is there")
                continue
            }
            #expect(reason.contains("inflight-decoder-vips is not installed"))
            #expect(package == "inflight-decoder-vips")
        }
        #expect(formats[.jpeg]?.decoding == .present(library: "libjpeg-turbo", .inProgram))
    }

    @Test("An unavailable format is explained by the decoder error, or by in-process decoding")
    func reasons() {
        let error = LoadError(.decoderUnavailable, stage: .decode, message: "There is none.")
        let formats = list(.worker, usual: .failure(error), vips: .failure(error))
        for support in formats.values {
            #expect(support.decoding == .absent(reason: "There is none.", package: nil))
            #expect(support.animation == .none, "everything is decoded apart")
        }
        #expect(formats[.jpeg]?.encoding == .present(library: "libjpeg-turbo", .inProgram))
        guard case .absent(let reason, nil) = list(.inProcess, vips: nil)[.tiff]?.decoding else {
            Issue.record("TIFF is there without a decoder")
            return
        }
        #expect(reason.contains("in this process only"))
    }

    @Test("SVG is reported as supported only if drawing SVG is enabled")
    func drawings() {
        #expect(
            list(vips: capabilities(Self.isolated))[.svg]?.decoding
                == .present(library: "librsvg (libvips)", .inDecoder))
        guard case .absent(let reason, nil) = list(drawsSVG: false, vips: capabilities(Self.isolated))[.svg]?.decoding
        else {
            Issue.record("drawings are made unasked")
            return
        }
        #expect(reason.contains("drawsSVG"))
    }
}
