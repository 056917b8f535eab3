import Glibc

/// Checks that the environment variable `INFLIGHT_FUZZ` names a target. libFuzzer calls this once, first.
@c(LLVMFuzzerInitialize)
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    guard Target.chosen == nil else { return 0 }
    complain(
        "Set INFLIGHT_FUZZ to one of these targets: " + Target.all.map(\.name).joined(separator: " ")
            + ". Scripts/fuzz.py runs all of them.")
    exit(2)
}

/// Runs the target with one input. libFuzzer calls this for each input.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Target.chosen?.run(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// Aborts the program if a property does not hold, so that libFuzzer reports a crash.
func require(_ isTrue: Bool, _ property: @autoclosure () -> String) {
    if isTrue { return }
    complain("does not hold: " + property())
    abort()
}

private func complain(_ text: String) {
    let line = Array((text + "\n").utf8)
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
