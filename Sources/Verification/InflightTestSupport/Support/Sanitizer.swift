internal import Glibc

/// Whether this process, and so every program in its folder, was built with a sanitizer.
package enum Sanitizer {
    package static let isOn = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
