import Testing

@testable import InflightCore

@Suite("Resource URLs", .timeLimit(.minutes(10)))
struct ResourceURLTests {
    @Test(
        "A resource URL is normalised and drops its fragment and credentials",
        arguments: [
            ("https://example.org/a/b.jpg?x=1", "https://example.org/a/b.jpg?x=1"),
            ("HTTP://Example.ORG", "http://example.org/"), ("ftp://Example.org", "ftp://example.org/"),
            ("http://example.org:80/a", "http://example.org/a"),
            ("https://example.org:8443/a", "https://example.org:8443/a"),
            ("https://user:pass@example.org/a#part", "https://example.org/a"),
            ("https://example.org/a b/ü.jpg", "https://example.org/a%20b/%C3%BC.jpg"),
            ("https://example.org/a%20b", "https://example.org/a%20b"),
            ("https://example.org/a/./b/../c.jpg", "https://example.org/a/c.jpg"),
            ("https://example.org/a/%2e%2E/c.jpg", "https://example.org/c.jpg"),
            ("https://example.org/..", "https://example.org/"),
            ("https://example.org?q=a b", "https://example.org/?q=a%20b"),
            ("https://example.org/.hidden/a..b", "https://example.org/.hidden/a..b"),
            ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"),
            ("https://b%C3%BCcher.example/x", "https://bücher.example/x"),
            ("https://EXA%6dple.org/", "https://example.org/"),
            ("file:///tmp/a b.png", "file:///tmp/a%20b.png"),
            ("file:/tmp/a.png", "file:///tmp/a.png"),
            ("file://localhost/tmp/a.png", "file:///tmp/a.png"),
            ("http://[FE80::1%25eth0]/", "http://[fe80::1%25eth0]/"),
            ("https://[fe80::1%25En0.1~a_-]:8443/x", "https://[fe80::1%25En0.1~a_-]:8443/x"),
            ("data:image/png;base64,AAAA", "data:image/png;base64,AAAA"),
            ("DATA:image/png;base64,\r\nAA\tAA\n\r\n", "data:image/png;base64,AAAA"),
            ("https://example.org/a\u{301}", "https://example.org/a%CC%81"),
            ("https://example.org/\u{301}", "https://example.org/%CC%81"),
        ])
    func normal(text: String, expected: String) throws {
        #expect(try ResourceURL(text).string == expected)
    }

    @Test(
        "A malformed URL throws invalidURL",
        arguments: [
            "", "photo.jpg", "//example.org/a", "https://", "https:///a", "http:example.org", "https://exa mple.org/",
            "https://example.org:99999/", "https://example.org:0/", "https://example.org:a/", "http://[::1/",
            "http://[zz]/", "https://example.org/a\nb", "https://example.org/\u{7F}", "file://other/tmp/a.png",
            "1https://example.org/", "https://a[b/", "http://[fe80::1%25]/", "http://[fe80::1%eth0]/",
            "http://[fe80::1%25a%20b]/", "http://[fe80::1%25a/b]/", "http://[%25eth0]/", "http://a%25eth0/",
            "http://[fe80::1%25a]b/", "data:,\u{0}", "data:,\n\u{1B}", "\ndata:,", "javascript:\n",
            "https://a%2Fb/", "https://a%3A80/", "https://a%40b/", "https://a%00b/", "https://a%25b/", "https://a%zz/",
            "https://a%FF/", "https://%20/",
        ])
    func refused(text: String) {
        #expect {
            try ResourceURL(text)
        } throws: { error in
            (error as? LoadError)?.code == .invalidURL
        }
    }

    @Test("The error for a malformed URL does not contain its password")
    func errorWithoutPassword() {
        #expect {
            try ResourceURL("https://user:secret@exa mple.org/")
        } throws: { error in
            !String(describing: error).contains("secret")
        }
    }

    @Test("A resource URL exposes its scheme, origin, user information and path")
    func parts() throws {
        let url = try ResourceURL("https://us%40er:p%3Ass@Example.org:8443/a/b.jpg?x=1#f")
        #expect(url.scheme == "https")
        #expect(url.origin == Origin(scheme: "https", host: "example.org", port: 8443))
        #expect(url.userInfo == "us@er:p:ss")
        #expect(url.path == "/a/b.jpg")
        #expect(try ResourceURL("http://example.org/a?b").path == "/a")
        #expect(try ResourceURL("http://example.org/a?b").origin?.port == 80)
        #expect(try ResourceURL("data:,hello").path == ",hello")
        #expect(try ResourceURL("file:///a").origin == nil)
    }

    /// The examples of RFC 3986 section 5.4 with its base URL; fragments are always dropped.
    @Test(
        "References resolve as in RFC 3986 section 5.4, without fragments",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"), ("..g", "http://a/b/c/..g"), ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("https://x/y", "https://x/y"),
        ])
    func resolving(reference: String, expected: String) throws {
        #expect(try ResourceURL("http://a/b/c/d;p?q").resolving(reference).string == expected)
    }

    @Test("The fast path for plain URLs yields the same result as full parsing")
    func plain() throws {
        // The second spelling of each pair needs full parsing, which normalises it to the first.
        for (short, long) in [
            ("http://a.example/x/y.jpg?q=1", "http://A.example/x/y.jpg?q=1"),
            ("https://a.example/", "https://a.example:443/"),
            ("http://a.example:8080/x", "http://a.example:08080/x"),
            ("http://a.example:443/x", "http://A.example:443/x"),
            ("https://a.example:65535/", "https://a.example:65535"),
        ] {
            #expect(PlainURL(short) != nil)
            #expect(PlainURL(long) == nil)
            #expect(try ResourceURL(short) == ResourceURL(long))
            #expect(try ResourceURL(short).origin == ResourceURL(long).origin)
        }
    }

    @Test("A port that is not in canonical form rules out the fast path", arguments: ["", "80", "0", "65536", "1a"])
    func unusualPort(port: String) {
        #expect(PlainURL("http://a.example:\(port)/") == nil)
    }
}
