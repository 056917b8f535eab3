/// Placeholder
final class TLSIdentity: Sendable {}
final class TLSSession {
    enum Outcome { case done(Int), wantsRead, wantsWrite, ended, failed }
    var failure: String { "" }
    init(_ identity: TLSIdentity, descriptor: Int32) {}
    func handshake() -> Outcome { .failed }
    func read(into room: UnsafeMutableRawBufferPointer) -> Outcome { .failed }
    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome { .failed }
    func sayGoodbye() {}
}
