public import InflightConcurrency
import InflightImages

extension ImagePipeline {
    /// The cookies that responses have set, for later requests (RFC 6265): in memory, or in a file too.
    ///
    /// ```swift
    /// configuration.cookies = try ImagePipeline.CookieStore(file: "/var/lib/my-program/cookies.txt")
    /// ```
    ///
    /// Each response over HTTP, whatever its status, may set cookies, and each request, also after a redirect, sends
    /// those that match its URL, before the caller's own `Cookie` field. Hosts share a cookie as far as the
    /// transport knows the public suffixes. At most 50 cookies of a domain and 3,000 in all are kept; further ones
    /// replace the oldest.
    ///
    /// The cookies of a request are chosen when its load begins, and are part of its keys: loads with other cookies
    /// share no request, no image in memory and no stored response. An image is not kept in memory if a redirect on its
    /// way was followed with cookies that its first request has not sent.
    ///
    /// Several pipelines may share a store. Cookies are in no event, no log and no archive.
    ///
    /// - Thread: any. No lock is held while code of the program runs.
    public final class CookieStore: Sendable {
        /// The cookies that a request sends.
        final class Selection: Sendable {
            let cookies: [CookieJar.Cookie]
            /// The number of times that all cookies had been removed before.
            fileprivate let removals: Int

            fileprivate init(_ cookies: [CookieJar.Cookie], removals: Int) {
                self.cookies = cookies
                self.removals = removals
            }
        }

        private struct State {
            var jar = CookieJar(limit: 3000, limitOfDomain: 50)
            var removals = 0
            /// The selection without cookies. Most requests of most programs share it.
            var none = Selection([], removals: 0)
            /// Whether a save will begin that includes the current cookies.
            var isSaveDue = false
            var saveError: LoadError?
        }

        /// The time from a change until it is saved, so that many changes cost one write.
        private static let delay = Duration.seconds(1)

        private let file: CookieFile?
        private let clock: any EngineClock
        private let state: Guarded<State>
        /// The text that the file has, apart from cookies that are not written. Its lock is held while the file is
        /// written, and taken before that of `state`.
        private let saved = Guarded<[UInt8]?>(nil)
        private let threads = WorkerThreads(count: 1, name: "inflight-cookies")

        /// Creates a store in memory, without cookies.
        ///
        /// - Parameter clock: the clock for expiry.
        public init(clock: any EngineClock = SystemClock()) {
            file = nil
            self.clock = clock
            state = Guarded(State())
        }

        /// Creates a store whose cookies are in a file too, in the format of Netscape's `cookies.txt`, which curl reads
        /// and writes (`curl -b FILE -c FILE`).
        ///
        /// Reads the file now, on the calling thread; if it does not exist, creates it. Only its owner may have
        /// permissions for it, because cookies are passwords. Expired cookies are dropped. Cookies of a session, those
        /// without expiry, are read, since curl writes them, but are not written.
        ///
        /// A second after a change of the cookies, the file is replaced on a thread of the store, as a whole: with a
        /// new file of mode 0600, which is complete on the disk before it gets the name. If that fails, for example
        /// because the disk is full, the file stays as it was, ``saveError`` has the reason, and the next change tries
        /// again. A shutdown of a pipeline waits until the changes are saved. Of two processes with one file, the last
        /// that saves wins.
        ///
        /// - Parameters:
        ///   - path: the path of the file. Its folder must exist. A symbolic link is refused.
        ///   - clock: the clock for expiry and for saving.
        /// - Throws: ``LoadError/Code/cannotRead`` if the file cannot be read, others may read it, or a line is
        ///   malformed, with its number; ``LoadError/Code/cannotWrite`` if it cannot be created.
        public init(file path: String, clock: any EngineClock = SystemClock()) throws(LoadError) {
            let file = CookieFile(path: path)
            var state = State()
            let now = clock.wallTime
            if let cookies = try file.read() {
                for cookie in cookies { state.jar.store(cookie, at: now) }
            } else {
                try file.replace(by: CookieFile.text([]))
            }
            saved.withLock { $0 = CookieFile.text(state.jar.cookies) }
            self.file = file
            self.clock = clock
            self.state = Guarded(state)
        }

        // MARK: Looking, removing, saving

        /// The hosts and domains that have cookies, each with the number of those that have not expired.
        public var counts: [String: Int] {
            let now = clock.wallTime
            let cookies = state.withLock { $0.jar.cookies }
            return cookies.reduce(into: [:]) { counts, cookie in
                if !cookie.hasExpired(at: now) {
                    counts[String(decoding: cookie.domain, as: UTF8.self), default: 0] += 1
                }
            }
        }

