internal import Inflight

/// Pictures of one colour each, so that it can be told from its pixels which one a picture is.
enum LabPictures {
    /// A PNG whose every pixel says `number`, 0 to 255.
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
            throw LabError("A picture for the experiment cannot be made: \(error.message)")
        }
    }

    /// Which one it is.
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
            throw LabError("The engine cannot be made: \(error.message)")
        }
    }
}

extension ImagePipeline {
    /// Ends it, and waits for that: its threads are gone when the next experiment begins.
    func shutDownAndWait() {
        Await.task { await self.shutdown(.cancel) }
    }
}
