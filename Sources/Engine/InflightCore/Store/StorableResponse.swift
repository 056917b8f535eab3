/// A response whose processed images may be stored.
final class StorableResponse: Sendable {
    let key: StoreKey
    let request: CachingRequest
    /// The response from which the image is made, as it is or would be stored.
    let response: StoredResponse

    init(key: StoreKey, request: CachingRequest, response: StoredResponse) {
        self.key = key
        self.request = request
        self.response = response
    }
}
