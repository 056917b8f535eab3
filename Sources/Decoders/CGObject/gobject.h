#pragma once

// Nothing is wanted from here but where GLib's headers lie, which pkg-config knows: libvips's include them. They are
// not asked of libvips's own entry, whose `-pthread` SwiftPM warns of at every build.
