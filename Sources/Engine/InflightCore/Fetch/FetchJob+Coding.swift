// Content decoding of a body while it is received (RFC 9110 section 8.4).

extension FetchJob {
    /// Prepares the decoding of the content codings that the head names.
    ///
    /// - Returns: the failure, if the body cannot be decoded.
    func undoCoding(of head: ResponseHead, _ work: Work) -> Verdict? {
        guard isCoded(head) else { return nil }
        switch stage.codings.decoderChain(for: head.fields) {
        case .plain: return nil
        case .coded(let decoders):
            work.response.coded = CodedBody(decoders, limit: plan.request.limits.maximumBodyBytes)
            return nil
        case .tooMany(let limit):
            return .failure(
                LoadError(
                    .badResponse, stage: .fetch,
                    message: "The body has more than \(limit) nested content codings. The server may be malicious. "
                        + "The response was discarded.", status: head.status))
        case .outOfMemory: return .failure(codingFailure(.outOfMemory))
        }
    }

    /// Returns whether the body of this response is decoded. A part of a body is not, because the content coding is
    /// that of the whole.
    func isCoded(_ head: ResponseHead) -> Bool {
        head.version != .none && !head.isPart && stage.codings.isCoded(head.fields)
    }

    /// Returns an error if the content coding is incomplete at the end of the body.
    func finishCoding(_ work: Work) -> LoadError? {
        do throws(ContentCodingError) {
            try work.response.coded?.finish()
            return nil
        } catch {
            return codingFailure(error)
        }
    }

    func codingFailure(_ error: ContentCodingError) -> LoadError {
        switch error {
        case .damaged:
            LoadError(
                .badResponse, stage: .fetch,
                message: "The content-coded body is corrupt. The server may be misconfigured.")
        case .truncated:
            LoadError(.truncated, stage: .fetch, message: "The content-coded body is truncated. Try again.")
        case .outOfMemory:
            LoadError(
                .tooLarge, stage: .fetch, message: "Not enough memory to decode the body's content coding.")
        case .stopped:
            LoadError(
                .tooLarge, stage: .fetch,
                message: "After content decoding, the body exceeds the limit of "
                    + "\(plan.request.limits.maximumBodyBytes) bytes. Raise maximumBodyBytes if you trust the server.")
        }
    }
}
