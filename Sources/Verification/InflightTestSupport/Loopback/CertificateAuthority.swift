internal import CInflightTLS
internal import Glibc

extension LoopbackServer {
    /// What a TLS server shows of itself.
    public enum Certificate: Sendable, Hashable, CaseIterable {
        /// For `localhost`, `127.0.0.1` and `::1`, valid now.
        case valid
        /// For the same hosts, until yesterday.
        case expired
        /// Valid now, for a host that this is not.
        case wrongHost
    }

    /// Signs the certificates of TLS servers: made anew in memory, known to nobody but the test.
    ///
    /// ```swift
    /// let authority = try LoopbackServer.CertificateAuthority()
    /// var configuration = LoopbackServer.Configuration()
    /// configuration.tls = .init(authority: authority)
    /// let server = try LoopbackServer(configuration)
    /// try authority.write(toFile: folder + "/ca.pem")          // for a client's --cacert
    /// ```
    ///
    /// One authority may sign for several servers. It takes about a millisecond to make.
    // Safe: the pointer never leaves the kit, and lives exactly as long as the object.
    @safe public final class CertificateAuthority: Sendable {
        // Written once, before the object is shared; what it points to is never changed.
        nonisolated(unsafe) let pointer: OpaquePointer

        public init() throws(Failure) {
            guard let pointer = unsafe inflight_tls_authority_create() else { throw .tls("a certificate authority") }
            unsafe self.pointer = pointer
        }

        deinit {
            unsafe inflight_tls_authority_free(pointer)
        }

        /// The authority's certificate, as clients want to be told whom to trust.
        public var pem: String {
            var text = [CChar](repeating: 0, count: unsafe inflight_tls_authority_pem(pointer, nil, 0))
            unsafe inflight_tls_authority_pem(pointer, &text, text.count)
            return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        /// Writes ``pem`` to a file, in place of what is there.
        public func write(toFile path: String) throws(Failure) {
            guard let file = unsafe fopen(path, "w") else { throw Failure(writing: path, errno) }
            let bytes = Array(pem.utf8)
            let count = unsafe fwrite(bytes, 1, bytes.count, file)
            let closed = unsafe fclose(file)
            guard count == bytes.count, closed == 0 else { throw Failure(writing: path, errno) }
        }
    }

    /// TLS 1.2 or 1.3, and HTTP/1.1 alone.
    public struct TLS: Sendable {
        public var authority: CertificateAuthority
        public var certificate: Certificate

        public init(authority: CertificateAuthority, certificate: Certificate = .valid) {
            self.authority = authority
            self.certificate = certificate
        }
    }
}

extension LoopbackServer.Failure {
    fileprivate init(writing path: String, _ status: Int32) {
        description = "\(path) cannot be written: errno \(status). Name a file in a folder that can be."
    }
}
