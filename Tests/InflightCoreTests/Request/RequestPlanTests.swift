import InflightConcurrency
import Testing

@testable import InflightCore

@Suite("Request plans: keys and validation", .timeLimit(.minutes(10)))
struct RequestPlanTests {
    private typealias Change = (inout ImageRequest) -> Void

    private func plan(
        _ url: String = "https://a.example/1.png", goal: RequestPlan.Goal = .image, harmless: Set<String> = [],
        varying: Set<String> = [], _ change: Change = { _ in }
    ) throws -> RequestPlan {
        var request = ImageRequest(url)
        change(&request)
        return try RequestPlan(request, goal: goal, fieldsExcludedFromKey: harmless, varying: varying)
    }

    // MARK: Equal keys

    @Test("Equivalent requests have equal fetch and final keys")
    func same() throws {
        let pairs: [(RequestPlan, RequestPlan)] = [
            (try plan(), try plan()),
            (try plan("https://A.example:443/1.png#part"), try plan()),
            (try plan("https://a.example/x/../1.png"), try plan()),
            (
                try plan { $0.fields = HTTPFields([("B", "2"), ("a", "1")]) },
                try plan { $0.fields = HTTPFields([("A", "1"), ("b", "2")]) }
            ),
            (
                try plan { $0.originFields = HTTPFields([("B", "2"), ("a", "1")]) },
                try plan { $0.originFields = HTTPFields([("A", "1"), ("b", "2")]) }
            ),
            (try plan { $0.body = Bytes("x") }, try plan { $0.body = Bytes("x") }),
            (try plan("https://u:p@a.example/1.png"), try plan("https://u:p@a.example/1.png")),
            (try plan { $0.priority = .high }, try plan { $0.priority = .low }),
            (
                try plan(harmless: ["x-theme"]) { $0.fields.append("X-Theme", "dark") },
                try plan(harmless: ["x-theme"]) { $0.fields.append("x-theme", "light") }
            ),
            (try plan(harmless: ["x-theme"]) { $0.fields.append("X-Theme", "dark") }, try plan()),
        ]
        for (index, (left, right)) in pairs.enumerated() {
            #expect(left.key(at: 0) == right.key(at: 0), "pair \(index)")
            #expect(left.key(at: 0).hashValue == right.key(at: 0).hashValue, "pair \(index)")
            #expect(left.finalKey == right.finalKey, "pair \(index)")
        }
    }

    // MARK: Distinct keys

    @Test("Requests whose responses may differ have distinct fetch keys")
    func differing() throws {
        let plans: [RequestPlan] = [
            try plan(),
            try plan("http://a.example/1.png"),
            try plan("https://a.example:8443/1.png"),
            try plan("https://a.example/1.png?"),
            try plan("https://a.example/1.png?x"),
            try plan("https://u@a.example/1.png"),
            try plan("https://u:p@a.example/1.png"),
            try plan("https://u:q@a.example/1.png"),
            try plan(goal: .response),
            try plan(goal: .info),
            try plan { $0.method = "HEAD" },
            try plan { $0.method = "get" },
            try plan { $0.method = "POST" },
            try plan {
                $0.method = "POST"
                $0.body = .empty
            },
            try plan {
                $0.method = "POST"
                $0.body = Bytes("a")
            },
            try plan { $0.body = Bytes("a") },
            try plan { $0.fields.append("X-A", "1") },
            try plan { $0.fields.append("X-A", "2") },
            try plan { $0.fields.append("X-A", "") },
            try plan { $0.fields.append("X-B", "1") },
            // Two values of one name, in both orders, and joined.
            try plan { $0.fields = HTTPFields([("X-A", "1"), ("X-A", "2")]) },
            try plan { $0.fields = HTTPFields([("X-A", "2"), ("X-A", "1")]) },
            try plan { $0.fields = HTTPFields([("X-A", "1, 2")]) },
            // Names and values are delimited.
            try plan { $0.fields = HTTPFields([("X-A", "1X-B:2")]) },
            try plan { $0.fields = HTTPFields([("X-A", "1"), ("X-B", "2")]) },
            // A field for the request's own origin only is a different field.
            try plan { $0.originFields.append("X-A", "1") },
            try plan { $0.fields.append("Authorization", "a") },
            try plan { $0.fields.append("Authorization", "b") },
            try plan { $0.originFields.append("Authorization", "a") },
            try plan { $0.fields.append("Cookie", "a") },
            try plan { $0.fields.append("Proxy-Authorization", "a") },
        ]
        for (index, left) in plans.enumerated() {
            for (other, right) in plans.enumerated() where other > index {
                #expect(left.key(at: 0) != right.key(at: 0), "\(index) and \(other)")
            }
        }
    }

