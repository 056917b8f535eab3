import Glibc
import InflightTestSupport
import Testing

/// A real nginx with HTTP/2 over TLS and a self-signed certificate, for one test.
final class Nginx: Sendable {
    let url: String
    let small = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let large = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
    private let scratch: TemporaryDirectory
    private let process: pid_t

    var caFile: String { scratch.appending("cert.pem") }

    var port: Int { Int(url.split(separator: ":").last ?? "") ?? 0 }

    /// - Parameters:
    ///   - requests: The number of requests on one connection before nginx closes it.
    ///   - authority: The file of the certificate that those of clients are checked by. `/client` returns the result.
    init(requestsPerConnection requests: Int = 1000, clientsTrustedIn authority: String? = nil) throws {
        let scratch = TemporaryDirectory()
        self.scratch = scratch
        try Self.makeCertificate(in: scratch)
        // nginx's worker may read `root` and `alias` because it runs as the user of this process.
        scratch.write("small", small)
        scratch.write("large", large)
        let port = Self.freePort()
        url = "https://127.0.0.1:\(port)"
        let text = """
            daemon off; master_process off; pid \(scratch.appending("pid")); error_log stderr crit;
            events { worker_connections 256; }
            http {
                access_log off; keepalive_requests \(requests); default_type application/octet-stream;
                client_body_temp_path \(scratch.appending("a")); proxy_temp_path \(scratch.appending("b"));
                fastcgi_temp_path \(scratch.appending("c")); uwsgi_temp_path \(scratch.appending("d"));
                scgi_temp_path \(scratch.appending("e"));
                server {
                    listen 127.0.0.1:\(port) ssl http2; root \(scratch.appending(""));
                    ssl_certificate \(scratch.appending("cert.pem")); ssl_certificate_key \(scratch.appending("key.pem"));
                    \(authority.map { "ssl_client_certificate \($0); ssl_verify_client optional;" } ?? "")
                    location = /priority { return 200 "$http_priority"; }
                    location = /client { return 200 "$ssl_client_verify $ssl_client_s_dn"; }
                }
            }
            """
        scratch.write("nginx.conf", text)
        process = try Self.run(
            "nginx", ["-c", scratch.appending("nginx.conf"), "-e", "stderr", "-p", scratch.appending("")])
        try Self.wait(for: process, listeningAt: port)
    }

    deinit {
        kill(process, SIGKILL)
        _ = Self.wait(for: process)
    }

    /// Writes a self-signed certificate for 127.0.0.1 and its key: `cert.pem` and `key.pem`.
    static func makeCertificate(in scratch: TemporaryDirectory) throws {
        let made = try Self.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-keyout", scratch.appending("key.pem"), "-out", scratch.appending("cert.pem"), "-subj",
                "/CN=localhost",
                "-addext", "subjectAltName=IP:127.0.0.1",
            ])
        try #require(Self.wait(for: made) == 0, "openssl made no certificate")
    }

    /// The server's public key as a pin (RFC 7469 section 2.4).
    func publicKey() throws -> String {
        let made = try Self.run(
            "sh",
            [
                "-c",
                """
                openssl x509 -in '\(caFile)' -pubkey -noout | openssl pkey -pubin -outform der |
                openssl dgst -sha256 -binary | openssl base64 -A -out '\(scratch.appending("pin"))'
                """,
            ])
        try #require(Self.wait(for: made) == 0)
        return String(decoding: try #require(scratch.read("pin")), as: UTF8.self)
    }

    /// Returns when the server listens. Fails if it ends instead.
    static func wait(for process: pid_t, listeningAt port: Int) throws {
        while !isListening(port) {
            var status: Int32 = 0
            let ended = unsafe waitpid(process, &status, WNOHANG)
            try #require(ended == 0, "the server did not start; install what it needs with make deps")
            sched_yield()
        }
    }

    static func run(_ program: String, _ arguments: [String]) throws -> pid_t {
        var pointers = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        var process: pid_t = 0
        let status = unsafe posix_spawnp(&process, program, &actions, nil, &pointers, environ)
        try #require(status == 0, "\(program) is not installed; install it with make deps")
        return process
    }

    static func wait(for process: pid_t) -> Int32 {
        var status: Int32 = 0
        unsafe waitpid(process, &status, 0)
        return status
    }

    static func freePort() -> Int { RawServer { _ in }.port }

    private static func isListening(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        address.sin_port = in_port_t(port).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
