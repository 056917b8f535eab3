@testable import InflightCore
@testable import InflightCurl

extension Target {
    /// A head as it comes off the wire. What is read of it is written and read again.
    static let head = Target(name: "head") { bytes in
        guard let (head, framing) = parse(bytes) else { return }
        require(head.status >= 100 && head.status <= 999, "the status has three digits")
        require(head.fields.wireSize <= bytes.count + 4 * head.fields.count, "no more is read than there is")
        for index in 0..<head.fields.count {
            let name = head.fields.rawName(index)
            require(!name.isEmpty && name.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "a name is a word")
            require(
                FieldScanner.trimmed(head.fields.rawValue(index)).count == head.fields.rawValue(index).count,
                "white space around a value is none of it")
        }
        if let length = framing?.contentLength { require(length >= 0, "no body has less than no bytes") }

        var written = head
        written.version = .http1_1
        guard let (again, sameFraming) = parse(wire(of: written)) else {
            return require(false, "what was read can be written and read again")
        }
        require(again == written && sameFraming == framing, "what was read can be written and read again")
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
