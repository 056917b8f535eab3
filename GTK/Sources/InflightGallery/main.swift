import CInflightGTK
import Foundation
import Inflight
import InflightGTK

let options: GalleryOptions
do throws(GalleryOptions.Failure) {
    options = try GalleryOptions(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("inflight-gallery: \(error.message)\n".utf8))
    exit(64)
}
if options.wantsHelp {
    print(GalleryOptions.help, terminator: "")
    exit(0)
}
guard gtk_init_check() != 0 else {
    FileHandle.standardError.write(
        Data("inflight-gallery: There is no display. Start it in a desktop, or under Xvfb.\n".utf8))
    exit(1)
}

let list = ImageList(options.sources)
for problem in list.problems { FileHandle.standardError.write(Data("inflight-gallery: \(problem)\n".utf8)) }

var decoder = DecoderConfiguration()
decoder.drawsSVG = options.drawsSVG
var configuration = ImagePipeline.Configuration(decoder: decoder)
configuration.memoryCache.limit = options.memory << 20
configuration.maximumConcurrentFetchesPerOrigin = options.perHost
configuration.maximumConcurrentFetches = max(configuration.maximumConcurrentFetches, options.perHost)
let pipeline: ImagePipeline
do {
    pipeline = try ImagePipeline(configuration: configuration)
} catch {
    FileHandle.standardError.write(Data("inflight-gallery: \(error)\n".utf8))
    exit(1)
}

// Each launch is a separate process with its own images (`G_APPLICATION_NON_UNIQUE`).
let application = unsafe gtk_application_new("org.inflight.Gallery", GApplicationFlags(rawValue: 32))!
var gallery: GalleryWindow?
unsafe connectSignal(UnsafeMutableRawPointer(application), "activate") {
    gallery = unsafe GalleryWindow(application: application, pipeline: pipeline, urls: list.urls, options: options)
}
MainLoop.attach()
unsafe exit(g_application_run(UnsafeMutableRawPointer(application).assumingMemoryBound(to: GApplication.self), 0, nil))
