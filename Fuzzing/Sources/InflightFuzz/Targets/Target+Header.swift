import InflightCodecs
import InflightConcurrency
@testable import InflightCore

extension Target {
    /// The header and the structure of a format whose pixels the worker decodes.
    static func header(_ name: String) -> Target {
        let format = ImageFormat(rawValue: name)
        return Target(name: name) { array in
            let bytes = Bytes(array)
            let info = probe(bytes, format, isComplete: true)
            for length in [array.count / 2, array.count] {
                let part = Bytes(Array(array.prefix(length)))
                do throws(LoadError) {
                    switch try IsolatedFormats.probe(part, format: format, isComplete: false) {
                    case .needsMoreBytes(let count):
                        require(count > length, "more bytes are asked for than there are")
                    case .info(let early):
                        guard let info else { continue }
                        let isSame = early.storedWidth == info.storedWidth && early.storedHeight == info.storedHeight
                        require(isSame && early.hasAlpha == info.hasAlpha, "a part tells what the whole does")
                    }
                } catch {
                    require(info == nil, "what is broken in part is broken as a whole")
                }
            }
            do throws(LoadError) {
                try IsolatedFormats.validate(bytes, format: format)
                require(info != nil, "what is whole has a header")
            } catch {
                check(error)
            }
        }
    }

    private static func probe(_ bytes: Bytes, _ format: ImageFormat, isComplete: Bool) -> ImageInfo? {
        do throws(LoadError) {
            guard case .info(let info) = try IsolatedFormats.probe(bytes, format: format, isComplete: isComplete) else {
                require(!isComplete, "no more is asked for than there is")
                return nil
            }
            require(info.storedWidth > 0 && info.storedHeight > 0, "what has a header has a size")
            require(info.frameCount > 0 && info.bitsPerComponent > 0, "and a frame, of some depth")
            require(info.profileName.map { $0.count <= 128 } ?? true, "a profile's name is short")
            require(info.format == format, "and the format that was named")
            return info
        } catch {
            check(error)
            return nil
        }
    }

    private static func check(_ error: LoadError) {
        require([.damaged, .unsupportedFormat].contains(error.code), "\(error.code) is an error of headers")
        require(error.stage == .decode && !error.message.isEmpty, "an error says where it happened")
    }
}
