/// What may stand in a request (RFC 9110 sections 5 and 9).
enum RequestRules {
    /// Fields that say how a message is framed or a connection is used, in lower case.
    static let framing: Set<String> = [
        "connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    /// RFC 9110 section 5.6.2.
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                let letter = byte | 0x20
                return (letter >= 0x61 && letter <= 0x7A) || (byte >= 0x30 && byte <= 0x39)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }

    /// RFC 9110 section 5.5: no control character but the tab.
    static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}
