internal import CInflightCurl
internal import InflightConcurrency
internal import InflightCore

extension Exchange {
    /// Returns the error for libcurl's code at this point of the exchange. `detail` is libcurl's own message, cleaned.
    func failure(for code: CURLcode, detail: String) -> LoadError {
        let host = peer
        let why = detail.isEmpty ? Message.cleaned(unsafe String(cString: curl_easy_strerror(code))) : detail
        if let refusedAddress, !hasOpenedSocket { return failure(forRefused: refusedAddress) }
        switch code {
        case CURLE_OK:
            return failure(.truncated, "The connection to \(host) ended inside the head of its answer. Try again.")
        case CURLE_COULDNT_CONNECT where lacksDescriptors:
            return .tooManyOpenFiles(.fetch, url: request.url.string)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return failure(
                .cannotConnect, "The name of \(connectee) did not resolve (\(why)). Check how it is written.")
        case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_NO_CONNECTION_AVAILABLE, CURLE_INTERFACE_FAILED:
            let remedy = connectee == host ? "Try later." : "Check the proxy variables of the environment."
            return failure(.cannotConnect, "No connection to \(connectee) could be made (\(why)). \(remedy)")
        case _ where !hasAnswer && why.contains("CONNECT tunnel failed"):
            return failure(
                .cannotConnect,
                "\(connectee) refused the connection to \(host) (\(why)). Check its rules and your access.")
        case CURLE_OPERATION_TIMEDOUT:
            return failure(forLimit: hasAnswer ? .stall : .connecting)
        case CURLE_SSL_CACERT_BADFILE:
            return failure(.cannotRead, "The CA certificates cannot be read (\(why)). Name a readable file.")
        case CURLE_SSL_CONNECT_ERROR where Self.meansLostConnection(why):
            return failure(.cannotConnect, "\(host) closed the connection while TLS was agreed on (\(why)). Try later.")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CRL_BADFILE:
            return failure(.untrusted, "The certificate of \(host) is not trusted (\(why)). \(Self.remedy(for: why))")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CLIENTCERT,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
            return failure(.untrusted, "TLS could not be agreed on with \(host) (\(why)).")
        case CURLE_PARTIAL_FILE:
            return failure(.truncated, "The body ended before its length (\(why)). Try again.")
        case CURLE_RECV_ERROR where why.contains("chunked-encoding"):
            return failure(.badResponse, "The server broke HTTP's rules: its chunks are malformed (\(why)).")
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2_STREAM, CURLE_HTTP2,
            CURLE_SEND_FAIL_REWIND, CURLE_ABORTED_BY_CALLBACK, CURLE_WRITE_ERROR:
            if !hasAnswer, isOnReusedConnection { return lost(why) }
            return hasAnswer
                ? failure(.truncated, "The connection to \(host) was lost inside its answer (\(why)). Try again.")
                : failure(.cannotConnect, "The connection to \(host) was lost before any answer (\(why)). Try again.")
        case CURLE_BAD_CONTENT_ENCODING:
            return failure(.badResponse, "The content coding of the body cannot be undone (\(why)).")
        case CURLE_UNSUPPORTED_PROTOCOL:
            return failure(.badResponse, "What \(host) answered is not HTTP (\(why)). Check the port.")
        case CURLE_OUT_OF_MEMORY where !hasHead:
            // libcurl reports a line that is too long this way.
            return failure(.badResponse, "The head of the answer has a line that is too long (\(why)).")
        case CURLE_FILESIZE_EXCEEDED: return tooLarge("It announced a body of more bytes than can be counted")
        case CURLE_URL_MALFORMAT:
            return failure(.invalidURL, "libcurl does not take this URL (\(why)).")
        default:
            return failure(.badResponse, "The exchange with \(host) failed (\(why)).")
        }
    }

    func failure(forRefused address: String) -> LoadError {
        failure(
            .addressNotAllowed,
            "The address policy does not allow a connection to \(peer) (\(address)). "
                + "Use a public address, or allow this one.")
    }

    /// The origin, for messages.
    var peer: String { request.url.origin?.description ?? "the server" }

    /// The other end of the connection, for messages: the origin or its proxy.
    var connectee: String { site?.route.proxyName.map { "the proxy \($0)" } ?? peer }

    /// Returns a remedy for an untrusted certificate, chosen by the TLS library's message.
    private static func remedy(for why: String) -> String {
        if why.contains("expired") { return "Ask its operator to renew it, and check this machine's clock." }
        if why.contains("not yet valid") { return "Check this machine's clock." }
        if why.contains("subject name") { return "It is another host's. Check the URL." }
        return "If it should be, name a CA file that vouches for it."
    }

    /// Returns the error for a connection that was lost, or refused the stream, before the response began, so that
    /// libcurl would resend the request.
    func lost(_ detail: String) -> LoadError {
        failure(
            .connectionLost,
            "\(peer) closed the connection before the response (\(detail.isEmpty ? "no data" : detail)). "
                + "The server may have processed the request. Send it again if that does no harm.")
    }

    func failure(forName host: String, _ why: String) -> LoadError {
        if DescriptorLimit.available < 2 { return .tooManyOpenFiles(.fetch, url: request.url.string) }
        let isProxy = site?.route.proxyName?.hasPrefix(host + ":") ?? false
        return failure(
            .cannotConnect,
            "The name \(isProxy ? "of the proxy " : "")\(Message.cleaned(host)) did not resolve (\(why)). Check how it is written, and the name servers."
        )
    }

    /// Returns whether TLS failed because the connection was lost, judging by libcurl's message.
    private static func meansLostConnection(_ detail: String) -> Bool {
        ["SSL_ERROR_SYSCALL", "Connection reset", "Broken pipe", "unexpected eof"].contains { detail.contains($0) }
    }
}
