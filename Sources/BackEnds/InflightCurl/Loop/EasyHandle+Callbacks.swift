internal import CInflightCurl
internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// Callbacks from libcurl for a handle: always on the event loop's thread, inside one of the loop's calls into libcurl.
extension EasyHandle {
    func setCallbacks() {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe head.pointee.context = context
        let callbacks = unsafe inflight_callbacks(
            head: head,
            body: { unsafe EasyHandle.body($0, $1, $2, $3) },
            upload: { unsafe EasyHandle.upload($0, $1, $2, $3) },
            progress: { context, _, downloaded, _, _ in unsafe EasyHandle.progress(context, downloaded) },
            sends: { context, _, _, _, _ in unsafe EasyHandle.sends(context) },
            open: { context, _, address in unsafe EasyHandle.open(context, address) },
            close: { unsafe EasyHandle.close($0, $1) })
        unsafe inflight_easy_set_callbacks(easy, callbacks, context, Unmanaged.passUnretained(loop).toOpaque())
    }

    /// Calls `body` with the handle that ``setCallbacks()`` gave to libcurl. The handle outlives its transfer.
    private static func with<Result>(
        _ context: UnsafeMutableRawPointer?, _ body: (EasyHandle, Exchange, _ now: Int64) -> Result
    ) -> Result? {
        unsafe Unmanaged<EasyHandle>.fromOpaque(context.unsafelyUnwrapped)._withUnsafeGuaranteedRef { handle in
            guard let exchange = handle.exchange else { return nil }
            return unsafe body(handle, exchange, handle.loop.now)
        }
    }

    static func headEnded(_ context: UnsafeMutableRawPointer?) -> Bool {
        let continues = unsafe with(context) { handle, exchange, now in
            if unsafe handle.head.pointee.is_too_long {
                exchange.didReceiveTooMuch(inTrailers: unsafe handle.head.pointee.is_complete)
                return false
            }
            let text = unsafe UnsafeRawBufferPointer(start: handle.head.pointee.text, count: handle.head.pointee.length)
            let outcome = unsafe HeadParser.parse(
                text.assumingMemoryBound(to: UInt8.self), lines: handle.head.pointee.lines)
            unsafe handle.head.pointee.length = 0
            if case .final = outcome { unsafe handle.head.pointee.is_complete = true }
            return exchange.didReceive(outcome, at: now)
        }
        return continues ?? false
    }

    private static func body(
        _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
    ) -> Int {
        let chunk = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
        if chunk.count == 0 { return 0 }
        let intake = unsafe with(context) { _, exchange, now in
            unsafe exchange.didReceive(body: chunk, at: now)
        }
        switch intake {
        case .taken: return chunk.count
        case .refused: return Int(CURL_WRITEFUNC_PAUSE)
        case .stop, nil: return 0
        }
    }

    private static func upload(
        _ room: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
    ) -> Int {
        let room = unsafe UnsafeMutableRawBufferPointer(start: room, count: size * count)
        let amount: Int? = unsafe with(context) { _, exchange, now in
            guard let body = exchange.request.body else { return 0 }
            exchange.lastActivity = now
            let start = exchange.uploadedBytes
            let amount = min(room.count, body.count - start)
            guard amount > 0 else { return 0 }
            unsafe body.withUnsafeBytes { bytes in
                unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + amount]))
            }
            exchange.uploadedBytes += amount
            return amount
        }
        return amount ?? 0
    }

    private static func progress(_ context: UnsafeMutableRawPointer?, _ downloaded: curl_off_t) -> Int32 {
        let continues = unsafe with(context) { _, exchange, now in
            exchange.didProgress(wireBytes: Int64(downloaded), at: now)
        }
        return continues == false ? 1 : 0
    }

    /// libcurl has a connection and is about to send the request.
    private static func sends(_ context: UnsafeMutableRawPointer?) -> Int32 {
        let isFirst = unsafe with(context) { handle, exchange, _ in
            if handle.refusesResend(exchange) { return false }
            unsafe handle.loop.didConnect(exchange)
            return true
        }
        return Int32(isFirst == false ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK)
    }

    /// Refuses to resend. libcurl resends a request when a reused connection closes before the response, whatever the
    /// method (RFC 9110 section 9.2.2 allows that for idempotent ones). The engine's retry policy decides instead.
    private func refusesResend(_ exchange: Exchange) -> Bool {
        guard exchange.phase == .connected else { return false }
        isWorn = true
        // Later descriptions may be long enough to replace this one.
        if requiresHTTP1 { exchange.isRefusedOverHTTP2 = true }
        // libcurl describes a lost connection, and does not describe a refused stream. It resends a request on a new
        // connection for no other reason.
        exchange.isRefusedStream =
            !usesHTTP1 && (!exchange.isOnReusedConnection || exchange.site?.speaksHTTP1 == false)
            && errorMessage.isEmpty
        if exchange.stop == nil { exchange.stop = exchange.lost(errorMessage) }
        return true
    }

    private static func open(
        _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<curl_sockaddr>?
    ) -> curl_socket_t {
        guard let pointer = unsafe address, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else {
            return CURL_SOCKET_BAD
        }
        let address = unsafe pointer.pointee
        // Used in place, since the address is longer than its declared type.
        let socketAddress = unsafe UnsafeRawPointer(pointer).advanced(by: offset).assumingMemoryBound(to: sockaddr.self)
        let opened: Int32? = unsafe with(context) { handle, exchange, _ in
            // Do not open a connection for a resend. After a refused address, libcurl tries the next one.
            if handle.refusesResend(exchange) { return CURL_SOCKET_BAD }
            guard unsafe handle.loop.willConnect(exchange, to: socketAddress) else { return CURL_SOCKET_BAD }
            // Close-on-exec, so that child processes do not inherit it.
            let opened = socket(
                address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue),
                address.protocol)
            if opened >= 0 {
                unsafe handle.loop.didOpenSocket()
            } else {
                exchange.lacksDescriptors = DescriptorLimit.isReached(errno)
            }
            return opened
        }
        return opened ?? CURL_SOCKET_BAD
    }

    /// Receives the loop as its context, since a connection outlives the handle that opened it.
    private static func close(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
        let loop = unsafe Unmanaged<EventLoop>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
        loop.willClose(descriptor)
        return Glibc.close(descriptor)
    }
}
