// The checks of InflightGTK that need a display and a main thread that GTK owns:
//
//     GTKChecks [PART…] [--binds N] [--gallery PROGRAM]
//
// Without a display it prints that and fails. `make test-gtk` runs it under Xvfb.

import CInflightGTK
import Foundation
import InflightGTK

guard gtk_init_check() != 0 else {
    print("GTKChecks: there is no display. Run it under Xvfb, as make test-gtk does.")
    exit(1)
}
MainLoop.attach()

var arguments = Array(CommandLine.arguments.dropFirst())
@MainActor func option(_ name: String) -> String? {
    guard let place = arguments.firstIndex(of: name), place + 1 < arguments.count else { return nil }
    defer { arguments.removeSubrange(place...place + 1) }
    return arguments[place + 1]
}
let binds = option("--binds").flatMap { Int($0) } ?? 20_000
// The programs that were built with this one are in the same folder.
let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
let gallery = option("--gallery") ?? folder + "/inflight-gallery"
let wanted = arguments

Task { @MainActor in
    let harness = Harness()
    bridgeParts(harness)
    textureParts(harness)
    imageParts(harness)
    stateParts(harness)
    articleParts(harness, program: folder + "/ArticleProgram")
    leavingParts(harness)
    frameParts(harness)
    gridParts(harness, binds: binds)
    galleryParts(harness, program: gallery, binds: binds)
    if wanted.contains(where: { $0.contains("costs") }) {
        bindCosts(harness)
        flightCosts(harness)
    }
    exit(await harness.run(wanted) == 0 ? 0 : 1)
}
unsafe g_main_loop_run(g_main_loop_new(nil, 0))
