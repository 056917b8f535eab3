// The parts of InflightGTK that need a display and a main thread that GTK owns:
//
//     GTKChecks [PART] [--binds N]
//
// Without a display it says so and fails. `make test-gtk` runs it under Xvfb.

import CInflightGTK
import Foundation
import InflightGTK

guard gtk_init_check() != 0 else {
    print("GTKChecks: there is no display. Run it under Xvfb, as make test-gtk does.")
    exit(1)
}
MainLoop.attach()

var arguments = Array(CommandLine.arguments.dropFirst())
var binds = 20_000
if let place = arguments.firstIndex(of: "--binds"), place + 1 < arguments.count {
    binds = Int(arguments[place + 1]) ?? binds
    arguments.removeSubrange(place...place + 1)
}
let filter = arguments.first ?? ""
let wanted = binds

Task { @MainActor in
    let harness = Harness()
    bridgeParts(harness)
    textureParts(harness)
    imageParts(harness)
    stateParts(harness)
    leavingParts(harness)
    gridParts(harness, binds: wanted)
    if filter.contains("costs") {
        costParts(harness)
        frameParts(harness)
    }
    exit(await harness.run(filter: filter) == 0 ? 0 : 1)
}
unsafe g_main_loop_run(g_main_loop_new(nil, 0))
