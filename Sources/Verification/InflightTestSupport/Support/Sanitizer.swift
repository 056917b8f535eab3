internal import Glibc

/// Whether this process or the programs that it runs were built with a sanitizer.
package enum Sanitizer {
    package static let isOn =
        unsafe BuiltProgram.sanitizedFolder != nil || dlsym(nil, "__tsan_init") != nil
        || dlsym(nil, "__asan_init") != nil
}
