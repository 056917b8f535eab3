package import InflightCore

extension ImageRequest {
    /// Returns a request without timeouts and without a minimum rate. A server may hold its response back while the
    /// test waits, and on a busy machine the test may wait longer than any limit.
    package static func patient(_ url: String, resize: Resize? = nil) -> ImageRequest {
        var request = ImageRequest(url, resize: resize)
        request.limits.connectTimeout = nil
        request.limits.stallTimeout = nil
        request.limits.minimumBytesPerSecond = 0
        return request
    }
}
