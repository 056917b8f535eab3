internal import Foundation
internal import InflightConcurrency
internal import InflightCore

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

extension SessionExchange {
    var cancelled: LoadError { failure(.cancelled, "It was cancelled.") }

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
                    "The exchange with \(host) took longer in all than \(limits.totalTimeout.text). Allow more time.")
            )
        }
        guard !isPaused, let silence = silenceDeadline, silence < first?.0 ?? .distantFuture else { return first }
        let message =
            lastActivity == nil
            ? "Nothing came from \(host) within \((limits.connectTimeout ?? .zero) + (limits.stallTimeout ?? .zero)), "
                + "connecting included. Try later, or allow more time."
            : "The exchange stalled: no byte came from \(host) for \(limits.stallTimeout.text). "
                + "Try later, or allow longer pauses."
        return (silence, failure(.timedOut, message))
    }

    /// The time at which the silence exceeds its limit.
    private var silenceDeadline: MonotonicTime? {
        guard let stall = request.limits.stallTimeout else { return nil }
        if let lastActivity { return lastActivity + stall }
        return request.limits.connectTimeout.map { startedAt + $0 + stall }
    }

    // MARK: Foundation's errors

    /// Returns the load error for a session's error at this point of the exchange.
    func failure(for error: any Error) -> LoadError {
        let (code, detail) = Self.parts(of: error)
        func because(_ code: LoadError.Code, _ message: String) -> LoadError { failure(code, message, error) }
        switch code {
        case .cancelled:
            return because(.shutDown, "The session's owner cancelled the task. Lend a session that stays.")
        case .timedOut:
            return because(.timedOut, "The exchange with \(host) took longer than the session allows (\(detail)).")
        case .cannotFindHost, .dnsLookupFailed:
            return because(
                .cannotConnect, "The name of \(host) did not resolve (\(detail)). Check how it is written.")
        case .cannotConnectToHost, .notConnectedToInternet:
            return because(.cannotConnect, "No connection to \(host) could be made (\(detail)). Try later.")
        case .badURL:
            return because(.invalidURL, "URLSession does not take this URL (\(detail)).")
        case .unsupportedURL:
            return because(.badResponse, "What \(host) answered is not HTTP (\(detail)). Check the port.")
        case .cannotDecodeContentData, .cannotDecodeRawData, .cannotParseResponse:
            return because(.badResponse, "The body of the answer cannot be decoded (\(detail)).")
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            return because(.untrusted, "The certificate of \(host) is not trusted, or TLS failed (\(detail)).")
        default: return unnamedFailure(error, detail)
        }
    }

    /// Returns the error for a session's error without a specific code. On Linux most have only libcurl's message.
    private func unnamedFailure(_ error: any Error, _ detail: String) -> LoadError {
        func says(_ words: String...) -> Bool { words.contains { detail.contains($0) } }
        if !hasHead, says("SSL", "TLS", "certificate") {
            return failure(.untrusted, "The certificate of \(host) is not trusted, or TLS failed (\(detail)).", error)
        }
        if says("content encoding", "content-encoding", "chunk hex", "chunked-encoding", "Illegal", "header") {
            return failure(.badResponse, "The server broke HTTP's rules (\(detail)).", error)
        }
        return hasHead
            ? failure(.truncated, "The connection to \(host) was lost inside its answer (\(detail)). Try again.", error)
            : failure(
                .cannotConnect, "The connection to \(host) was lost before any answer (\(detail)). Try again.", error)
    }

    private static func parts(of error: any Error) -> (URLError.Code, String) {
        let error = error as NSError
        let code: URLError.Code? = error.domain == NSURLErrorDomain ? URLError.Code(rawValue: error.code) : nil
        let inner = error.userInfo[NSUnderlyingErrorKey] as? NSError
        let sentence = [error, inner].lazy.compactMap { $0?.userInfo[NSLocalizedDescriptionKey] as? String }.first
        return (code ?? .unknown, Message.cleaned(sentence ?? "error \(error.code)"))
    }
}
