import InflightConcurrency
import InflightCore
import Testing

@testable import InflightWorker

@Suite("Decoder protections", .timeLimit(.minutes(10)))
struct ProtectionTests {
    @Test("A missing protection is reported once, and a missing required one refuses the decoder")
    func decisions() {
        let all = Set(DecoderConfiguration.Protection.allCases)
        let always: Set<DecoderConfiguration.Protection> = [.limits, .seccomp]
        var lenient = ProtectionPolicy(required: [])
        #expect(lenient.decoderStarted(with: all) == .use(reporting: []))
        #expect(lenient.decoderStarted(with: all.subtracting([.landlock])) == .use(reporting: [.landlock]))
        #expect(lenient.decoderStarted(with: always) == .use(reporting: [.namespaces]))
        #expect(lenient.decoderStarted(with: always) == .use(reporting: []))
        var strict = ProtectionPolicy(required: [.namespaces, .seccomp])
        #expect(strict.decoderStarted(with: always) == .refuse(missing: [.namespaces]))
        #expect(strict.decoderStarted(with: always.union([.namespaces])) == .use(reporting: [.landlock]))
        #expect(strict.decoderStarted(with: all) == .use(reporting: []))
    }

    @Test("A decoder runs if its required protections are supported, and is refused otherwise")
    func real() async throws {
        let reports = Guarded<[Set<DecoderConfiguration.Protection>]>([])
        let lenient = DecoderPool.faulty {
            $0.missingProtectionsHandler = { missing in reports.withLock { $0.append(missing) } }
        }
        let missing = Set(DecoderConfiguration.Protection.allCases).subtracting(try lenient.capabilities().protections)
        #expect(await lenient.failure("exit")?.code == .decoderCrashed)
        #expect(try await lenient.order("good 8").width == 8)
        #expect(reports.withLock(\.self) == (missing.isEmpty ? [] : [missing]))
        for protection in DecoderConfiguration.Protection.allCases {
            let failure = await DecoderPool.faulty { $0.requiredProtections = [protection] }.failure("good 8")
            #expect(failure?.code == (missing.contains(protection) ? .decoderUnavailable : nil))
            #expect(failure?.message.contains("required protection \(protection)") ?? true)
        }
    }
}