        /// Removes all cookies, for example when a user logs out. Results of requests that had sent some are not found
        /// any more, in memory or in the disk cache: no request without these cookies has their keys.
        ///
        /// Loads in progress end as they began, with their cookies, and what their responses set is ignored. The file
        /// is saved at once, in the background: ``save()`` returns when that is done.
        public func removeAll() {
            state.withLock { state in
                state.jar = State().jar
                state.removals += 1
                state.none = Selection([], removals: state.removals)
            }
            if file != nil { threads.run { [self] in saveLater() } }
        }

        /// Writes the cookies to the file, and returns when they are on the disk. Does nothing without a file.
        ///
        /// Blocks the calling thread meanwhile. Needed only by a program that must know it, or that ends without a
        /// shutdown of its pipeline.
        ///
        /// - Throws: ``LoadError/Code/cannotWrite``. The file stays as it was, and the cookies stay in memory.
        public func save() throws(LoadError) { try write(always: true) }

        /// The reason why the last save has failed; nil if it has not.
        public var saveError: LoadError? { state.withLock { $0.saveError } }

        // MARK: Loads

        /// Returns the cookies that a new load sends with its first request.
        func selection(for url: ResourceURL) -> Selection {
            let now = clock.wallTime
            return state.withLock { state in
                let cookies = Self.matching(url, in: state.jar, at: now)
                return cookies.isEmpty ? state.none : Selection(cookies, removals: state.removals)
            }
        }

        /// Returns the cookies to send to a URL after a redirect.
        func cookies(for url: ResourceURL) -> [CookieJar.Cookie] {
            let now = clock.wallTime
            return state.withLock { Self.matching(url, in: $0.jar, at: now) }
        }

        private static func matching(_ url: ResourceURL, in jar: CookieJar, at now: WallTime) -> [CookieJar.Cookie] {
            url.scheme == "https" || url.scheme == "http" ? jar.matching(url, at: now) : []
        }

        /// Stores the cookies that a response sets, unless all cookies were removed since its load began: otherwise a
        /// response on its way would log a user in again.
        ///
        /// - Parameters:
        ///   - fields: the response's header fields.
        ///   - url: the URL that responded.
        ///   - selection: what was selected for the load.
        ///   - isPublicSuffix: see ``CookieJar/store(_:from:response:at:isPublicSuffix:)``. Called with no lock held.
        func store(
            _ fields: HTTPFields, from url: ResourceURL, sentAfter selection: Selection?,
            isPublicSuffix: (_ domain: String) -> Bool?
        ) {
            guard url.scheme == "https" || url.scheme == "http" else { return }
            let now = clock.wallTime
            let parsed = CookieJar.parse(fields, from: url, response: nil, at: now, isPublicSuffix: isPublicSuffix)
            if parsed.isEmpty { return }
            let savesLater = state.withLock { state in
                guard selection?.removals ?? 0 == state.removals else { return false }
                state.jar.store(parsed, from: url, at: now)
                guard file != nil, !state.isSaveDue else { return false }
                state.isSaveDue = true
                return true
            }
            guard savesLater else { return }
            _ = clock.schedule(at: clock.now() + Self.delay) { [self] in threads.run { [self] in saveLater() } }
        }

        // MARK: The file

        /// Returns when the changes so far are saved, or their save has failed.
        func settle() async {
            guard file != nil else { return }
            await Bridge.wait { bridge in
                threads.run { [self] in
                    saveLater()
                    bridge.open()
                }
            }
        }

        /// Saves changes without a caller that waits for it.
        private func saveLater() {
            // The error is in `saveError`.
            try? write(always: false)
        }

        private func write(always: Bool) throws(LoadError) {
            guard let file else { return }
            let now = clock.wallTime
            do throws(LoadError) {
                try saved.withLock { (saved) throws(LoadError) in
                    let cookies = state.withLock { state in
                        state.isSaveDue = false
                        return state.jar.cookies
                    }
                    let text = CookieFile.text(cookies.filter { !$0.hasExpired(at: now) })
                    guard always || text != saved else { return }
                    try file.replace(by: text)
                    saved = text
                }
                state.withLock { $0.saveError = nil }
            } catch {
                state.withLock { $0.saveError = error }
                throw error
            }
        }
    }
}