    @Test("Requests that differ only in decoding or processing share a fetch, but not the final key")
    func sharedFetch() throws {
        let fetch = try plan().key(at: 0)
        let plans: [RequestPlan] = [
            try plan(goal: .data),
            try plan { $0.resize = Resize(width: 10) },
            try plan { $0.pixelOrder = .bgra },
            try plan { $0.premultipliesAlpha = true },
            try plan { $0.processors = [ImageProcessor(FakeProcessor(name: "a"))] },
        ]
        for plan in plans { #expect(plan.key(at: 0) == fetch) }
        for (index, left) in plans.enumerated() {
            for right in plans[(index + 1)...] { #expect(left.finalKey != right.finalKey) }
        }
    }

    @Test("Page, linear light and metadata distinguish images in memory and on disk, but share a fetch")
    func pictures() throws {
        var written = EncodeOptions(format: .png)
        written.metadata = ImageMetadata(xmpBytes: Bytes("<a/>"))
        var other = written
        other.metadata?.xmpBytes = Bytes("<b/>")
        let changes: [Change] = [
            { _ in }, { $0.page = 1 }, { $0.page = 2 }, { $0.keepsMetadata = true },
            { $0.resize = Resize(width: 9) }, { $0.resize = Resize(width: 9, light: .linear) },
        ]
        let plans = try changes.map { change in try plan { change(&$0) } }
        #expect(Set(plans.map { $0.key(at: 0) }).count == 1)
        #expect(Set(plans.map(\.finalKey)).count == plans.count)
        let identities = plans.map { $0.request.imageIdentity(0, .init(format: .png)) }
        let withMetadata = [written, other].map { plans[0].request.imageIdentity(0, $0) }
        #expect(Set(identities + withMetadata).count == 8)
        #expect(plans[2].decodeOptions().page == 2)
        // A stored processed image has one page only.
        var request = ImageRequest("https://a.example/1.png")
        request.page = 2
        #expect(
            try RequestPlan(
                request, goal: .image, fieldsExcludedFromKey: [], purpose: .processed(prefix: 0, confirmedAt: nil)
            )
            .decodeOptions().page == 0)
    }

    @Test("An info request for a page other than the first is refused")
    func pageInfo() {
        let error = #expect(throws: LoadError.self) { try plan(goal: .info) { $0.page = 1 } }
        #expect(error?.code == .invalidRequest && error?.url == "https://a.example/1.png")
    }

    @Test("Each prefix of the processors has its own key, determined by identity and order")
    func prefixes() throws {
        func keys(_ names: String...) throws -> [RequestKey] {
            let plan = try plan { $0.processors = names.map { ImageProcessor(FakeProcessor(name: $0)) } }
            return (2..<plan.stepCount).map { plan.key(at: $0) }
        }
        let ab = try keys("a", "b")
        #expect(ab.count == 2)
        #expect(try keys("a")[0] == ab[0])
        #expect(try keys("a", "c")[0] == ab[0])
        #expect(try keys("a", "c")[1] != ab[1])
        #expect(try keys("b", "a")[1] != ab[1])
        #expect(try keys("ab")[0] != ab[1])
        #expect(try keys("a", "")[1] != ab[0])
    }

    @Test("A field excluded from the key is included once a response varies by it")
    func varying() throws {
        func key(_ theme: String, varying: Set<String>) throws -> RequestKey {
            try plan(harmless: ["x-theme"], varying: varying) { $0.fields.append("X-Theme", theme) }.key(at: 0)
        }
        #expect(try key("dark", varying: []) == key("light", varying: []))
        #expect(try key("dark", varying: ["x-theme"]) != key("light", varying: ["x-theme"]))
        #expect(try key("dark", varying: ["x-theme"]) != key("dark", varying: []))
        // A request without the field must not match a key that ignores the field.
        #expect(try plan(harmless: ["x-theme"], varying: ["x-theme"]).key(at: 0) != key("dark", varying: []))
    }

    // MARK: Secrets

    @Test("Keys contain no secret in plain text")
    func secrets() throws {
        let plan = try plan("https://user:hunter2@a.example/1.png") { request in
            request.fields = HTTPFields([
                ("Authorization", "Bearer hunter2"), ("COOKIE", "id=hunter2"), ("Proxy-Authorization", "hunter2"),
                ("X-Open", "visible"),
            ])
            request.originFields = HTTPFields([("X-Api-Key", "hunter2")])
            request.body = Bytes("hunter2")
        }
        let bytes = Self.bytes(in: plan.finalKey)
        #expect(Self.holds(bytes, "x-open"), "the test sees what stands in a key")
        #expect(!Self.holds(bytes, "visible"), "what is secret in a field of somebody's own cannot be known")
        #expect(!Self.holds(bytes, "hunter2"))
        #expect(!Self.holds(bytes, "user"))
        var text = ""
        dump(plan.finalKey, to: &text)
        #expect(!text.contains("hunter2"))
    }

    /// The bytes of every string and byte array in `value`.
    private static func bytes(in value: Any) -> [UInt8] {
        if let text = value as? String { return Array(text.utf8) + [0] }
        if let bytes = value as? [UInt8] { return bytes + [0] }
        var mirror: Mirror? = Mirror(reflecting: value)
        var found: [UInt8] = []
        while let level = mirror {
            for child in level.children { found += bytes(in: child.value) }
            mirror = level.superclassMirror
        }
        return found
    }

    private static func holds(_ bytes: [UInt8], _ text: String) -> Bool {
        let wanted = Array(text.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
    }

    @Test("A secret hash is deterministic, and its two halves differ")
    func hash() {
        func hash(_ text: String) -> [UInt8] {
            var bytes: [UInt8] = []
            SecretHash.append(text.utf8, to: &bytes)
            return bytes
        }
        #expect(hash("a").count == 16)
        #expect(hash("a") == hash("a"))
        #expect(hash("a") != hash("b"))
        #expect(Array(hash("a").prefix(8)) != Array(hash("a").suffix(8)))
    }

    // MARK: Validation

    @Test(
        "Malformed header fields and methods, and invalid sizes and limits, are refused",
        arguments: [
            { $0.fields.append("X-A", "1\r\nX-B: 2") },
            { $0.fields.append("X-A", "1\n") },
            { $0.fields.append("X-A", "\u{0}") },
            { $0.fields.append("X-A", "\u{7F}") },
            { $0.originFields.append("X-A", "\u{1B}[2J") },
            { $0.fields.append("", "1") },
            { $0.fields.append("X A", "1") },
            { $0.fields.append("X-A:", "1") },
            { $0.fields.append("X-Ä", "1") },
            { $0.originFields.append("X\r\nY", "1") },
            { $0.method = "" },
            { $0.method = "GET /" },
            { $0.method = "GET\r\n" },
            { $0.resize = Resize(width: 0) },
            { $0.resize = Resize(width: .min) },
            { $0.resize = Resize(width: 10, height: 0) },
            { $0.resize = Resize(height: -1) },
            { $0.resize = Resize(width: 1_000_001) },
            { $0.resize = Resize(width: .max) },
            { $0.limits.maximumBodyBytes = -1 },
            { $0.limits.maximumPixels = -1 },
            { $0.limits.maximumRedirects = -1 },
            { $0.limits.minimumBytesPerSecond = -1 },
            { $0.limits.minimumRatePeriod = .zero },
            { $0.limits.connectTimeout = .seconds(-1) },
            { $0.limits.stallTimeout = .nanoseconds(-1) },
            { $0.limits.totalTimeout = .seconds(-1) },
            { $0.processors = [ImageProcessor](repeating: .grey, count: 10_001) },
        ] as [@Sendable (inout ImageRequest) -> Void])
    func refused(change: @Sendable (inout ImageRequest) -> Void) {
        #expect {
            _ = try plan("https://user:hunter2@a.example/", change)
        } throws: { error in
            guard let error = error as? LoadError else { return false }
            return error.code == .invalidRequest && error.stage == .request
                && !error.description.contains("hunter2")
                && !error.description.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
    }

    @Test("Valid methods, field values and boundary limits are accepted")
    func allowed() throws {
        _ = try plan {
            $0.method = "M-SEARCH"
            $0.fields = HTTPFields([("X-A_b.c~1", "tab\tand ümlaut"), ("X-Empty", "")])
            $0.resize = Resize(width: 1, height: 1_000_000)
            $0.limits.maximumRedirects = 0
            $0.limits.maximumBodyBytes = 0
            $0.processors = [ImageProcessor](repeating: .grey, count: 10_000)
            $0.limits.totalTimeout = .zero
        }
    }
}
