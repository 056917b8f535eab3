internal import InflightConcurrency

/// The rules for requests (RFC 9110 sections 5 and 9), for every transport that speaks HTTP.
package enum RequestRules {
    /// The header fields for framing and connections, in lower case, which only the transport sets.
    package static let framing: Set<String> = [
        "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    /// Whether the text is a token (RFC 9110 section 5.6.2).
    package static func isToken(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty
            && text.allSatisfy { byte in
                let letter = byte | 0x20
                return (letter >= 0x61 && letter <= 0x7A) || (byte >= 0x30 && byte <= 0x39)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }

    /// Whether the text is a field value (RFC 9110 section 5.5): no control character but the tab.
    package static func isValue(_ text: some Collection<UInt8>) -> Bool {
        text.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }

    /// Returns why a method cannot be sent, or nil if it can.
    package static func problem(withMethod method: String) -> String? {
        guard isToken(method.utf8), method != "CONNECT" else {
            return "Invalid HTTP method '\(Message.cleaned(method))'. Use a method such as GET, HEAD or POST."
        }
        return nil
    }

    /// Returns why a header field cannot be sent, or nil if it can.
    package static func problem(withField index: Int, of fields: HTTPFields) -> String? {
        guard isToken(fields.rawName(index)), isValue(fields.rawValue(index)) else {
            return "Invalid header field '\(Message.cleaned(fields.name(index)))'. Remove its invalid characters."
        }
        return nil
    }
}

extension Duration? {
    /// The duration as text for a message.
    package var text: String {
        guard let self else { return "no time" }
        let milliseconds = self.saturatedNanoseconds / 1_000_000
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
