import Dispatch
import Inflight
import InflightConcurrency

/// The demo's images: their names, sizes and formats.
struct Gallery {
    struct Item: Sendable {
        var name: String
        var format: ImageFormat
        var bytes: Bytes
    }

    let items: [Item]

    struct Plan: Sendable {
        var scene: Scene
        var width: Int
        var height: Int
        var format: ImageFormat
        var seed: UInt64
        var name: String
    }

    /// Paints and encodes all images, on all processors.
    static func painted() throws -> Gallery {
        let plans = Self.plans
        let results = Guarded([Result<Item, LoadError>?](repeating: nil, count: plans.count))
        // Start with the largest, so that none of them is still running alone at the end.
        let order = plans.indices.sorted { plans[$0].width * plans[$0].height > plans[$1].width * plans[$1].height }
        DispatchQueue.concurrentPerform(iterations: plans.count) { turn in
            let index = order[turn]
            let result = Self.item(plans[index])
            results.withLock { $0[index] = result }
        }
        return Gallery(items: try results.withLock { $0 }.map { try $0!.get() })
    }

    static func item(_ plan: Plan) -> Result<Item, LoadError> {
        Result { () throws(LoadError) in
            let pixels = plan.scene.picture(width: plan.width, height: plan.height, seed: plan.seed)
            let bytes =
                plan.format == .gif
                ? GIFEncoder.encode(pixels)
                : try CodecRegistry.standard.encode(pixels, options: EncodeOptions(format: plan.format))
            return Item(name: plan.name, format: plan.format, bytes: bytes)
        }
    }

    static var plans: [Plan] {
        let sizes = [
            (640, 480), (480, 360), (800, 600), (320, 240), (600, 450), (360, 480), (640, 400), (480, 480), (560, 420),
            (200, 150), (512, 384), (400, 300),
        ]
        let formats: [ImageFormat] = [.jpeg, .jpeg, .webp, .jpeg, .png, .jpeg, .gif, .jpeg]
        let scenes = Scene.allCases
        // With the redirected one these are sixty images, which fill a sheet.
        return (0..<59).map { index in
            // Neighbours in the list show different scenes.
            let scene = scenes[(index * 7 + index / scenes.count * 3) % scenes.count]
            var (width, height) = sizes[(index * 5) % sizes.count]
            var format = formats[(index * 3 + index / 8) % formats.count]
            switch index {
            case 11: (width, height, format) = (1600, 1200, .jpeg)
            case 27: (width, height, format) = (1280, 960, .jpeg)
            default: break
            }
            let number = index < 9 ? "0\(index + 1)" : "\(index + 1)"
            let name = "\(number)-\(scene).\(format.fileExtension)"
            return Plan(
                scene: scene, width: width, height: height, format: format, seed: UInt64(index) * 131 + 17, name: name)
        }
    }
}
