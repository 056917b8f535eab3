import Inflight

/// `inflight-demo contact-sheet DIR -o FILE.png`: all images of a folder, as thumbnails on one sheet.
struct ContactSheetCommand {
    let folder: String
    let output: String

    private static let thumbnail = (width: 240, height: 180)
    private static let margin = 10
    private static let paper: [UInt8] = [22, 24, 29, 255]

    func run() async throws {
        let names = try TextFile.names(in: folder).filter { name in
            !name.hasPrefix(".") && folder + "/" + name != output && Self.isPicture(name)
        }
        let pictures = try await load(names)
        guard !pictures.isEmpty else { throw Usage("No images in \(folder).") }
        let sheet = Self.arranged(pictures)
        let bytes = try CodecRegistry.standard.encode(sheet, options: EncodeOptions(format: .png))
        try TextFile.write(bytes, to: output)
        print("\(pictures.count) images on \(output)")
    }

    private static func isPicture(_ name: String) -> Bool {
        ["jpg", "png", "webp", "gif"].contains { name.hasSuffix("." + $0) }
    }

    /// Loads the images through the library, at thumbnail size. Other files are left out.
    private func load(_ names: [String]) async throws -> [PixelBuffer] {
        let pipeline = try ImagePipeline(configuration: .init())
        let resize = Resize(
            width: Self.thumbnail.width, height: Self.thumbnail.height, fit: .cover, enlarges: true)
        let base = try TextFile.absolute(folder)
        let pictures = await withTaskGroup(of: (Int, PixelBuffer?).self) { group in
            for (index, name) in names.enumerated() {
                group.addTask {
                    let request = ImageRequest(TextFile.url(base + "/" + name), resize: resize)
                    return (index, try? await pipeline.image(for: request).pixels)
                }
            }
            var pictures = [PixelBuffer?](repeating: nil, count: names.count)
            for await (index, picture) in group { pictures[index] = picture }
            return pictures.compactMap { $0 }
        }
        await pipeline.shutdown(.finish)
        return pictures
    }

    private static func arranged(_ pictures: [PixelBuffer]) -> PixelBuffer {
        // As many columns as make the sheet about twice as wide as it is high, for a wide thumbnail.
        let columns = min(pictures.count, max(1, Int((Double(pictures.count) * 1.65).squareRoot().rounded())))
        let rows = (pictures.count + columns - 1) / columns
        let step = (x: thumbnail.width + margin, y: thumbnail.height + margin)
        return unsafe PixelBuffer(width: columns * step.x + margin, height: rows * step.y + margin, format: .rgbx) {
            memory in
            for place in 0..<memory.count { unsafe memory[place] = paper[place & 3] }
            let rowBytes = (columns * step.x + margin) * 4
            for (index, picture) in pictures.enumerated() {
                let left = margin + index % columns * step.x
                let top = margin + index / columns * step.y
                unsafe picture.withUnsafeBytes { pixels in
                    for y in 0..<min(picture.height, thumbnail.height) {
                        let target = (top + y) * rowBytes + left * 4
                        let source = y * picture.bytesPerRow
                        let count = min(picture.width, thumbnail.width) * 4
                        unsafe memory[target..<target + count].copyBytes(from: pixels[source..<source + count])
                    }
                }
            }
        }
    }
}
