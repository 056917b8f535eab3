import InflightCore
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct SuggestedNameTests {
    private func name(_ url: String, _ format: ImageFormat = .jpeg) throws -> String {
        SuggestedName(try ResourceURL(url)).parts(for: format).name(number: 1)
    }

    @Test(
        "A file takes the last path component as its name and the extension of the written format",
        arguments: [
            ("http://h/a/b/cat.jpg", "cat.jpg"), ("http://h/cat.jpeg", "cat.jpeg"), ("http://h/cat.JPG", "cat.JPG"),
            ("http://h/cat.png", "cat.jpg"), ("http://h/cat", "cat.jpg"),
            ("http://h/cat.php?x=/y.png#z", "cat.php.jpg"),
            ("http://h/cat.v1.5", "cat.v1.5.jpg"), ("http://h/v1.5/", "image.jpg"), ("http://h", "image.jpg"),
            ("http://h/my%20cat.jpg", "my cat.jpg"), ("http://h/k%C3%A4tzchen.jpg", "kätzchen.jpg"),
            ("data:image/png;base64,AAAA/x.png", "image.jpg"), ("file:///tmp/a/dog.webp", "dog.jpg"),
        ])
    func naming(_ url: String, _ expected: String) throws {
        #expect(try name(url) == expected)
    }

    @Test(
        "An unsafe last path component becomes a safe file name",
        arguments: [
            ("http://h/a%2Fb.jpg", "a_b.jpg"), ("http://h/..%2F..%2Fetc%2Fpasswd", "_.._etc_passwd.jpg"),
            ("http://h/a%5Cb.jpg", "a_b.jpg"), ("http://h/.htaccess", "htaccess.jpg"), ("http://h/...", "image.jpg"),
            ("http://h/a%00b%0A%1B[31mc%7F.jpg", "ab[31mc.jpg"), ("http://h/%C2%9Ba%E2%80%AE.jpg", "a.jpg"),
            ("http://h/%20%20", "image.jpg"), ("http://h/.jpg", "jpg.jpg"),
            ("http://h/%2E%CC%81htaccess", "\u{301}htaccess.jpg"), ("http://h/.%20%CC%81%20", "image\u{301}.jpg"),
            ("http://h/%2e%2e%2e.png", "png.jpg"),
            ("http://h/-rf.jpg", "image-rf.jpg"), ("http://h/--help", "image--help.jpg"), ("http://h/-", "image-.jpg"),
            ("http://h/%E2%80%8B.jpg", "image\u{200B}.jpg"), ("http://h/%E3%85%A4.jpg", "image\u{3164}.jpg"),
            ("http://h/%E2%A0%80%C2%AD", "image\u{2800}\u{AD}.jpg"), ("http://h/a%E2%80%8B.jpg", "a\u{200B}.jpg"),
        ])
    func safety(_ url: String, _ expected: String) throws {
        #expect(try name(url) == expected)
    }

    @Test("A name has at most 120 bytes with extension and number, and is cut between characters")
    func length() throws {
        let long = try name("http://h/" + String(repeating: "x", count: 300) + ".jpg")
        #expect(long == String(repeating: "x", count: 116) + ".jpg")
        // Three bytes each: 38 of them take 114, and a 39th would not fit beside ".jpg".
        let parts = SuggestedName(lastPart: Substring(String(repeating: "猫", count: 50) + ".jpg")).parts(for: .jpeg)
        #expect(parts.name(number: 1) == String(repeating: "猫", count: 38) + ".jpg")
        #expect(parts.name(number: 12) == String(repeating: "猫", count: 37) + "-12.jpg")
        // A family emoji is one character of 25 bytes and is not split.
        let family = SuggestedName(lastPart: Substring(String(repeating: "👨‍👩‍👧‍👦", count: 9))).parts(for: .png)
        #expect(family.name(number: 1) == String(repeating: "👨‍👩‍👧‍👦", count: 4) + ".png")
        let marks = SuggestedName(lastPart: Substring("a" + String(repeating: "\u{301}", count: 200))).parts(for: .png)
        #expect((100...120).contains(marks.name(number: 1).utf8.count))
    }

    @Test("An unverified body keeps the extension of its URL or takes that of its media type")
    func anything() {
        #expect(SuggestedName(lastPart: "film.mp4").parts(forMediaType: "text/html").name(number: 1) == "film.mp4")
        #expect(SuggestedName(lastPart: "film").parts(forMediaType: "Video/MP4; x=y").name(number: 2) == "film-2.mp4")
        #expect(SuggestedName(lastPart: "film").parts(forMediaType: nil).name(number: 1) == "film")
    }
}
