import Inflight
import Testing

// With no other import, so that this file sees what a program with `import Inflight` alone sees.

@Suite("import Inflight alone", .timeLimit(.minutes(10)))
struct ImportTests {
    @Test("The results of loads have names")
    func results() {
        let results: [Any.Type] = [
            LoadedImage.self, LoadedResponse.self, LoadEvents.self, DataEvents.self, EncodedImage.self,
            RemoteImageInfo.self, AnimatedImage.self, ImagePipeline.DiskCache.self, Prefetcher.Statistics.self,
        ]
        #expect(Set(results.map { ObjectIdentifier($0) }).count == results.count)
    }

    @Test("The localized description of an error is its message, without an import of Foundation")
    func localizedDescription() async {
        await #expect {
            try await ImagePipeline.shared.image(for: ImageRequest("nowhere://example"))
        } throws: { error in
            guard let error = error as? LoadError else { return false }
            print(error.localizedDescription)
            return error.localizedDescription == error.message && error.localizedDescription.contains("nowhere")
        }
    }
}
