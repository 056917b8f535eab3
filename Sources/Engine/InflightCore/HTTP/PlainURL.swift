/// The common form of a URL, parsed in one pass over its bytes: `http` or `https`, a host in lower case, a path,
/// perhaps a port, and nothing that has to be encoded, resolved or dropped. All other URLs take the general parser.
struct PlainURL {
    let isSecure: Bool
    let origin: OriginKey
    let pathStart: Int
    let pathEnd: Int

    init?(_ text: String) {
        var text = text
        let found = text.withUTF8 { bytes in
            unsafe Self.classes.withUnsafeBufferPointer { classes in unsafe Self.parse(bytes, classes) }
        }
        guard let found else { return nil }
        self = found
    }

    private init(isSecure: Bool, origin: OriginKey, pathStart: Int, pathEnd: Int) {
        self.isSecure = isSecure
        self.origin = origin
        self.pathStart = pathStart
        self.pathEnd = pathEnd
    }

    /// - Parameter classes: for each of the 256 byte values, the parts of a URL that it may occur in.
    private static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, _ classes: UnsafeBufferPointer<UInt8>
    ) -> PlainURL? {
        let isSecure: Bool
        let hostStart: Int
        if unsafe begins(bytes, with: "http://") {
            (isSecure, hostStart) = (false, 7)
        } else if unsafe begins(bytes, with: "https://") {
            (isSecure, hostStart) = (true, 8)
        } else {
            return nil
        }
        var position = hostStart
        while position < bytes.count, unsafe classes[Int(bytes[position])] & hostByte != 0 { position += 1 }
        let hostEnd = position
        let defaultPort = isSecure ? 443 : 80
        var port = defaultPort
        if position < bytes.count, unsafe bytes[position] == UInt8(ascii: ":") {
            position += 1
            let portStart = position
            port = 0
            while position < bytes.count, position < portStart + 5, case let digit = unsafe bytes[position] &- 0x30,
                digit < 10
            {
                port = port * 10 + Int(digit)
                position += 1
            }
            // The general parser has to drop default ports and leading zeros.
            guard position > portStart, port <= 65535, port != defaultPort, unsafe bytes[portStart] != UInt8(ascii: "0")
            else { return nil }
        }
        let authorityEnd = position
        guard hostEnd > hostStart, position < bytes.count, unsafe bytes[position] == UInt8(ascii: "/") else {
            return nil
        }
        var pathEnd = -1
        var previous = UInt8(0)
        while position < bytes.count {
            let byte = unsafe bytes[position]
            if byte == UInt8(ascii: "?"), pathEnd < 0 {
                pathEnd = position
            } else if unsafe classes[Int(byte)] & pathByte == 0 {
                return nil
            } else if previous == UInt8(ascii: "/"), byte == UInt8(ascii: "."), pathEnd < 0 {
                // This may be a dot segment.
                return nil
            } else if byte == UInt8(ascii: "%"), pathEnd < 0 {
                // This may be an encoded dot.
                return nil
            }
            previous = byte
            position += 1
        }
        let host = unsafe UnsafeBufferPointer(rebasing: bytes[hostStart..<hostEnd])
        let origin = unsafe OriginKey.shared(isSecure: isSecure, host: host, port: port)
        return PlainURL(
            isSecure: isSecure, origin: origin, pathStart: authorityEnd, pathEnd: pathEnd < 0 ? bytes.count : pathEnd)
    }

    private static func begins(_ bytes: UnsafeBufferPointer<UInt8>, with prefix: StaticString) -> Bool {
        guard bytes.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount where unsafe bytes[index] != prefix.utf8Start[index] { return false }
        return true
    }

    private static let hostByte: UInt8 = 1
    private static let pathByte: UInt8 = 2

    private static let classes: [UInt8] = {
        var classes = [UInt8](repeating: 0, count: 256)
        for byte in "abcdefghijklmnopqrstuvwxyz0123456789-._".utf8 { classes[Int(byte)] |= hostByte }
        for byte in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8 {
            classes[Int(byte)] |= pathByte
        }
        for byte in PercentEncoding.pathBytes { classes[Int(byte)] |= pathByte }
        return classes
    }()
}
