internal import Inflight

/// Images with a number in every pixel, which identifies the image.
enum LabImages {
    /// Returns a PNG with `number`, 0 to 255, in every pixel.
    static func png(_ number: Int, side: Int, codecs: CodecRegistry) throws(LabError) -> [UInt8] {
        let pixels = unsafe PixelBuffer(width: side, height: side, format: .rgbx) { memory in
            for offset in stride(from: 0, to: side * side * 4, by: 4) {
                unsafe memory[offset] = UInt8(number)
                unsafe memory[offset + 1] = UInt8(offset / 4 % side & 0xFF)
                unsafe memory[offset + 2] = UInt8(offset / 4 / side & 0xFF)
                unsafe memory[offset + 3] = 255
            }
        }
        do throws(LoadError) {
            return try codecs.encode(pixels, options: EncodeOptions(format: .png)).array
        } catch {
            throw LabError("Cannot create an image for the experiment: \(error.message)")
        }
    }

    /// Returns the number of an image.
    static func number(of pixels: PixelBuffer) -> Int {
        unsafe pixels.withUnsafeBytes { unsafe $0.isEmpty ? -1 : Int($0[0]) }
    }

    static func pipeline(decodes: Int = 2) throws(LabError) -> ImagePipeline {
        var configuration = ImagePipeline.Configuration()
        configuration.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        configuration.maximumConcurrentFetchesPerOrigin = 16
        configuration.decodeConcurrency = decodes
        do throws(LoadError) {
            return try ImagePipeline(configuration: configuration)
        } catch {
            throw LabError("Cannot create the engine: \(error.message)")
        }
    }
}

extension ImagePipeline {
    /// Shuts the pipeline down and waits, so that its threads have ended when the next experiment begins.
    func shutDownAndWait() {
        BlockingAwait.task { await self.shutdown(.cancel) }
    }
}
