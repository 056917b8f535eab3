import InflightCodecs
import InflightConcurrency

@testable import InflightCore

extension Target {
    /// The lists of properties (`ipma`) of a HEIF file with an image and its alpha. The first byte divides the rest
    /// into two boxes, whose order must not matter.
    static let propertyLists = Target(name: "ipma") { bytes in
        guard let first = bytes.first else { return }
        let rest = bytes.dropFirst()
        let parts = [Array(rest.prefix(Int(first))), Array(rest.dropFirst(Int(first)))]
        let (info, error) = read(parts)
        let (other, otherError) = read(parts.reversed())
        require(info == other, "the order of the boxes does not matter")
        for error in [error, otherError].compactMap({ $0 }) {
            require(error.code == .damaged && !error.message.isEmpty, "a malformed list is damage")
        }
        guard let info else { return }
        require(info.storedWidth == 16 && info.storedHeight == 12, "the size is that of the image")
        // Without damage, alpha depends only on whether a list gives its item the property that makes it alpha.
        let lists = parts.flatMap { wellFormed($0) }
        let isAlpha = lists.contains { $0.item == 2 && $0.properties.contains(2) }
        require(info.hasAlpha == isAlpha, "alpha is never lost")
    }

    private static func read(_ parts: [[UInt8]]) -> (ImageInfo?, LoadError?) {
        do throws(LoadError) {
            return (try IsolatedFormats.info(Bytes(file(parts)), format: .avif, page: 0), nil)
        } catch {
            return (nil, error)
        }
    }

    /// Reads the entries of a list that is known to be well formed.
    private static func wellFormed(_ list: [UInt8]) -> [(item: Int, properties: [Int])] {
        var rest = list[...]
        func number(_ size: Int) -> Int {
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
        }
        let head = number(4)
        let size = head & 1 == 0 ? 1 : 2
        return (0..<number(4)).map { _ in
            let item = number(head >> 24 == 0 ? 2 : 4)
            return (item, (0..<number(1)).map { _ in number(size) & (size == 1 ? 0x7F : 0x7FFF) })
        }
    }

    /// A file with a size, the kind of alpha, and a rotation as properties, and an alpha item.
    private static func file(_ lists: [[UInt8]]) -> [UInt8] {
        func big16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }
        func big32(_ value: Int) -> [UInt8] { big16(value >> 16) + big16(value) }
        func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
            big32(content.count + 8) + Array(name.utf8) + content
        }
        let items = [1, 2].flatMap { box("infe", big32(2 << 24) + big16($0) + [0, 0] + Array("av01".utf8) + [0]) }
        let size = box("ispe", big32(0) + big32(16) + big32(12))
        let alpha = box("auxC", big32(0) + Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0".utf8))
        let properties = box("ipco", size + alpha + box("irot", [1]))
        let meta =
            big32(0) + box("pitm", big32(0) + big16(1)) + box("iinf", big32(0) + big16(2) + items)
            + box("iref", big32(0) + box("auxl", big16(2) + big16(1) + big16(1)))
            + box("iprp", properties + lists.flatMap { box("ipma", $0) })
        return box("ftyp", Array("avif\0\0\0\0avif".utf8)) + box("meta", meta)
    }
}
