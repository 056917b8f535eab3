public import Foundation
internal import InflightConcurrency

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

extension URLSessionTransport {
    /// The delegate that a session needs to be lent to a ``URLSessionTransport``. It forwards the events of the
    /// transport's tasks to their exchanges.
    ///
    /// For the session's other tasks it acts as if there were no delegate: redirects are followed, and challenges get
    /// the default handling. So create those tasks with completion handlers, or await them.
    ///
    /// Its methods are called by the session, on its delegate queue.
    public final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
        private let exchanges = Guarded<[ObjectIdentifier: SessionExchange]>([:])

        func add(_ exchange: SessionExchange, for task: URLSessionTask) {
            exchanges.withLock { $0[ObjectIdentifier(task)] = exchange }
        }

        private func exchange(_ task: URLSessionTask) -> SessionExchange? {
            exchanges.withLock { $0[ObjectIdentifier(task)] }
        }

        /// Passes the response's head to the task's exchange. The transfer always continues.
        public func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.allow)
            exchange(dataTask)?.didReceive(response)
        }

        /// Passes bytes of the body to the task's exchange.
        public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            exchange(dataTask)?.didReceive(data)
        }

        /// Notes that a part of the request's body was sent, which restarts the stall timeout of the task's exchange.
        public func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) {
            exchange(task)?.didSend()
        }

        /// Refuses the redirect of a task of the transport, so that the redirect is its response. Follows those of
        /// other tasks.
        public func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            guard let exchange = exchange(task) else { return completionHandler(request) }
            if exchange.willRedirect() { completionHandler(nil) }
        }

        /// Refuses to authenticate a task of the transport with the server. Other challenges, and other tasks, get the
        /// default handling.
        public func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            guard let exchange = exchange(task), challenge.protectionSpace.asksForCredentials else {
                return completionHandler(.performDefaultHandling, nil)
            }
            if exchange.willAuthenticate() { completionHandler(.rejectProtectionSpace, nil) }
        }

        /// Ends the task's exchange, with the error if there is one.
        public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let exchange = exchanges.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
            exchange?.didComplete(response: task.response, error: error)
        }
    }
}

extension URLProtectionSpace {
    /// Whether a response with status 401 asks for credentials, rather than TLS or a proxy.
    fileprivate var asksForCredentials: Bool {
        [
            NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
            NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
        ].contains(authenticationMethod) && !isProxy()
    }
}
