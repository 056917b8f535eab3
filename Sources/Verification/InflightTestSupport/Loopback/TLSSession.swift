internal import CInflightTLS

/// A server's certificate and key. Any thread.
// Safe: the pointer does not escape the object, and OpenSSL's contexts may be used from several threads at once.
@safe final class TLSIdentity: Sendable {
    // Written once, before the object is shared.
    nonisolated(unsafe) fileprivate let context: OpaquePointer

    init(
        _ authority: LoopbackServer.CertificateAuthority, _ certificate: LoopbackServer.Certificate
    ) throws(LoopbackServer.Failure) {
        let kind =
            switch certificate {
            case .valid: INFLIGHT_TLS_VALID
            case .expired: INFLIGHT_TLS_EXPIRED
            case .wrongHost: INFLIGHT_TLS_WRONG_HOST
            }
        guard let context = unsafe inflight_tls_server_create(authority.pointer, kind) else {
            throw .tls("a server's certificate")
        }
        unsafe self.context = context
    }

    deinit {
        unsafe inflight_tls_context_free(context)
    }
}

/// The server side of TLS over one connection. Confined to the connection's thread.
// Safe: the pointer does not escape the object, and lives exactly as long as it does.
@safe final class TLSSession {
    enum Outcome {
        /// The number of bytes transferred; 0 for a handshake.
        case done(Int)
        case wantsRead
        case wantsWrite
        case ended
        case failed
    }

    private let session: OpaquePointer

    init?(_ identity: TLSIdentity, descriptor: Int32) {
        guard let session = unsafe inflight_tls_session_create(identity.context, descriptor) else { return nil }
        unsafe self.session = session
    }

    deinit {
        unsafe inflight_tls_session_free(session)
    }

    func handshake() -> Outcome {
        let result = unsafe inflight_tls_handshake(session)
        return result == 0 ? .done(0) : Self.outcome(result)
    }

    func read(into room: UnsafeMutableRawBufferPointer) -> Outcome {
        guard let start = room.baseAddress else { return .done(0) }
        return unsafe Self.outcome(inflight_tls_read(session, start, Int32(clamping: room.count)))
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard let start = bytes.baseAddress else { return .done(0) }
        return unsafe Self.outcome(inflight_tls_write(session, start, Int32(clamping: bytes.count)))
    }

    func sendCloseNotify() {
        unsafe inflight_tls_say_goodbye(session)
    }

    /// The description of this thread's last failure.
    static var lastFailure: String {
        var text = [CChar](repeating: 0, count: 256)
        unsafe inflight_tls_last_error(&text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func outcome(_ result: Int32) -> Outcome {
        switch result {
        case 1...: .done(Int(result))
        case Int32(INFLIGHT_TLS_END): .ended
        case Int32(INFLIGHT_TLS_WANTS_READ): .wantsRead
        case Int32(INFLIGHT_TLS_WANTS_WRITE): .wantsWrite
        default: .failed
        }
    }
}

extension LoopbackServer.Failure {
    static func tls(_ what: String) -> Self {
        Self(description: "OpenSSL could not make \(what): \(TLSSession.lastFailure)")
    }
}
