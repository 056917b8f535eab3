@testable import InflightCore

extension Target {
    /// The text of a file of cookies.
    static let cookieFile = Target(name: "cookie-file") { bytes in
        let cookies: [CookieJar.Cookie]
        do throws(CookieFile.Mistake) {
            cookies = try CookieFile.cookies(in: bytes)
        } catch {
            require((1...bytes.lines.count).contains(error.line), "a mistake is in a line of the file")
            return
        }
        for cookie in cookies {
            require(!cookie.name.isEmpty && !cookie.domain.isEmpty, "a cookie has a name and a domain")
            require(cookie.name.count + cookie.value.count <= CookieJar.maximumBytes, "a cookie's size is limited")
            require(
                (cookie.name + cookie.value).allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x3B },
                "a cookie cannot end its field, or begin another cookie")
            require(cookie.path.first == 0x2F, "a path begins with a slash")
        }
        let lasting = cookies.filter { $0.expiry != nil }
        require(
            (try? CookieFile.cookies(in: CookieFile.text(cookies))) == lasting,
            "cookies that are written and read again are the same, without those of the session")
    }
}
