internal import InflightContract
internal import InflightCore

/// The servers of a world with a store, and their contents: resources that change, each with its own validators and
/// directives.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedServer: @unchecked Sendable {
    /// One version of one resource.
    struct Page {
        var head: ServerHead
        var flags: UInt8
        var byteCount: Int
    }

    /// A request to a server.
    struct ReceivedRequest {
        var sent: Resources.Sent
        var conditions: Conditions
        var ifRange: String?
        var since: String?
    }

    struct ServedResponse {
        var head: ServerHead
        /// The first byte of a partial response.
        var start: Int?
        var total: Int?
        var body: [UInt8] = []
    }

    private unowned let world: World
    private var pages: [String: Page] = [:]

    init(_ world: World) {
        self.world = world
    }

    private var seconds: Int64 { Int64(world.clock.secondsSince1970()) }

    /// Returns the response to a request, with a number that no other response has.
    func response(to request: ReceivedRequest, number: Int) -> ServedResponse {
        let page = page(request.sent, number: number)
        var head = page.head
        // Sometimes the server has no clock, its clock is behind, or the response has passed a cache.
        head.date = seconds
        switch world.draws.below(12) {
        case 0, 1: head.date = nil
        case 2: head.date = seconds - Int64(world.draws.below(8))
        case 3: head.age = Int64(world.draws.below(8))
        default: break
        }
        let bytes = body(page, request.sent, number: number)
        if let offset = request.conditions.offset { return part(from: offset, request, head, bytes) }
        if isUnchanged(request, page) {
            head.status = 304
            return ServedResponse(head: head)
        }
        return ServedResponse(head: head, total: bytes.count, body: bytes)
    }

    /// Returns a response that is not a page's.
    func failure(_ status: Int, _ request: ReceivedRequest, number: Int) -> ServedResponse {
        var head = ServerHead(status: status, version: number)
        head.date = seconds
        head.variesByCaller = Resources.isVaried(request.sent.resource) && !request.sent.isRedirected
        if world.draws.once(in: 4) { head.maxAge = Int64(world.draws.below(12)) }
        if status == 404, world.draws.once(in: 8) { head.noStore = true }
        if status == 429 || status == 503 { head.retryAfter = [nil, 1, 2, 100][world.draws.below(4)] }
        let page = Page(head: head, flags: 0, byteCount: SimulatedBody.servedCount)
        let bytes = body(page, request.sent, number: number)
        return ServedResponse(head: head, total: bytes.count, body: bytes)
    }

    private func body(_ page: Page, _ sent: Resources.Sent, number: Int) -> [UInt8] {
        var content = Content(resource: sent.resource, language: 0, exchange: number)
        content.version = page.head.version
        return SimulatedBody(content: content, flags: page.flags).filled(to: page.byteCount)
    }

    private func isUnchanged(_ request: ReceivedRequest, _ page: Page) -> Bool {
        if let tag = page.head.tag, !request.conditions.tags.isEmpty { return request.conditions.tags.contains(tag) }
        guard request.conditions.tags.isEmpty, let since = request.since, let date = page.head.lastModified else {
            return false
        }
        return since == Self.text(date)
    }

    /// Returns a partial response (RFC 9110 sections 13.1.5 and 14.2), or that of a server that violates these rules.
    private func part(from offset: Int, _ request: ReceivedRequest, _ head: ServerHead, _ bytes: [UInt8])
        -> ServedResponse
    {
        var head = head
        let validator = head.isWeak ? nil : head.tag ?? head.lastModified.map { Self.text($0) }
        let isSame = validator != nil && request.ifRange == validator
        let isBroken = world.draws.once(in: isSame ? 12 : 3)
        if !isSame, !isBroken { return ServedResponse(head: head, total: bytes.count, body: bytes) }
        if offset >= bytes.count {
            head.status = 416
            return ServedResponse(head: head, total: bytes.count)
        }
        head.status = 206
        let start = isSame && isBroken ? offset / 2 : offset
        return ServedResponse(head: head, start: start, total: bytes.count, body: Array(bytes[start...]))
    }

    // MARK: Pages

    private func page(_ sent: Resources.Sent, number: Int) -> Page {
        let name = "\(sent.resource) \(sent.origin) \(sent.isRedirected)"
        if var page = pages[name], !world.draws.once(in: 4) {
            // The same bytes with other directives.
            if world.draws.once(in: 8) {
                direct(&page.head)
                pages[name] = page
            }
            return page
        }
        let page = makePage(sent, number: number)
        pages[name] = page
        return page
    }

    private func makePage(_ sent: Resources.Sent, number: Int) -> Page {
        var head = ServerHead(status: 200, version: number)
        switch world.draws.below(8) {
        case 0: break
        case 1: head.lastModified = Self.modified(number)
        case 2: (head.hasTag, head.isWeak) = (true, true)
        case 3: (head.hasTag, head.lastModified) = (true, Self.modified(number))
        default: head.hasTag = true
        }
        direct(&head)
        // A response that differs between callers has to declare it with `Vary`.
        head.variesByCaller = Resources.isVaried(sent.resource) && !sent.isRedirected
        var flags: UInt8 = world.draws.once(in: 24) ? SimulatedBody.damaged : 0
        if world.setup.hasHuge, world.draws.once(in: 12) { flags = SimulatedBody.huge }
        let isLong = world.draws.once(in: 8)
        return Page(head: head, flags: flags, byteCount: isLong ? 20_000 : SimulatedBody.servedCount)
    }

    /// Returns a different date for each version.
    private static func modified(_ version: Int) -> Int64 {
        ContractModel.beginning / 1000 - 800 + Int64(version)
    }

    /// Sets the directives for storing and reuse.
    private func direct(_ head: inout ServerHead) {
        let old = head
        head = ServerHead(status: old.status, version: old.version)
        (head.hasTag, head.isWeak, head.lastModified) = (old.hasTag, old.isWeak, old.lastModified)
        head.variesByCaller = old.variesByCaller
        func draw(_ count: Int) -> Int64 { Int64(world.draws.below(count)) }
        switch world.draws.below(12) {
        case 0, 1: head.maxAge = 4 + draw(30)
        case 2, 3: (head.maxAge, head.staleWhileRevalidate) = (draw(4), 5 + draw(40))
        case 4: head.noStore = true
        case 5: head.noCache = true
        case 6: (head.maxAge, head.mustRevalidate) = (draw(8), true)
        case 7: (head.maxAge, head.staleIfError) = (draw(4), 5 + draw(40))
        case 8: (head.maxAge, head.isImmutable) = (10 + draw(20), true)
        case 9: (head.maxAge, head.staleWhileRevalidate, head.staleIfError) = (draw(3), 20, 20)
        case 10: (head.maxAge, head.staleWhileRevalidate, head.mustRevalidate) = (draw(3), 20, true)
        default: break
        }
    }

    /// Returns seconds since 1970 as an HTTP date (RFC 9110 section 5.6.7).
    static func text(_ date: Int64) -> String {
        let days = date / 86_400
        // The days since 1 March of year 0, in cycles of 400 years.
        let (cycle, day) = (days + 719_468).quotientAndRemainder(dividingBy: 146_097)
        let yearOfCycle = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = cycle * 400 + yearOfCycle + (month < 10 ? 0 : 1)
        func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + "\(number)" }
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
        let names = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
        let time = [date / 3600 % 24, date / 60 % 60, date % 60].map(two).joined(separator: ":")
        return "\(weekday), \(two(dayOfYear - (153 * month + 2) / 5 + 1)) \(names[Int(month)]) \(year) \(time) GMT"
    }
}

extension ServerHead {
    /// Returns the header fields as sent.
    ///
    /// - Parameter length: the value of `Content-Length`; nil if it is not sent.
    func fields(start: Int?, total: Int?, length: Int?) -> HTTPFields {
        var fields = HTTPFields()
        if let tag { fields.append("ETag", tag) }
        if let lastModified { fields.append("Last-Modified", SimulatedServer.text(lastModified)) }
        if let date { fields.append("Date", SimulatedServer.text(date)) }
        if let age { fields.append("Age", "\(age)") }
        if !control.isEmpty { fields.append("Cache-Control", control) }
        if variesByCaller { fields.append("Vary", "X-Caller") }
        if let retryAfter { fields.append("Retry-After", "\(retryAfter)") }
        if let total, let start, status == 206 {
            fields.append("Content-Range", "bytes \(start)-\(total - 1)/\(total)")
        }
        if let total, status == 416 { fields.append("Content-Range", "bytes */\(total)") }
        if let length { fields.append("Content-Length", "\(length)") }
        return fields
    }
}
