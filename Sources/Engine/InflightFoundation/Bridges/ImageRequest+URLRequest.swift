import Foundation
public import FoundationNetworking
public import InflightCore

extension ImageRequest {
    /// Creates a request from one of Foundation.
    ///
    /// Uses its URL, method, header fields, body, cache policy and, if it is not the default of 60 s, its
    /// `timeoutInterval`, which becomes ``ImageRequest/Limits/stallTimeout``. Streamed bodies and other
    /// properties are ignored. If the request has no URL, the load fails with
    /// ``LoadError/Code/invalidURL``.
    ///
    /// | cache policy of Foundation | cache policy here |
    /// |---|---|
    /// | `useProtocolCachePolicy` | `obey` |
    /// | `reloadRevalidatingCacheData` | `refresh` |
    /// | `reloadIgnoringLocalCacheData`, `reloadIgnoringLocalAndRemoteCacheData` | `reload` |
    /// | `returnCacheDataElseLoad` | `preferCached` |
    /// | `returnCacheDataDontLoad` | `onlyCached` |
    ///
    /// - Parameters:
    ///   - request: the request of Foundation.
    ///   - resize: the target size; if nil, the image keeps its own.
    ///   - processors: the processors applied to the resized image, in this order.
    ///   - priority: the urgency of the load.
    public init(
        urlRequest request: URLRequest, resize: Resize? = nil, processors: [any ImageProcessing] = [],
        priority: Priority = .normal
    ) {
        self.init(request.url?.absoluteString ?? "", resize: resize, processors: processors, priority: priority)
        if let method = request.httpMethod { self.method = method }
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            fields.append(name, value)
        }
        if let body = request.httpBody { self.body = Bytes([UInt8](body)) }
        if request.timeoutInterval != 60 { limits.stallTimeout = .seconds(request.timeoutInterval) }
        cachePolicy = Self.policy(request.cachePolicy)
    }

    /// Creates a request from one of Foundation. Equivalent to ``init(urlRequest:resize:processors:priority:)``.
    public init(
        _ request: URLRequest, resize: Resize? = nil, processors: [any ImageProcessing] = [],
        priority: Priority = .normal
    ) {
        self.init(urlRequest: request, resize: resize, processors: processors, priority: priority)
    }

    private static func policy(_ policy: URLRequest.CachePolicy) -> CachePolicy {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .reload
        case .returnCacheDataElseLoad: .preferCached
        case .returnCacheDataDontLoad: .onlyCached
        case .reloadRevalidatingCacheData: .refresh
        default: .obey
        }
    }
}

extension URLRequest: ImageRequestConvertible {
    /// A request with what the engine uses of this one: see
    /// `ImageRequest.init(urlRequest:resize:processors:priority:)`.
    public var imageRequest: ImageRequest { ImageRequest(urlRequest: self) }
}
