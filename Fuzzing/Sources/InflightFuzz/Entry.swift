import Glibc

/// What libFuzzer calls once, before anything else: the target is named by the environment.
@c(LLVMFuzzerInitialize)
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    guard Target.chosen == nil else { return 0 }
    complain(
        "Say in INFLIGHT_FUZZ what is to be fuzzed, one of: " + Target.all.map(\.name).joined(separator: " ")
            + ". Scripts/fuzz.py does that for all of them.")
    exit(2)
}

/// What libFuzzer calls for each input.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Target.chosen?.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// Stops the program, as a crash does, where a property does not hold.
func require(_ isTrue: Bool, _ property: @autoclosure () -> String) {
    if isTrue { return }
    complain("does not hold: " + property())
    abort()
}

private func complain(_ text: String) {
    let line = Array((text + "\n").utf8)
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
