import CInflightReport
import Inflight
import InflightBatch
import InflightCore

/// A recorded run as one self-contained HTML file, with style, script and data inside. Of a long run it lists
/// a sample of the loads; its totals are those of all.
///
/// Text from servers and lists appears only as JSON, in which no character can end the element around it. The script
/// inserts it as text, never as markup. A policy in the page (CSP level 2) allows only this style and this script, by
/// their SHA-256, and no loading except of images embedded in the page, which are this program's own.
struct RunReportPage {
    /// The size in bytes up to which thumbnails are added to a page.
    static let mostBytesWithPictures = 2_900_000

    let record: RunRecord

    init(_ record: RunRecord) {
        self.record = record
    }

    /// The file, in UTF-8.
    var html: [UInt8] {
        let style = Self.style
        let script = Array("(() => {\n\"use strict\";\n".utf8) + Self.script + Array("})();\n".utf8)
        let policy =
            "default-src 'none'; style-src \(Self.source(style)); script-src \(Self.source(script)); img-src data:; "
            + "base-uri 'none'; form-action 'none'"
        var page: [UInt8] = []
        page +=
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <link rel="icon" href="data:,">
            <title>Inflight: report of a run</title>
            <style>
            """.utf8
        page += style
        page += "</style>\n</head>\n<body>\n".utf8
        page += Self.body
        page += "<script type=\"application/json\" id=\"run\">".utf8
        let after = Array("</script>\n<script>".utf8) + script + Array("</script>\n</body>\n</html>\n".utf8)
        page += RunReportData.json(record, room: max(0, Self.mostBytesWithPictures - page.count - after.count))
        return page + after
    }

    // The bytes are static data of the program.
    private static var body: [UInt8] {
        var count = 0
        let start = unsafe inflight_report_body(&count)
        return unsafe bytes(start, count)
    }

    private static var style: [UInt8] {
        var count = 0
        let start = unsafe inflight_report_style(&count)
        return unsafe bytes(start, count)
    }

    private static var script: [UInt8] {
        var count = 0
        let start = unsafe inflight_report_script(&count)
        return unsafe bytes(start, count)
    }

    private static func bytes(_ start: UnsafePointer<CChar>, _ count: Int) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns the source expression by which the policy allows a part (CSP level 2).
    private static func source(_ bytes: [UInt8]) -> String {
        "'sha256-\(Base64.encoded(ContentDigest(of: Bytes(bytes)).bytes))'"
    }
}
