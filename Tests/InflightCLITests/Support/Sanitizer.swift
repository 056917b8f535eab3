import Glibc

/// Whether this process, and so the command beside it, was built with a sanitizer.
enum Sanitizer {
    static let isOn = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
