internal import CInflightCurl
internal import InflightConcurrency
internal import InflightCore

extension Exchange {
    /// Returns the error for libcurl's code at this point of the exchange. `detail` is libcurl's own message, cleaned.
    func failure(for code: CURLcode, detail: String) -> LoadError {
        let host = peer
        let why = detail.isEmpty ? Message.cleaned(unsafe String(cString: inflight_easy_strerror(code))) : detail
        if let refusedAddress, !hasOpenedSocket { return failure(forRefused: refusedAddress) }
        switch code {
        case CURLE_OK:
            return failure(.truncated, "The connection to \(host) ended within the response header. Try again.")
        case CURLE_COULDNT_CONNECT where lacksDescriptors:
            return .tooManyOpenFiles(.fetch, url: request.url.string)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return failure(
                .cannotConnect, "Cannot resolve the host name of \(connectee) (\(why)). Check the spelling.")
        case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_NO_CONNECTION_AVAILABLE, CURLE_INTERFACE_FAILED:
            let remedy = connectee == host ? "Try again later." : "Check the proxy variables of the environment."
            return failure(.cannotConnect, "Cannot connect to \(connectee) (\(why)). \(remedy)")
        case _ where !hasResponseBytes && why.contains("CONNECT tunnel failed"):
            return failure(
                .cannotConnect,
                "\(connectee) refused a tunnel to \(host) (\(why)). Check the proxy's rules and your credentials.")
        case CURLE_OPERATION_TIMEDOUT:
            return failure(forLimit: hasResponseBytes ? .stall : .connecting)
        case CURLE_SSL_CACERT_BADFILE:
            return failure(.cannotRead, "Cannot read the CA certificates (\(why)). Specify a readable file.")
        case CURLE_SSL_CONNECT_ERROR where Self.meansLostConnection(why):
            return failure(
                .cannotConnect, "\(host) closed the connection during the TLS handshake (\(why)). Try again later.")
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return failure(
                .untrusted,
                "The public key of \(host) is not among its pinned keys. If the operator has changed it, pin the new one."
            )
        case CURLE_SSL_CERTPROBLEM:
            return failure(
                .cannotRead,
                "Cannot use the client certificate for \(host) (\(why)). Check the certificate, its key and its password."
            )
        case _ where why.contains("certificate required"):
            return failure(.untrusted, "\(host) requires a client certificate (\(why)). Configure one.")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE:
            return failure(.untrusted, "The certificate of \(host) is not trusted (\(why)). \(Self.remedy(for: why))")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CLIENTCERT, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_USE_SSL_FAILED:
            return failure(.untrusted, "The TLS handshake with \(host) failed (\(why)).")
        case CURLE_PARTIAL_FILE:
            return failure(.truncated, "The body ended before its announced length (\(why)). Try again.")
        case CURLE_HTTP2_STREAM where why.contains("PROTOCOL_ERROR"):
            // nghttp2 checks the framing (RFC 9113 section 8.1.1). If the response arrives at once, libcurl drops all.
            return failure(
                .truncated,
                "The response is malformed, or its body is longer or shorter than its Content-Length (\(why)). "
                    + "Try again.")
        case CURLE_RECV_ERROR where why.contains("chunked-encoding"):
            return failure(.badResponse, "The response is malformed: invalid chunked encoding (\(why)).")
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2_STREAM, CURLE_HTTP2,
            CURLE_SEND_FAIL_REWIND, CURLE_ABORTED_BY_CALLBACK, CURLE_WRITE_ERROR:
            if !hasResponseBytes, isOnReusedConnection { return lost(why) }
            return hasResponseBytes
                ? failure(.truncated, "The connection to \(host) was lost during the response (\(why)). Try again.")
                : failure(.cannotConnect, "The connection to \(host) was lost before the response (\(why)). Try again.")
        case CURLE_BAD_CONTENT_ENCODING:
            return failure(.badResponse, "The body's content coding cannot be decoded (\(why)).")
        case CURLE_UNSUPPORTED_PROTOCOL:
            return failure(.badResponse, "The response from \(host) is not HTTP (\(why)). Check the port.")
        case CURLE_OUT_OF_MEMORY where !hasHead:
            // libcurl reports a line that is too long by this code.
            return failure(.badResponse, "A line of the response header is too long (\(why)).")
        case CURLE_FILESIZE_EXCEEDED: return tooLarge("The announced body length is too large to represent")
        case CURLE_URL_MALFORMAT:
            return failure(.invalidURL, "libcurl rejected the URL (\(why)).")
        default:
            return failure(.badResponse, "The request to \(host) failed (\(why)).")
        }
    }

    func failure(forRefused address: String) -> LoadError {
        failure(
            .addressNotAllowed,
            "The address policy does not allow a connection to \(peer) (\(address)). "
                + "Use another address, or change the address policy.")
    }

    /// The origin, for messages.
    var peer: String { request.url.origin?.description ?? "the server" }

    /// The other end of the connection, for messages: the origin or its proxy.
    var connectee: String { site?.route.proxyName.map { "the proxy \($0)" } ?? peer }

    /// Returns a remedy for an untrusted certificate, chosen by the TLS library's message.
    private static func remedy(for why: String) -> String {
        if why.contains("expired") {
            return "It has expired. Check this machine's clock, or ask the operator to renew it."
        }
        if why.contains("not yet valid") { return "Check this machine's clock." }
        if why.contains("subject name") { return "It belongs to another host. Check the URL." }
        return "If you trust it, specify its CA file."
    }

    /// Returns the error for a connection that was lost, or refused the stream, before the response began, so that
    /// libcurl would resend the request.
    func lost(_ detail: String) -> LoadError {
        let what = isOnReusedConnection ? "closed the connection" : "refused the request"
        return failure(
            .connectionLost,
            "\(peer) \(what) before the response (\(detail.isEmpty ? "no data" : detail)). "
                + "The server may have processed the request. Send it again only if repeating it is safe.")
    }

    func failure(forName host: String, _ why: String, _ outcome: Resolver.Outcome) -> LoadError {
        if DescriptorLimit.available < 2 { return .tooManyOpenFiles(.fetch, url: request.url.string) }
        let isProxy = site?.route.proxyName?.hasPrefix(host + ":") ?? false
        let name = "\(isProxy ? "the proxy " : "")\(Message.cleaned(host))"
        var cause: HostNotFound?
        if case .notFound = outcome, !isProxy { cause = HostNotFound() }
        return LoadError(
            .cannotConnect, stage: .fetch, url: request.url.string,
            message: "Cannot resolve \(name) (\(why)). Check the spelling and the DNS servers.", underlying: cause)
    }

    /// Returns whether TLS failed because the connection was lost, judging by libcurl's message.
    private static func meansLostConnection(_ detail: String) -> Bool {
        ["SSL_ERROR_SYSCALL", "Connection reset", "Broken pipe", "unexpected eof"].contains { detail.contains($0) }
    }
}
