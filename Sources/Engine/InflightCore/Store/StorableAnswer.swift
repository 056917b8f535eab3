/// What may be kept of a picture that is made of an answer.
final class StorableAnswer: Sendable {
    let key: StoreKey
    let request: CachingRequest
    /// What the picture is made of, as it is stored, or would be.
    let response: StoredResponse

    init(key: StoreKey, request: CachingRequest, response: StoredResponse) {
        self.key = key
        self.request = request
        self.response = response
    }
}
