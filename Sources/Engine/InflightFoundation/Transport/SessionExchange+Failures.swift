internal import Foundation
internal import InflightConcurrency
internal import InflightCore

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

extension SessionExchange {
    var cancelled: LoadError { failure(.cancelled, "The request was cancelled.") }

    func failure(_ code: LoadError.Code, _ message: String, _ underlying: (any Error)? = nil) -> LoadError {
        LoadError(code, stage: .fetch, url: request.url.string, message: message, underlying: underlying)
    }

    private var host: String { request.url.origin?.description ?? "the server" }

    // MARK: Time

    /// Returns the earliest time limit that can still be exceeded, and its error.
    func nextDeadline(isPaused: Bool) -> (MonotonicTime, LoadError)? {
        let limits = request.limits
        var first: (MonotonicTime, LoadError)?
        if let total = limits.totalTimeout {
            first = (
                startedAt + total,
                failure(
                    .timedOut,
                    "The request to \(host) timed out after \(limits.totalTimeout.text). Raise totalTimeout.")
            )
        }
        guard !isPaused, let silence = silenceDeadline, silence < first?.0 ?? .distantFuture else { return first }
        let message =
            lastActivity == nil
            ? "No data from \(host) within \((limits.connectTimeout ?? .zero) + (limits.stallTimeout ?? .zero)), "
                + "connecting included. Try again later, or raise connectTimeout or stallTimeout."
            : "The transfer stalled: no data from \(host) for \(limits.stallTimeout.text). "
                + "Try again later, or raise stallTimeout."
        return (silence, failure(.timedOut, message))
    }

    /// The time at which the transfer has been silent for too long.
    private var silenceDeadline: MonotonicTime? {
        guard let stall = request.limits.stallTimeout else { return nil }
        if let lastActivity { return lastActivity + stall }
        return request.limits.connectTimeout.map { startedAt + $0 + stall }
    }

    // MARK: Foundation's errors

    /// Returns the load error for a session's error, given the state of the exchange.
    func failure(for error: any Error) -> LoadError {
        let (code, detail) = Self.parts(of: error)
        func because(_ code: LoadError.Code, _ message: String) -> LoadError { failure(code, message, error) }
        switch code {
        case .cancelled:
            return because(.shutDown, "The URLSession cancelled the task. Keep the session valid until its loads end.")
        case .timedOut:
            return because(.timedOut, "The request to \(host) exceeded the URLSession's timeout (\(detail)).")
        case .cannotFindHost, .dnsLookupFailed:
            return because(
                .cannotConnect, "Cannot resolve the host name of \(host) (\(detail)). Check the spelling.")
        case .cannotConnectToHost, .notConnectedToInternet:
            return because(.cannotConnect, "Cannot connect to \(host) (\(detail)). Try again later.")
        case .badURL:
            return because(.invalidURL, "URLSession rejected the URL (\(detail)).")
        case .unsupportedURL:
            return because(.badResponse, "The response from \(host) is not HTTP (\(detail)). Check the port.")
        case .cannotDecodeContentData, .cannotDecodeRawData, .cannotParseResponse:
            return because(.badResponse, "The response body cannot be decoded (\(detail)).")
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            return because(
                .untrusted, "The certificate of \(host) is not trusted, or the TLS handshake failed (\(detail)).")
        default: return unnamedFailure(error, detail)
        }
    }

    /// Returns the error for a session's error without a specific code. On Linux most have only libcurl's message.
    private func unnamedFailure(_ error: any Error, _ detail: String) -> LoadError {
        func says(_ words: String...) -> Bool { words.contains { detail.contains($0) } }
        if !hasHead, says("SSL", "TLS", "certificate") {
            return failure(
                .untrusted, "The certificate of \(host) is not trusted, or the TLS handshake failed (\(detail)).", error
            )
        }
        if says("content encoding", "content-encoding", "chunk hex", "chunked-encoding", "Illegal", "header") {
            return failure(.badResponse, "The response is malformed (\(detail)).", error)
        }
        return hasHead
            ? failure(
                .truncated, "The connection to \(host) was lost during the response (\(detail)). Try again.", error)
            : failure(
                .cannotConnect, "The connection to \(host) was lost before the response (\(detail)). Try again.", error)
    }

    private static func parts(of error: any Error) -> (URLError.Code, String) {
        let error = error as NSError
        let code: URLError.Code? = error.domain == NSURLErrorDomain ? URLError.Code(rawValue: error.code) : nil
        let inner = error.userInfo[NSUnderlyingErrorKey] as? NSError
        let sentence = [error, inner].lazy.compactMap { $0?.userInfo[NSLocalizedDescriptionKey] as? String }.first
        return (code ?? .unknown, Message.cleaned(sentence ?? "error \(error.code)"))
    }
}
