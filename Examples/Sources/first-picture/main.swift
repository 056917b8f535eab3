import Inflight

let url = CommandLine.arguments.last ?? ""
let request = ImageRequest(url, resize: Resize(width: 320, height: 240))
do {
    let image = try await ImagePipeline.shared.image(for: request)
    print("\(image.width) × \(image.height) pixels from \(image.url)")
} catch { print(error.message) }
