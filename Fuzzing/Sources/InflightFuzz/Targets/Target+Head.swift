@testable import InflightCore
@testable import InflightCurl

extension Target {
    /// A response head as received. The parsed head is written and parsed again.
    static let head = Target(name: "head") { bytes in
        guard let (head, framing) = parse(bytes) else { return }
        require(head.status >= 100 && head.status <= 999, "the status has three digits")
        require(head.fields.wireSize <= bytes.count + 4 * head.fields.count, "the fields are no larger than the input")
        for index in 0..<head.fields.count {
            let name = head.fields.rawName(index)
            require(!name.isEmpty && name.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "a field name has no white space")
            require(
                FieldScanner.trimmed(head.fields.rawValue(index)).count == head.fields.rawValue(index).count,
                "a field value has no surrounding white space")
        }
        if let length = framing?.contentLength { require(length >= 0, "Content-Length is not negative") }

        var written = head
        written.version = .http1_1
        guard let (again, sameFraming) = parse(wire(of: written)) else {
            return require(false, "a written head can be parsed")
        }
        require(again == written && sameFraming == framing, "a written head is parsed to the same head")
    }

    private static func wire(of head: ResponseHead) -> [UInt8] {
        Array("HTTP/1.1 \(head.status) \r\n".utf8) + head.fields.wire + Array("\r\n".utf8)
    }

    private static func parse(_ bytes: [UInt8]) -> (ResponseHead, HeadParser.Framing?)? {
        let outcome = unsafe bytes.withUnsafeBufferPointer { unsafe HeadParser.parse($0, lines: 4) }
        switch outcome {
        case .interim(let head): return (head, nil)
        case .final(let head, let framing): return (head, framing)
        case .malformed: return nil
        }
    }
}
