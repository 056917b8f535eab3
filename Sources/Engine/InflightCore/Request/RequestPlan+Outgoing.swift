// The outgoing request, before hooks and conditional header fields are added.

extension RequestPlan {
    /// - Parameters:
    ///   - redirected: the exchange after a redirect; nil for the first exchange.
    ///   - defaultFields: the default header fields, which the caller's own replace.
    func outgoing(
        after redirected: RedirectPolicy.Exchange?, defaultFields: HTTPFields, limits: TransportRequest.Limits,
        priority: ImageRequest.Priority
    ) -> TransportRequest {
        // Fast path: nothing has to be built.
        if redirected == nil, goal != .response, request.fields.isEmpty, request.originFields.isEmpty,
            url.userInfo == nil
        {
            return TransportRequest(
                url: url, method: request.method, fields: url.origin == nil ? HTTPFields() : defaultFields,
                body: request.body, limits: limits, priority: priority)
        }
        let exchange = redirected ?? firstExchange()
        var fields = exchange.sentFields
        if exchange.url.origin != nil {
            for index in 0..<defaultFields.count {
                let name = defaultFields.name(index)
                // A caller that accepts any response sets its own `Accept`.
                guard !fields.contains(name), goal != .response || name != "Accept" else { continue }
                fields.append(name: defaultFields.rawName(index), value: defaultFields.rawValue(index))
            }
        }
        return TransportRequest(
            url: exchange.url, method: exchange.method, fields: fields, body: exchange.body, limits: limits,
            priority: priority)
    }

    func firstExchange() -> RedirectPolicy.Exchange {
        var exchange = RedirectPolicy.Exchange(
            url: url, method: request.method, fields: request.fields, originFields: request.originFields,
            body: request.body)
        if url.origin != nil, let userInfo = url.userInfo, !exchange.fields.contains("authorization"),
            !exchange.originFields.contains("authorization")
        {
            exchange.originFields.append("Authorization", "Basic " + Base64.encoded(Array(userInfo.utf8)))
        }
        return exchange
    }

    /// Returns the key of stored responses, and the request to match them against.
    func stored(
        after redirected: RedirectPolicy.Exchange?, defaultFields: HTTPFields, fieldsExcludedFromKey: Set<String>
    ) -> (StoreKey, CachingRequest) {
        let sent = outgoing(
            after: redirected, defaultFields: defaultFields, limits: TransportRequest.Limits(), priority: .normal)
        let url = sent.url.string
        let identity = redirected == nil ? request.identity : nil
        var caching = CachingRequest(
            method: sent.method, url: url, fields: sent.fields, policy: request.cachePolicy)
        caching.hasBody = sent.body != nil
        caching.servesStaleOnDisconnect = !request.hasDefaults && request.servesStaleOnDisconnect
        let names = credentialNames(redirected, fieldsExcludedFromKey)
        if names != VaryFields.defaultCredentials {
            caching.fields.append(VaryFields.credentialNames, names.sorted().joined(separator: ", "))
        }
        return (StoreKey(identity.map { "identity " + $0 } ?? url), caching)
    }

    /// Returns the names of the credentials. Fields for the first origin only are credentials too, unless the
    /// configuration excludes them from keys.
    private func credentialNames(
        _ redirected: RedirectPolicy.Exchange?, _ fieldsExcludedFromKey: Set<String>
    ) -> Set<String> {
        let own = redirected?.originFields ?? (request.hasDefaults ? HTTPFields() : request.originFields)
        let names = (0..<own.count).reduce(into: VaryFields.defaultCredentials) {
            $0.insert(own.name($1).lowercased())
        }
        return names.subtracting(fieldsExcludedFromKey)
    }
}
