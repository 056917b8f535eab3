internal import CInflightCurl
internal import InflightCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// What libcurl calls while it works for a handle: always on the event loop's thread, from inside one of the loop's
/// calls into libcurl.
extension EasyHandle {
    func setCallbacks() {
        let callbacks = unsafe inflight_callbacks(
            header: { unsafe EasyHandle.header($0, $1, $2, $3) },
            body: { unsafe EasyHandle.body($0, $1, $2, $3) },
            upload: { unsafe EasyHandle.upload($0, $1, $2, $3) },
            rewind: { unsafe EasyHandle.rewind($0, $1, $2) },
            progress: { context, _, downloaded, _, _ in unsafe EasyHandle.progress(context, downloaded) },
            connected: { context, _, _, _, _ in unsafe EasyHandle.connected(context) },
            open: { context, _, address in unsafe EasyHandle.open(context, address) },
            close: { unsafe EasyHandle.close($0, $1) })
        unsafe inflight_easy_set_callbacks(
            easy, callbacks, Unmanaged.passUnretained(self).toOpaque(), Unmanaged.passUnretained(loop).toOpaque())
    }

    private static func handle(_ context: UnsafeMutableRawPointer?) -> EasyHandle {
        // libcurl hands back what `setCallbacks` gave it, and the handle outlives its transfer.
        unsafe Unmanaged<EasyHandle>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }

    private static func header(
        _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
    ) -> Int {
        let handle = unsafe handle(context)
        guard let exchange = handle.exchange else { return 0 }
        let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        return unsafe exchange.didReceive(line: line, at: handle.loop.now) ? line.count : 0
    }

    private static func body(
        _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
    ) -> Int {
        let handle = unsafe handle(context)
        guard let exchange = handle.exchange else { return 0 }
        let chunk = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        if chunk.count == 0 { return 0 }
        switch unsafe exchange.didReceive(body: chunk, at: handle.loop.now) {
        case .taken: return chunk.count
        case .refused: return Int(CURL_WRITEFUNC_PAUSE)
        case .stop: return 0
        }
    }

    private static func upload(
        _ room: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
    ) -> Int {
        let handle = unsafe handle(context)
        guard let exchange = handle.exchange, let body = exchange.request.body else { return 0 }
        exchange.lastActivity = handle.loop.now
        let room = unsafe UnsafeMutableRawBufferPointer(start: room, count: size * count)
        let amount = min(room.count, body.count - exchange.uploadedBytes)
        guard amount > 0 else { return 0 }
        unsafe body.withUnsafeBytes { bytes in
            unsafe room.copyMemory(
                from: UnsafeRawBufferPointer(
                    rebasing: bytes[exchange.uploadedBytes..<exchange.uploadedBytes + amount]))
        }
        exchange.uploadedBytes += amount
        return amount
    }

    private static func rewind(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
        let handle = unsafe handle(context)
        guard let exchange = handle.exchange, let body = exchange.request.body, origin == SEEK_SET, offset >= 0,
            offset <= body.count
        else { return Int32(CURL_SEEKFUNC_FAIL) }
        exchange.uploadedBytes = Int(offset)
        return Int32(CURL_SEEKFUNC_OK)
    }

    private static func progress(_ context: UnsafeMutableRawPointer?, _ downloaded: curl_off_t) -> Int32 {
        let handle = unsafe handle(context)
        guard let exchange = handle.exchange else { return 0 }
        return exchange.didProgress(wireBytes: Int64(downloaded), at: handle.loop.now) ? 0 : 1
    }

    private static func connected(_ context: UnsafeMutableRawPointer?) -> Int32 {
        let handle = unsafe handle(context)
        if let exchange = handle.exchange { handle.loop.didConnect(exchange) }
        return Int32(CURL_PREREQFUNC_OK)
    }

    private static func open(
        _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<curl_sockaddr>?
    ) -> curl_socket_t {
        let handle = unsafe handle(context)
        guard let address = unsafe address?.pointee else { return CURL_SOCKET_BAD }
        if let exchange = handle.exchange { handle.loop.willConnect(exchange) }
        // Closed in programs that this one starts.
        return socket(
            address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), address.protocol)
    }

    /// Called with the loop, since a connection outlives the handle that opened it.
    private static func close(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
        let loop = unsafe Unmanaged<EventLoop>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
        loop.willClose(descriptor)
        #if canImport(Glibc)
            return Glibc.close(descriptor)
        #else
            return Musl.close(descriptor)
        #endif
    }
}
