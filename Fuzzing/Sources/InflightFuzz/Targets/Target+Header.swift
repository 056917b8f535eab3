import InflightCodecs
import InflightConcurrency

@testable import InflightCore

extension Target {
    /// The header and the structure of a format that decoder processes decode.
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
                        require(count > length, "the probe needs more bytes than it has")
                    case .info(let early):
                        guard let info else { continue }
                        let isSame = early.storedWidth == info.storedWidth && early.storedHeight == info.storedHeight
                        require(isSame && early.hasAlpha == info.hasAlpha, "a prefix has the header of the whole")
                    }
                } catch {
                    require(info == nil, "if a prefix is damaged, the whole is damaged")
                }
            }
            do throws(LoadError) {
                try IsolatedFormats.validate(bytes, format: format)
                require(info != nil, "a valid file has a header")
            } catch {
                check(error)
            }
        }
    }

    private static func probe(_ bytes: Bytes, _ format: ImageFormat, isComplete: Bool) -> ImageInfo? {
        do throws(LoadError) {
            guard case .info(let info) = try IsolatedFormats.probe(bytes, format: format, isComplete: isComplete) else {
                require(!isComplete, "a probe of a complete file needs no more bytes")
                return nil
            }
            require(info.storedWidth > 0 && info.storedHeight > 0, "a header has a size")
            require(info.frameCount > 0 && info.bitsPerComponent > 0, "a header has a frame and a bit depth")
            require(info.profileName.map { $0.count <= 128 } ?? true, "a profile name is short")
            require(info.format == format, "a header has the requested format")
            return info
        } catch {
            check(error)
            return nil
        }
    }

    private static func check(_ error: LoadError) {
        require([.damaged, .unsupportedFormat].contains(error.code), "\(error.code) is an expected error")
        require(error.stage == .decode && !error.message.isEmpty, "an error has a stage and a message")
    }
}
