// Content decoding of a body while it is received (RFC 9110 section 8.4).

extension FetchJob {
    /// Prepares the decoding of the content codings that the head names.
    ///
    /// - Returns: the failure, if the body cannot be decoded.
    func undoCoding(of head: ResponseHead, _ work: Work) -> Verdict? {
        guard head.version != .none, stage.codings.accepted != nil, !wantsCoded else { return nil }
        switch stage.codings.way(of: head.fields) {
        case .plain: return nil
        case .coded(let decoders):
            work.response.coded = CodedBody(decoders)
            return nil
        case .unknown(let name):
            if plan.goal == .response { return nil }
            return .failure(
                LoadError(
                    .badResponse, stage: .fetch,
                    message: "The body comes in a content coding that is not known here: \(name). "
                        + "Ask for another with Accept-Encoding.", status: head.status))
        case .outOfMemory: return .failure(codingFailure(.outOfMemory))
        }
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

    /// Whether the caller gets the body undecoded, because it set `Accept-Encoding` and requests bytes.
    var wantsCoded: Bool {
        guard plan.goal == .response || plan.goal == .data else { return false }
        let request = plan.request
        return request.fields.contains("accept-encoding") || request.originFields.contains("accept-encoding")
    }

    func codingFailure(_ error: ContentCodingError) -> LoadError {
        switch error {
        case .damaged:
            LoadError(.badResponse, stage: .fetch, message: "The content coding of the body is damaged. Try again.")
        case .truncated:
            LoadError(.truncated, stage: .fetch, message: "The body ended inside its content coding. Try again.")
        case .outOfMemory:
            LoadError(
                .tooLarge, stage: .fetch, message: "There is not enough memory to undo the body's content coding.")
        case .stopped:
            LoadError(
                .tooLarge, stage: .fetch,
                message: "With its content coding undone, the body is longer than the limit, "
                    + "\(plan.request.limits.maximumBodyBytes) bytes. Raise the limit if you trust the server.")
        }
    }
}
