#pragma once

// This module only provides the include paths of GLib, by pkg-config, because libvips's headers include GLib's.
// libvips's own pkg-config file also provides them, but contains `-pthread`, about which SwiftPM warns in every build.
