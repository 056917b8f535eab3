internal import CInflightTLS
internal import Glibc

extension LoopbackServer {
    /// The certificate that a TLS server presents.
    public enum Certificate: Sendable, Hashable, CaseIterable {
        /// For `localhost`, `127.0.0.1` and `::1`, valid now.
        case valid
        /// For the same hosts, until yesterday.
        case expired
        /// Valid now, for another host.
        case wrongHost
    }

    /// A certificate authority for TLS servers. It is created in memory, and only the test has its key.
    ///
    /// ```swift
    /// let authority = try LoopbackServer.CertificateAuthority()
    /// var configuration = LoopbackServer.Configuration()
    /// configuration.tls = .init(authority: authority)
    /// let server = try LoopbackServer(configuration)
    /// try authority.write(toFile: folder + "/ca.pem")          // for a client's --cacert
    /// ```
    ///
    /// One authority may sign for several servers. Its creation takes about a millisecond.
    @safe public final class CertificateAuthority: Sendable {
        // Safe: the pointer does not escape this module, and lives exactly as long as the object.

        // Written once, before the object is shared. The data it points to never changes.
        nonisolated(unsafe) let pointer: OpaquePointer

        /// Creates an authority with a new key.
        ///
        /// - Throws: ``Failure`` if OpenSSL cannot create it.
        public init() throws(Failure) {
            guard let pointer = unsafe inflight_tls_authority_create() else { throw .tls("a certificate authority") }
            unsafe self.pointer = pointer
        }

        deinit {
            unsafe inflight_tls_authority_free(pointer)
        }

        /// The authority's certificate in PEM, for clients that trust it.
        public var pem: String {
            var text = [CChar](repeating: 0, count: unsafe inflight_tls_authority_pem(pointer, nil, 0))
            unsafe inflight_tls_authority_pem(pointer, &text, text.count)
            return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        /// Writes ``pem`` to a file, replacing its contents.
        ///
        /// - Throws: ``Failure`` if the file cannot be written.
        public func write(toFile path: String) throws(Failure) {
            guard let file = unsafe fopen(path, "w") else { throw Failure(writing: path, errno) }
            let bytes = Array(pem.utf8)
            let count = unsafe fwrite(bytes, 1, bytes.count, file)
            let closed = unsafe fclose(file)
            guard count == bytes.count, closed == 0 else { throw Failure(writing: path, errno) }
        }
    }

    /// The TLS configuration of a server. It speaks TLS 1.2 or 1.3, with HTTP/1.1 only.
    public struct TLS: Sendable {
        /// The authority that signs the server's certificate.
        public var authority: CertificateAuthority
        /// The kind of certificate that the server presents.
        public var certificate: Certificate

        /// Creates a TLS configuration; by default with a valid certificate.
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
